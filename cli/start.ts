import type { Command } from 'commander';
import { LanePool } from '../amdgpu/lanes/pool.ts';
import { survey } from '../amdgpu/survey.ts';
import { systemClock } from '../base/clock.ts';
import { untilDone } from './alive.ts';
import { addExporterFlags, collectorsOn, type ExporterFlags, flags } from './exporter.ts';
import { loopbackOnly } from './loopback.ts';
import { pathsOf } from './paths.ts';
import { runExporter } from './run-exporter.ts';

/** Loopback only: what is served does not exist. */
const SIMULATED_LISTEN = '127.0.0.1:9510';
const LOOK_MS = 1_000;

export function startCommand(command: Command): Command {
  return addExporterFlags(
    command.description('run the exporter here; on a machine without AMD GPUs, on a simulated node to look at'),
  )
    .addHelpText(
      'after',
      `
With AMD GPUs, or where a --path is given, this is "nightshift exporter" with the same flags. Without, a simulated node of
four MI300X lives in a temporary folder and is served on ${SIMULATED_LISTEN}, on loopback only, with simulated="true" in amdgpu_info.
"nightshift exporter" never simulates.`,
    )
    .action(async () => {
      const given = flags.read(command);
      const named = flags.given(command);
      const real = named.has('path.sysfs') || named.has('path.procfs') || (await untilDone(() => hasCards(given)));
      if (real) await runExporter(given, collectorsOn(command));
      else await simulate(given, collectorsOn(command), named.has('web.listen-address'));
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

/** What a newcomer sees first: inference in bursts, and a batch job that holds every other GPU. */
const FIRST_SIGHT = { model: 'mi300x', cards: 4, scenario: 'night-shift', seed: 1, speed: 1, hz: 10 } as const;

async function simulate(given: ExporterFlags, collectors: Set<string>, addressGiven: boolean): Promise<void> {
  const listen = addressGiven ? given['web.listen-address'] : [SIMULATED_LISTEN];
  loopbackOnly(
    listen,
    `Use --web.listen-address=${SIMULATED_LISTEN}, or "nightshift exporter", which waits for real cards.`,
  );
  const { runSimulated } = await import('./simulated.ts');
  await runSimulated({ ...given, 'web.listen-address': listen }, collectors, FIRST_SIGHT, {
    welcome: ({ url, dir }) => welcome(url, given['web.telemetry-path'], dir),
  });
}

function welcome(url: string, telemetry: string, dir: string): string {
  const base = url.replace(/\/$/, '');
  return `
SIMULATED: no AMD GPU here, so these four MI300X do not exist. They live through a night with bursts of inference.

  ${base}/              the cards at a glance
  ${base}${telemetry}       what Prometheus scrapes
  ${base}/v1/state      the same as JSON, each value with its source and time
  nightshift sim event ${dir} hang 2
                                      lets GPU 2 hang; "unhang 2" ends it, "load 3 0.9" holds GPU 3 at 90 %
  nightshift demo --help              other cards, other nights, with Prometheus
  nightshift doctor                   what this machine itself has

Ctrl-C ends it and removes the files.

`;
}
