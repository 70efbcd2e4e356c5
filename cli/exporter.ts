import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { runUntilSignal } from '../base/app.ts';
import { configurationError, environmentError } from '../base/errors.ts';
import { defineFlags, type FlagDef, type FlagValues } from '../base/flags.ts';
import { keepHeapSmall } from '../base/heap.ts';
import { createWebServer } from '../base/http.ts';
import { createLog, LOG_FORMATS, LOG_LEVELS } from '../base/log.ts';
import { createExporter } from '../exporter/app.ts';
import { COLLECTORS } from '../exporter/collectors.ts';
import { PATH_FLAGS } from './paths.ts';
import { revision, version } from './version.ts';

const FIXED = [
  {
    name: 'web.listen-address',
    kind: 'list',
    default: [':9510'],
    help: 'address to listen on: :9510, 127.0.0.1:9510, [::1]:9510 or unix:/run/nightshift/exporter.sock',
  },
  { name: 'web.config.file', kind: 'string', help: 'TLS and basic auth, in the format of the exporter-toolkit' },
  { name: 'web.telemetry-path', kind: 'string', default: '/metrics', help: 'path of the metrics' },
  {
    name: 'web.scrape-timeout',
    kind: 'duration',
    default: '5s',
    minMs: 50,
    help: 'how long a scrape may take for clients that do not send X-Prometheus-Scrape-Timeout-Seconds',
  },
  {
    name: 'web.enable-remote-api',
    kind: 'boolean',
    default: false,
    help: 'serve /v1 to other hosts too, not on loopback and Unix sockets only',
  },
  ...PATH_FLAGS,
  { name: 'path.rocm', kind: 'string', default: '/opt/rocm', help: 'where ROCm would be; only its version is read' },
  {
    name: 'lane.deadline',
    kind: 'duration',
    default: '400ms',
    minMs: 10,
    help: 'how long one card may take before its reading process is left with it and the others get a new one',
  },
  {
    name: 'ras.interval',
    kind: 'duration',
    default: '60s',
    minMs: 60_000,
    help: 'time between reads of RAS error counts and XGMI error flags, each of which clears hardware state',
  },
  { name: 'collector.process.per-process', kind: 'boolean', default: false, help: 'series of single processes too' },
  {
    name: 'collector.process.interval',
    kind: 'duration',
    default: '2s',
    help: 'a scrape looks at the processes again when the last look is older than this',
  },
  { name: 'collector.process.max-series', kind: 'int', default: 1000, min: 0, help: 'most series of single processes' },
  {
    name: 'collector.process.cu-occupancy-interval',
    kind: 'duration',
    default: '15s',
    minMs: 1000,
    help: 'time between samples of compute-unit occupancy, each of which reads hardware registers',
  },
  { name: 'collector.profiler.directory', kind: 'string', help: 'folder of JSON documents that a profiler writes' },
  {
    name: 'collector.profiler.max-age',
    kind: 'duration',
    default: '5m',
    help: 'older documents give no counters, only their time',
  },
  { name: 'node.name', kind: 'string', help: 'name of this node in /v1/state (default: the host name)' },
  { name: 'log.level', kind: 'string', default: 'info', choices: LOG_LEVELS, help: 'least severe messages to print' },
  { name: 'log.format', kind: 'string', default: 'logfmt', choices: LOG_FORMATS, help: 'form of the messages' },
] as const satisfies readonly FlagDef[];

const SWITCHES: readonly FlagDef[] = COLLECTORS.map((collector) => ({
  name: `collector.${collector.name}`,
  kind: 'boolean',
  default: collector.byDefault,
  help: collector.help,
}));

export const flags = defineFlags(FIXED);
const switches = defineFlags(SWITCHES);

export type ExporterFlags = FlagValues<typeof FIXED>;

export function addExporterFlags(command: Command): Command {
  flags.addTo(command);
  return switches.addTo(command);
}

export function exporterCommand(command: Command): Command {
  return addExporterFlags(
    command.description('serve what the kernel knows of this node\u2019s AMD GPUs to Prometheus'),
  ).action(async () => {
    await runExporter(flags.read(command), collectorsOn(command));
  });
}

/** Names of the collectors that the command line leaves on. */
export function collectorsOn(command: Command): Set<string> {
  const values: Record<string, unknown> = switches.read(command);
  return new Set(COLLECTORS.map((c) => c.name).filter((name) => values[`collector.${name}`] === true));
}

export interface RunExtras {
  simulated?: boolean;
  onReady?: (addresses: readonly { url: string }[]) => void;
}

export async function runExporter(
  given: ExporterFlags,
  collectors: Set<string>,
  extras: RunExtras = {},
): Promise<void> {
  keepHeapSmall();
  const log = createLog({ level: given['log.level'], format: given['log.format'] });
  const paths = pathsOf(given);
  const telemetry = given['web.telemetry-path'];
  if (!telemetry.startsWith('/')) {
    throw configurationError('FLAG_INVALID', `--web.telemetry-path=${telemetry}: must begin with /`, 'Try /metrics.');
  }
  const directory = given['collector.profiler.directory'];
  if (collectors.has('profiler') && directory === undefined) {
    throw configurationError(
      'PROFILER_NO_DIRECTORY',
      '--collector.profiler needs a folder to read',
      'Give --collector.profiler.directory=DIR, or leave the collector off.',
    );
  }
  if (directory !== undefined) folder('collector.profiler.directory', directory);
  const rocmVersion = readRocm(given['path.rocm'], paths.sysfs);
  const exporter = createExporter({
    paths,
    node: given['node.name'] ?? hostname(),
    version: version(),
    revision: revision(),
    log,
    collectors,
    metricsPath: telemetry,
    laneDeadlineMs: given['lane.deadline'],
    scrapeDeadlineMs: given['web.scrape-timeout'],
    remoteApi: given['web.enable-remote-api'],
    simulated: extras.simulated ?? false,
    costlyMs: given['ras.interval'],
    processes: {
      perProcess: given['collector.process.per-process'],
      maxSeries: given['collector.process.max-series'],
      occupancyMs: given['collector.process.cu-occupancy-interval'],
      fullScanMs: 10_000,
      intervalMs: given['collector.process.interval'],
    },
    ...(rocmVersion === undefined ? {} : { rocmVersion }),
    ...(directory === undefined ? {} : { profiler: { dir: directory, maxAgeMs: given['collector.profiler.max-age'] } }),
  });
  const server = createWebServer({
    app: exporter.app,
    listen: given['web.listen-address'],
    webConfigFile: given['web.config.file'],
    log,
  });
  await runUntilSignal({
    log,
    async start({ life }) {
      life.add('lanes', () => exporter.close());
      // The port first: a second exporter on it is the commonest mistake, and is told at once.
      const addresses = await server.start();
      life.add('web server', () => server.stop(200));
      await exporter.start();
      extras.onReady?.(addresses);
    },
    async reload() {
      exporter.rediscover();
      await server.reload();
    },
  });
}

/** A captured tree has its own processes and kernel, or none: never this machine's. */
export function pathsOf(given: Pick<ExporterFlags, 'path.sysfs' | 'path.procfs'>): { sysfs: string; procfs: string } {
  const sysfs = folder('path.sysfs', given['path.sysfs']);
  const procfs = given['path.procfs'];
  if (procfs !== undefined) return { sysfs, procfs: folder('path.procfs', procfs) };
  return { sysfs, procfs: sysfs === '/sys' ? '/proc' : join(sysfs, '..', 'proc') };
}

function folder(flag: string, path: string): string {
  try {
    if (!statSync(path).isDirectory()) throw new Error('not a folder');
    accessSync(path, constants.R_OK | constants.X_OK);
    return path.replace(/(?<=.)\/+$/, '');
  } catch (cause) {
    throw environmentOrFlag(flag, path, cause);
  }
}

function environmentOrFlag(flag: string, path: string, cause: unknown): Error {
  const code = (cause as { code?: string }).code;
  if (code === 'EACCES') {
    return environmentError('PATH_DENIED', `--${flag}=${path}: no right to read it`, 'Give this user read access.', {
      cause,
    });
  }
  return configurationError(
    'PATH_INVALID',
    `--${flag}=${path}: ${code === 'ENOENT' ? 'no such folder' : 'not a folder'}`,
    'Name an existing folder.',
    { cause },
  );
}

/** The version file of ROCm, only for this machine's own /sys: a captured tree has another machine's. */
function readRocm(dir: string, sysfs: string): string | undefined {
  if (sysfs !== '/sys') return undefined;
  try {
    return readFileSync(`${dir}/.info/version`, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
