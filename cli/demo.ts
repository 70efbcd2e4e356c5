import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Command } from 'commander';
import type { Daemon } from '../base/app.ts';
import { sleep, systemClock } from '../base/clock.ts';
import { environmentError, toError } from '../base/errors.ts';
import { defineFlags, type FlagDef } from '../base/flags.ts';
import { MODELS } from '../sim/models.ts';
import { scenarioNames } from '../sim/scenario.ts';
import { addExporterFlags, collectorsOn, flags as exporterFlags } from './exporter.ts';
import { MODEL_FLAG, NODE_FLAGS, wishesOf } from './living.ts';
import { QUIET_LOG_FLAGS } from './log-flags.ts';
import { loopbackOnly } from './loopback.ts';
import { ALERTMANAGER_PROGRAMS, writeMonitoring } from './monitoring.ts';
import { lookNext } from './simulated/look-next.ts';
import { runSimulated, type Shown, SIMULATED_NODE } from './simulated.ts';

/** Silicon takes minutes to get hot and cool again, which is longer than people look. */
const DEMO_SPEED = 10;
const QUICKER = NODE_FLAGS.map((flag) =>
  flag.name === 'speed' ? { ...flag, default: DEMO_SPEED } : flag,
) as unknown as typeof NODE_FLAGS;

const DEMO = [
  { ...MODEL_FLAG, default: 'mi300x' },
  { name: 'cards', kind: 'int', default: 4, min: 1, max: 8, help: 'packages; an MI250X has two GPUs each' },
  ...QUICKER,
  {
    name: 'scenario',
    kind: 'string',
    default: 'hot-card',
    help: `what happens: ${scenarioNames().join(', ')}, or a file`,
  },
  {
    name: 'web.listen-address',
    kind: 'list',
    default: ['127.0.0.1:9510'],
    help: 'address of the exporter, on loopback',
  },
  {
    name: 'actuator.listen-address',
    kind: 'string',
    default: '127.0.0.1:9511',
    help: 'address of the actuator, on loopback',
  },
  {
    name: 'with-prometheus',
    kind: 'boolean',
    default: false,
    help: 'start Prometheus and Alertmanager too, where they are installed: then alerts tell the actuator what is hot',
  },
  {
    name: 'prometheus.listen-address',
    kind: 'string',
    default: '127.0.0.1:9090',
    help: 'address of that Prometheus, on loopback',
  },
  {
    name: 'alertmanager.listen-address',
    kind: 'string',
    default: '127.0.0.1:9093',
    help: 'address of that Alertmanager, on loopback',
  },
  ...QUIET_LOG_FLAGS,
] as const satisfies readonly FlagDef[];

const flags = defineFlags(DEMO);
type Given = ReturnType<typeof flags.read>;

export function demoCommand(command: Command): Command {
  return flags
    .addTo(command.description('a simulated node, with an exporter and an actuator at work on it, to look at'))
    .addHelpText(
      'after',
      `
Everything is SIMULATED, listens on loopback only and is gone after Ctrl-C. The actuator acts by the shipped rules, with
mode: enforce for heat and shorter waiting times. Without Prometheus nobody sends alerts, so there the policies look at the
cards themselves; with it they wait for the alert, as they are shipped.

Examples:
  nightshift demo                                        four MI300X, of which one gets hot and is limited within a minute
  nightshift demo --with-prometheus                      the same through Prometheus, its alerts and Alertmanager
  nightshift demo --scenario day-and-night --speed 60    a day in 24 minutes
  nightshift demo --model mi210 --cards 8 --scenario hot-room --speed 20`,
    )
    .action(async () => {
      const given = flags.read(command);
      const listen = given['web.listen-address'];
      const actuatorListen = [given['actuator.listen-address']];
      const others = [given['prometheus.listen-address'], given['alertmanager.listen-address']];
      loopbackOnly(
        [...listen, ...actuatorListen, ...others],
        'Use an address like 127.0.0.1:9510; the demo is for this machine alone.',
      );
      // The flags of the exporter that the demo does not show keep their defaults.
      const plain = addExporterFlags(new Command());
      const exporter = {
        ...exporterFlags.read(plain),
        'web.listen-address': listen,
        'log.level': given['log.level'],
        'log.format': given['log.format'],
      };
      const alerted = given['with-prometheus'];
      await runSimulated(
        exporter,
        collectorsOn(plain),
        { ...given, ...wishesOf(given) },
        {
          actuatorListen,
          alerted,
          welcome: (shown) => welcome(shown, given),
          ...(alerted && {
            async afterwards(shown, daemon) {
              await startMonitoring(shown, given, daemon);
            },
          }),
        },
      );
    });
}

function welcome({ url, dir, actuator }: Shown, given: Given): string {
  const { model, cards, scenario, speed } = given;
  const watched = given['with-prometheus'];
  const prometheus = `http://${given['prometheus.listen-address']}`;
  const graph = `${prometheus}/graph?g0.expr=amdgpu_temperature_celsius&g0.tab=0&g0.range_input=5m`;
  const monitoring = watched
    ? `  prometheus    ${graph}, alerts at ${prometheus}/alerts
  alertmanager  http://${given['alertmanager.listen-address']}/, which tells the actuator
`
    : '';
  return `
SIMULATED: ${cards} × ${MODELS[model].product} that do not exist, scenario ${scenario}, ${speed} s of their life in a second.
  node          ${dir} (sys/ and proc/ as the kernel shows them)
  exporter      ${url}/ for people, ${url}/metrics for Prometheus
  actuator      ${actuator.url}/, acting on this node alone by ${actuator.rules}
                (the shipped rules, with mode: enforce and shorter waits)
${monitoring}
${lookNext({ dir, actuator }, { scenario, watched, gpus: cards * MODELS[model].dies })}
Ctrl-C ends everything and removes the files.

`;
}

/** Time that a browser or a person would wait for a program to come up. */
const UP_MS = 30_000;

/** The real Prometheus and Alertmanager on the shipped files, with their data beside the node's. Throws where one does not come up. */
async function startMonitoring({ url, dir, actuator }: Shown, given: Given, daemon: Daemon): Promise<void> {
  const home = join(dir, 'monitoring');
  const [prometheus, alertmanager] = [given['prometheus.listen-address'], given['alertmanager.listen-address']];
  const files = writeMonitoring(home, {
    node: SIMULATED_NODE,
    exporter: new URL(url).host,
    actuator: new URL(actuator.url).host,
    alertmanager,
  });
  const data = join(home, 'data');
  mkdirSync(data);
  const programs = [
    {
      code: 'PROMETHEUS_FAILED',
      ready: `http://${prometheus}/-/ready`,
      command: [
        'prometheus',
        `--config.file=${files.prometheus}`,
        `--storage.tsdb.path=${join(data, 'prometheus')}`,
        // The folder may lie in memory.
        '--storage.tsdb.retention.size=256MB',
        `--web.listen-address=${prometheus}`,
        '--log.level=warn',
      ],
    },
    {
      code: 'ALERTMANAGER_FAILED',
      ready: `http://${alertmanager}/-/ready`,
      command: [
        installed(ALERTMANAGER_PROGRAMS),
        `--config.file=${files.alertmanager}`,
        `--storage.path=${join(data, 'alertmanager')}`,
        `--web.listen-address=${alertmanager}`,
        // It is alone, and opens no port for others of its kind.
        '--cluster.listen-address=',
        '--log.level=warn',
      ],
    },
  ] as const;
  await Promise.all(
    programs.map(({ command, code, ready }) => {
      // What they would save on the way out is about to be removed.
      const program = startProgram(command, code, daemon, 'SIGKILL');
      return Promise.race([answers(ready, code, command[0]), program.failed]);
    }),
  );
}

/** The first of a program's names that can be started; where none can, the error of starting names the first. */
function installed(names: readonly [string, ...string[]]): string {
  return names.find(isInstalled) ?? names[0];
}

function isInstalled(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * A command that the kernel ends with this process, also where this one is killed: left alone it would hold its port against the
 * next demo. util-linux has it, which every Debian has; elsewhere it is the command alone.
 */
function leashed(command: readonly string[]): readonly string[] {
  const [name = ''] = command;
  const isPossible = isInstalled('setpriv') && isInstalled(name);
  return isPossible ? ['setpriv', '--pdeathsig', 'KILL', '--', ...command] : command;
}

const POLL_MS = 100;
/** Time that a program may take to end. */
const STOP_MS = 800;

async function answers(url: string, code: ProgramError, name: string): Promise<void> {
  const end = systemClock.monotonic() + UP_MS;
  while (!(await fetch(url).catch(() => undefined))?.ok) {
    if (systemClock.monotonic() > end) throw programError(code, name, `does not answer within ${UP_MS / 1000} s`);
    await sleep(systemClock, POLL_MS, { keepAlive: true });
  }
}

export interface Program {
  /** Rejects when the program cannot be started, or ends before it is told to. */
  failed: Promise<never>;
}

/** Ends with the daemon, which its own end fails. One that may be killed at any moment dies with this process, however that ends. */
export function startProgram(
  command: readonly string[],
  code: ProgramError,
  daemon: Daemon,
  signal: NodeJS.Signals = 'SIGTERM',
): Program {
  const [name = ''] = command;
  const [file = '', ...args] = signal === 'SIGKILL' ? leashed(command) : command;
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'] });
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
      throw programError(code, name, `ended with ${signal ?? status}${last && `: ${last}`}`);
    },
    (cause: unknown) => {
      throw programError(code, name, `cannot be started (${toError(cause).message})`);
    },
  ) as Promise<never>;
  failed.catch((error: unknown) => {
    if (!stopping) daemon.fail(error);
  });
  const release = (): Promise<void> => {
    stopping = true;
    return end(child, ended, signal);
  };
  daemon.life.add(name, release, { limitMs: STOP_MS });
  return { failed };
}

async function end(child: ChildProcess, ended: Promise<unknown>, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  child.kill(signal);
  await ended;
}

export type ProgramError = 'PROMETHEUS_FAILED' | 'ALERTMANAGER_FAILED' | 'SIMULATION_NO_FUSE';

function programError(code: ProgramError, name: string, what: string): Error {
  if (code === 'SIMULATION_NO_FUSE')
    return environmentError(
      'SIMULATION_NO_FUSE',
      `the relay's file system ${what}`,
      'It needs fuse3, python3-fusepy, and an empty folder.',
    );
  const [program, flag] =
    code === 'PROMETHEUS_FAILED' ? ['Prometheus', 'prometheus'] : ['Alertmanager', 'alertmanager'];
  return environmentError(
    code,
    `${name} ${what}`,
    `Install ${program}, choose another --${flag}.listen-address, or leave --with-prometheus out.`,
  );
}
