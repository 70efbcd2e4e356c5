import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { APART, LanePool } from '../amdgpu/lanes/pool.ts';
import { type Daemon, runUntilSignal } from '../base/app.ts';
import { systemClock } from '../base/clock.ts';
import { configurationError } from '../base/errors.ts';
import { keepHeapSmall } from '../base/heap.ts';
import { createWebServer } from '../base/http.ts';
import { createLog } from '../base/log.ts';
import type { ExporterFlags } from './exporter.ts';
import { folder, pathsOf } from './paths.ts';
import { revision, version } from './version.ts';

export interface RunExtras {
  simulated?: boolean;
  /** Started before the exporter reads anything, and stopped with it. */
  alongside?: (daemon: Daemon) => unknown;
  onReady?: (addresses: readonly { url: string }[]) => unknown;
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
  // The lane starts while the web framework is loaded: both take a good part of the time to the first scrape.
  const pool = new LanePool({ clock: systemClock, itemDeadline: given['lane.deadline'], apart: APART });
  pool.warm();
  const { createExporter } = await import('../exporter/app.ts');
  const exporter = createExporter({
    pool,
    paths,
    node: given['node.name'] ?? hostname(),
    version: version(),
    revision: revision(),
    log,
    collectors,
    metricsPath: telemetry,
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
    async start(daemon) {
      const { life } = daemon;
      await extras.alongside?.(daemon);
      life.add('lanes', () => exporter.close());
      // The port first: a second exporter on it is the commonest mistake, and is told at once.
      const addresses = await server.start();
      life.add('web server', () => server.stop(200));
      await exporter.start();
      await extras.onReady?.(addresses);
    },
    async reload() {
      exporter.rediscover();
      await server.reload();
    },
  });
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
