import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { LanePool } from '../amdgpu/lanes/pool.ts';
import { survey } from '../amdgpu/survey.ts';
import { systemClock } from '../base/clock.ts';
import { configurationError, environmentError, errnoOf } from '../base/errors.ts';
import { describeNode, writeTree } from '../sim/tree.ts';
import { untilDone } from './alive.ts';
import { addExporterFlags, collectorsOn, type ExporterFlags, flags } from './exporter.ts';
import { pathsOf } from './paths.ts';
import { runExporter } from './run-exporter.ts';

/** Loopback only: what is served does not exist. */
const SIMULATED_LISTEN = '127.0.0.1:9510';
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\]):|^unix:/;
const LOOK_MS = 1_000;

export function startCommand(command: Command): Command {
  return addExporterFlags(
    command.description('run the exporter here; on a machine without AMD GPUs, on a simulated node to look at'),
  )
    .addHelpText(
      'after',
      `
With AMD GPUs, or where a --path is given, this is "nightshift exporter" with the same flags. Without, it writes a simulated node of
four MI300X into a temporary folder and serves that on ${SIMULATED_LISTEN}, on loopback only, with simulated="true" in amdgpu_info.
"nightshift exporter" never simulates.`,
    )
    .action(async () => {
      const given = flags.read(command);
      const named = flags.given(command);
      const real = named.has('path.sysfs') || named.has('path.procfs') || (await untilDone(() => hasCards(given)));
      if (real) await runExporter(given, collectorsOn(command));
      else await runSimulated(given, collectorsOn(command), named.has('web.listen-address'));
    });
}

/** Whether discovery finds a card. */
async function hasCards(given: ExporterFlags): Promise<boolean> {
  const pool = new LanePool({ clock: systemClock, itemDeadline: LOOK_MS });
  try {
    const { devices, kfd, silent } = await survey(pool, pathsOf(given));
    return devices.length > 0 || kfd.length > 0 || silent.length > 0;
  } finally {
    pool.close();
  }
}

async function runSimulated(given: ExporterFlags, collectors: Set<string>, addressGiven: boolean): Promise<void> {
  const listen = addressGiven ? given['web.listen-address'] : [SIMULATED_LISTEN];
  const open = listen.find((address) => !LOOPBACK.test(address));
  if (open !== undefined) {
    throw configurationError(
      'SIMULATION_LOOPBACK_ONLY',
      `there is no AMD GPU here, and a simulated node is not served at ${open}`,
      `Use --web.listen-address=${SIMULATED_LISTEN}, or "nightshift exporter", which waits for real cards.`,
    );
  }
  // A signal while the files are written must end the process through `exit`, which takes them away.
  const end = (): void => process.exit(1);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, end);
  const dir = simulatedTree();
  // One turn of the event loop, so that a signal that came meanwhile is seen by that listener.
  await new Promise((resolve) => setImmediate(resolve));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, end);
  const values: ExporterFlags = {
    ...given,
    'web.listen-address': listen,
    'path.sysfs': join(dir, 'sys'),
    'path.procfs': join(dir, 'proc'),
    'node.name': given['node.name'] ?? 'simulated',
  };
  await runExporter(values, collectors, {
    simulated: true,
    onReady: ([first]) => process.stdout.write(welcome(first?.url ?? '', given['web.telemetry-path'], dir)),
  });
}

/** Five thousand small files take seconds on a disk and a tenth of one in memory. */
const IN_MEMORY = '/dev/shm';

function placeForTree(): string {
  if (process.env.TMPDIR !== undefined) return tmpdir();
  try {
    accessSync(IN_MEMORY, constants.W_OK | constants.X_OK);
    return IN_MEMORY;
  } catch {
    return tmpdir();
  }
}

/** Writes the node; however this process ends, but by SIGKILL, the files go with it. */
function simulatedTree(): string {
  const place = placeForTree();
  try {
    const dir = mkdtempSync(join(place, 'nightshift-simulated-'));
    process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
    writeTree(dir, describeNode({ model: 'mi300x', cards: 4 }));
    return dir;
  } catch (cause) {
    throw environmentError(
      'SIMULATION_UNWRITABLE',
      `a simulated node cannot be written below ${place} (${errnoOf(cause) ?? 'unknown error'})`,
      'Free some space there, or set TMPDIR to another folder.',
      { cause },
    );
  }
}

function welcome(url: string, telemetry: string, dir: string): string {
  const base = url.replace(/\/$/, '');
  return `
SIMULATED: no AMD GPU here, so these four MI300X do not exist, and their values stand still.

  ${base}/              the cards at a glance
  ${base}${telemetry}       what Prometheus scrapes
  ${base}/v1/state      the same as JSON, each value with its source and time
  ${dir}
                                      the files that are read; change one and scrape again
  nightshift doctor                   what this machine itself has

Ctrl-C ends it and removes the files.

`;
}
