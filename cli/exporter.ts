import type { Command } from 'commander';
import { defineFlags, type FlagDef, type FlagValues } from '../base/flags.ts';
import { COLLECTORS } from '../exporter/collectors.ts';
import { LOG_FLAGS } from './log-flags.ts';
import { PATH_FLAGS } from './paths.ts';

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
    default: '5s',
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
  ...LOG_FLAGS,
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
    const { runExporter } = await import('./run-exporter.ts');
    await runExporter(flags.read(command), collectorsOn(command));
  });
}

/** Names of the collectors that the command line leaves on. */
export function collectorsOn(command: Command): Set<string> {
  const values: Record<string, unknown> = switches.read(command);
  return new Set(COLLECTORS.map((c) => c.name).filter((name) => values[`collector.${name}`] === true));
}
