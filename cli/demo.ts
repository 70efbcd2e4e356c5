import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import type { Daemon } from '../base/app.ts';
import { sleep, systemClock } from '../base/clock.ts';
import { environmentError, toError } from '../base/errors.ts';
import { defineFlags, type FlagDef } from '../base/flags.ts';
import { LOG_FORMATS, LOG_LEVELS } from '../base/log.ts';
import { MODELS } from '../sim/models.ts';
import { scenarioNames } from '../sim/scenario.ts';
import { addExporterFlags, collectorsOn, flags as exporterFlags } from './exporter.ts';
import { MODEL_FLAG, NODE_FLAGS, wishesOf } from './living.ts';
import { loopbackOnly } from './loopback.ts';
import { runSimulated } from './simulated.ts';

const DEMO = [
  { ...MODEL_FLAG, default: 'mi300x' },
  { name: 'cards', kind: 'int', default: 4, min: 1, max: 8, help: 'packages; an MI250X has two GPUs each' },
  ...NODE_FLAGS,
  {
    name: 'scenario',
    kind: 'string',
    default: 'night-shift',
    help: `what happens: ${scenarioNames().join(', ')}, or a file`,
  },
  {
    name: 'web.listen-address',
    kind: 'list',
    default: ['127.0.0.1:9510'],
    help: 'address of the exporter, on loopback',
  },
  { name: 'with-prometheus', kind: 'boolean', default: false, help: 'start Prometheus too, where it is installed' },
  {
    name: 'prometheus.listen-address',
    kind: 'string',
    default: '127.0.0.1:9090',
    help: 'address of that Prometheus, on loopback',
  },
  { name: 'log.level', kind: 'string', default: 'warn', choices: LOG_LEVELS, help: 'least severe messages to print' },
  { name: 'log.format', kind: 'string', default: 'logfmt', choices: LOG_FORMATS, help: 'form of the messages' },
] as const satisfies readonly FlagDef[];

const flags = defineFlags(DEMO);

export function demoCommand(command: Command): Command {
  return flags
    .addTo(command.description('a simulated node and an exporter on it, to look at'))
    .addHelpText(
      'after',
      `
Everything is SIMULATED, listens on loopback only and is gone after Ctrl-C.

Examples:
  nightshift demo                                        four MI300X through a night with bursts of inference
  nightshift demo --scenario day-and-night --speed 60    a day in 24 minutes
  nightshift demo --model mi210 --cards 8 --scenario hot-room --speed 20 --with-prometheus`,
    )
    .action(async () => {
      const given = flags.read(command);
      const listen = given['web.listen-address'];
      const prometheus = given['prometheus.listen-address'];
      loopbackOnly([...listen, prometheus], 'Use an address like 127.0.0.1:9510; the demo is for this machine alone.');
      // The flags of the exporter that the demo does not show keep their defaults.
      const plain = addExporterFlags(new Command());
      const exporter = {
        ...exporterFlags.read(plain),
        'web.listen-address': listen,
        'log.level': given['log.level'],
        'log.format': given['log.format'],
      };
      const withPrometheus = given['with-prometheus'];
      await runSimulated(
        exporter,
        collectorsOn(plain),
        { ...given, ...wishesOf(given) },
        {
          welcome: ({ url, dir }) => welcome(url, dir, given, withPrometheus ? prometheus : undefined),
          ...(withPrometheus && {
            async afterwards({ url, dir }, daemon) {
              await startPrometheus(url, dir, prometheus, daemon);
            },
          }),
        },
      );
    });
}

function welcome(
  url: string,
  dir: string,
  { model, cards, scenario, speed }: { model: keyof typeof MODELS; cards: number; scenario: string; speed: number },
  prometheus: string | undefined,
): string {
  const base = url.replace(/\/$/, '');
  const graph = 'graph?g0.expr=amdgpu_power_watts&g0.tab=0&g0.range_input=15m';
  const next =
    prometheus === undefined
      ? `${base}/v1/state, each value with its source and time`
      : `http://${prometheus}/${graph}`;
  return `
SIMULATED: ${cards} × ${MODELS[model].product} that do not exist, scenario ${scenario}, ${speed} s of their life in a second.
  node        ${dir} (sys/ and proc/ as the kernel shows them)
  exporter    ${base}/ for people, ${base}/metrics for Prometheus
  look next   ${next}
  try         nightshift sim event ${dir} hang 0; then "unhang 0", "ambient 40", "load 1 0.9"

Ctrl-C ends everything and removes the files.

`;
}

/** The real Prometheus, scraping once a second, with its data beside the node's files. Throws where it does not come up. */
async function startPrometheus(exporter: string, dir: string, listen: string, daemon: Daemon): Promise<void> {
  const home = join(dir, 'prometheus');
  mkdirSync(home);
  const target = new URL(exporter).host;
  writeFileSync(
    join(home, 'prometheus.yml'),
    `global: {scrape_interval: 1s}
scrape_configs:
  - job_name: nightshift
    static_configs: [{targets: ['${target}']}]
`,
  );
  const program = startProgram(
    [
      'prometheus',
      `--config.file=${join(home, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(home, 'data')}`,
      // The folder may lie in memory.
      '--storage.tsdb.retention.size=256MB',
      `--web.listen-address=${listen}`,
      '--log.level=warn',
    ],
    'PROMETHEUS_FAILED',
    daemon,
    // What it would save on the way out is about to be removed.
    'SIGKILL',
  );
  await Promise.race([answers(`http://${listen}/-/ready`), program.failed]);
}

const POLL_MS = 100;
/** Time that a program may take to end. */
const STOP_MS = 800;

async function answers(url: string): Promise<void> {
  while (!(await fetch(url).catch(() => undefined))?.ok) await sleep(systemClock, POLL_MS, { keepAlive: true });
}

export interface Program {
  /** Rejects when the program cannot be started, or ends before it is told to. */
  failed: Promise<never>;
}

/** Ends with the daemon, which its own end fails. */
export function startProgram(
  [name, ...args]: readonly string[],
  code: ProgramError,
  daemon: Daemon,
  signal: NodeJS.Signals = 'SIGTERM',
): Program {
  const child = spawn(name as string, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stopping = false;
  let last = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    last = chunk.trimEnd().split('\n').at(-1) ?? last;
  });
  const kill = (): unknown => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  const failed = ended.then(
    ([status, signal]) => {
      process.off('exit', kill);
      throw programError(code, name as string, `ended with ${signal ?? status}${last && `: ${last}`}`);
    },
    (cause: unknown) => {
      throw programError(code, name as string, `cannot be started (${toError(cause).message})`);
    },
  ) as Promise<never>;
  failed.catch((error: unknown) => {
    if (!stopping) daemon.fail(error);
  });
  const release = (): Promise<void> => {
    stopping = true;
    return end(child, ended, signal);
  };
  daemon.life.add(name as string, release, { limitMs: STOP_MS });
  return { failed };
}

async function end(child: ChildProcess, ended: Promise<unknown>, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  child.kill(signal);
  await ended;
}

export type ProgramError = 'PROMETHEUS_FAILED' | 'SIMULATION_NO_FUSE';

function programError(code: ProgramError, name: string, what: string): Error {
  if (code === 'SIMULATION_NO_FUSE')
    return environmentError(
      'SIMULATION_NO_FUSE',
      `the relay's file system ${what}`,
      'It needs fuse3, python3-fusepy, and an empty folder.',
    );
  return environmentError(
    'PROMETHEUS_FAILED',
    `${name} ${what}`,
    'Install Prometheus, choose another --prometheus.listen-address, or leave --with-prometheus out.',
  );
}
