import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import express, { type Express } from 'express';
import { Hsmp } from '../amdgpu/hsmp.ts';
import { APART, LanePool } from '../amdgpu/lanes/pool.ts';
import { AmdNode, type Snapshot } from '../amdgpu/node.ts';
import type { Paths } from '../amdgpu/paths.ts';
import { PcieBandwidth } from '../amdgpu/pcie-bandwidth.ts';
import { groupOf } from '../amdgpu/plan.ts';
import { Readings } from '../amdgpu/readings.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { isLoopback, isUnixPeer } from '../base/http.ts';
import { componentLog, type Log, onceLog } from '../base/log.ts';
import { measureLoopLag } from '../base/loop-lag.ts';
import { info } from '../model/quantities/info.ts';
import type { Group } from '../model/quantities/quantity.ts';
import { wireState } from './api.ts';
import { COLLECTORS, CORE, type Collector, quantitiesOf } from './collectors.ts';
import { SteadyBodies, type Table, TextWriter, writeFamily } from './exposition.ts';
import { renderPage } from './page.ts';
import { ProcessCollector, type ProcessTarget } from './processes/collector.ts';
import type { ProfilerCollector } from './profiler.ts';
import { acceptsGzip, deadlineOf } from './scrape.ts';
import { SelfMetrics } from './self.ts';
import { renderErrors, statusTables } from './status.ts';

export interface ExporterOptions {
  paths: Paths;
  /** `/opt/rocm/.info/version` was read by whoever knows where ROCm would be. */
  rocmVersion?: string;
  node: string;
  version: string;
  revision: string;
  log: Log;
  clock?: Clock;
  /** Names of the collectors that are on. */
  collectors: ReadonlySet<string>;
  metricsPath?: string;
  /** Lanes that were made already; without it they are made here. */
  pool?: LanePool;
  /** How long one card may take on the shared lane, ms; for lanes that are made here. */
  laneDeadlineMs?: number;
  /** For clients that do not say how long they wait, ms. */
  scrapeDeadlineMs: number;
  /** Serve /v1 to other hosts too. */
  remoteApi?: boolean;
  simulated?: boolean;
  costlyMs?: number;
  gentleMs?: number;
  processes?: { perProcess: boolean; maxSeries: number; occupancyMs: number; fullScanMs: number; intervalMs: number };
  profiler?: { dir: string; maxAgeMs: number };
}

export interface Exporter {
  app: Express;
  /** Finds the cards. Resolves when the first scrape can be answered. */
  start(): Promise<void>;
  close(): void;
  /** Has the cards looked for again (SIGHUP). */
  rediscover(): void;
  readonly node: AmdNode;
  readonly pool: LanePool;
  /** One scrape's text, for tests and benches. */
  scrape(deadlineMs: number): Promise<string>;
}

const ITEM_DEADLINE_MS = 400;
/** A scrape waits this long for the processes at the most; then it serves the last scan that was complete. */
const PROCESS_WAIT_MS = 250;
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const compress = promisify(gzip);

/** Process 1: looks, and never touches. */
export function createExporter(options: ExporterOptions): Exporter {
  const { clock = systemClock, log, paths, collectors } = options;
  const on = COLLECTORS.filter((collector) => collectors.has(collector.name));
  const onGroups = new Set<Group>(on.flatMap((collector) => collector.groups));
  const pool =
    options.pool ?? new LanePool({ clock, itemDeadline: options.laneDeadlineMs ?? ITEM_DEADLINE_MS, apart: APART });
  const node = new AmdNode({
    paths,
    pool,
    clock,
    log: componentLog(log, 'node'),
    skip: (name) => {
      const group = groupOf(name);
      return group !== undefined && !onGroups.has(group);
    },
    ...(options.costlyMs === undefined ? {} : { costlyMs: options.costlyMs }),
    ...(options.gentleMs === undefined ? {} : { gentleMs: options.gentleMs }),
    ...(options.simulated === undefined ? {} : { simulated: options.simulated }),
  });
  const processes = collectors.has('process')
    ? new ProcessCollector({
        pool,
        paths,
        clock,
        perProcess: false,
        maxSeries: 1000,
        occupancyMs: 15_000,
        fullScanMs: 10_000,
        ...options.processes,
        deadlineMs: 5_000,
      })
    : undefined;
  let profiler: ProfilerCollector | undefined;
  const hsmp = collectors.has('apu') ? new Hsmp(pool, paths, clock) : undefined;
  const bandwidth = collectors.has('pcie_bw') ? new PcieBandwidth(pool, clock, () => node.cards) : undefined;
  const lag = measureLoopLag({ clock });
  const self = new SelfMetrics({
    version: options.version,
    revision: options.revision,
    collectors: on.map((collector) => collector.name),
    lanes: () => pool.stats,
    lag,
    droppedProcesses: () => processes?.dropped ?? 0,
  });
  const once = onceLog(componentLog(log, 'exporter'));
  const status = new Map<string, Readings>();
  const nodeInfo = new Readings();
  const besideMs = options.processes?.intervalMs ?? 5000;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let ready = false;
  const writer = new TextWriter();
  const steady = new SteadyBodies();
  let collecting: Promise<Buffer> | undefined;

  function liveTables(snapshot: Snapshot): Table[] {
    const list: Table[] = statusTables(snapshot.cards, status, snapshot.at);
    if (hsmp !== undefined) list.push({ gpu: undefined, readings: hsmp.readings });
    if (profiler !== undefined) list.push({ gpu: undefined, readings: profiler.nodeReadings() });
    for (const record of snapshot.cards) {
      const { gpu, pci } = record;
      if (record.health === 'ok') list.push({ gpu, readings: record.live });
      if (record.health === 'gone') continue;
      // Processes and the like are there whatever the card says.
      for (const source of [processes, profiler, bandwidth]) {
        const readings = source?.readings(pci);
        if (readings !== undefined) list.push({ gpu, readings });
      }
    }
    // Processes on a GPU that is none of ours stand without a number.
    if (processes !== undefined) list.push({ gpu: '', readings: processes.readings('') });
    return list;
  }

  /** Identity, topology and what is read seldom. */
  function steadyTables(snapshot: Snapshot): Table[] {
    const ofCards = snapshot.cards.flatMap((record) =>
      record
        .shown()
        .filter((readings) => readings !== record.live)
        .map((readings) => ({ gpu: record.gpu, readings })),
    );
    return [{ gpu: undefined, readings: snapshot.node }, { gpu: undefined, readings: nodeInfo }, ...ofCards];
  }

  /** Synchronous from begin to end: the writer is shared by all scrapes. */
  function render(snapshot: Snapshot): Buffer {
    const live = liveTables(snapshot);
    steady.use(steadyTables(snapshot));
    writer.truncate(0);
    for (const quantity of CORE) writeFamily(writer, quantity, live, steady);
    for (const collector of on) renderCollector(collector, live, snapshot);
    writer.text(renderErrors(snapshot.cards));
    return writer.copy();
  }

  function renderCollector(collector: Collector, live: readonly Table[], { report }: Snapshot): void {
    const start = clock.monotonic();
    for (const quantity of quantitiesOf(collector)) writeFamily(writer, quantity, live, steady);
    const failed = collector.groups.some((group) => report.failures.has(group) || report.troubled.has(group));
    const success = !failed && (collector.name !== 'process' || processes?.success !== false);
    const made = collector.groups.reduce((sum, group) => sum + (report.seconds.get(group) ?? 0), 0);
    const own = collector.name === 'process' ? (processes?.seconds ?? 0) : 0;
    self.success.set({ collector: collector.name }, success ? 1 : 0);
    self.duration.set({ collector: collector.name }, made + own + (clock.monotonic() - start) / 1000);
  }

  /** Processes and profiler documents, where the last look is not recent: they change slower than the card, and cost more. */
  async function lookBeside(targets: readonly ProcessTarget[]): Promise<void> {
    if (clock.monotonic() - lookedAt < besideMs) return;
    lookedAt = clock.monotonic();
    await Promise.all([processes?.scan(targets), profiler?.scan(targets)]);
    self.processScan.set(clock.now() / 1000);
  }

  async function collect(deadlineMs: number): Promise<Buffer> {
    const targets = node.cards
      .filter((record) => record.health !== 'gone')
      .map((record) => ({ pci: record.pci, gpu: record.found.card.gpu, partitions: record.found.card.partitions }));
    const [snapshot] = await Promise.all([
      node.collect(deadlineMs),
      within(clock, lookBeside(targets), Math.min(deadlineMs, PROCESS_WAIT_MS)),
    ]);
    self.snapshot.observe(snapshot.seconds);
    const silent = snapshot.cards.some((record) => record.health === 'silent');
    self.scrapes.inc({ outcome: silent ? 'partial' : 'complete' });
    for (const problem of profiler?.problems ?? []) once.report(`profiler ${problem.file}`, problem.message);
    return render(snapshot);
  }

  /** Scrapes that overlap share one collection; one that may wait less long gets what is there when its time is over. */
  async function scrape(deadlineMs: number): Promise<Buffer> {
    if (collecting === undefined) {
      collecting = collect(deadlineMs).finally(() => {
        collecting = undefined;
      });
    } else self.scrapes.inc({ outcome: 'shared' });
    // A collection of one's own ends by itself at the deadline: a little later it is whole.
    const collected = await within(clock, collecting, deadlineMs + Math.min(PROCESS_WAIT_MS, deadlineMs / 10));
    const hardware = collected ?? render(node.current());
    return Buffer.concat([hardware, Buffer.from(await self.registry.metrics())]);
  }

  const app = routes({
    options,
    node,
    processes,
    scrape,
    ready: () => ready,
  });

  return {
    app,
    node,
    pool,
    scrape: async (deadlineMs) => (await scrape(deadlineMs)).toString(),
    async start() {
      nodeInfo.begin(clock.now());
      if (collectors.has('profiler') && options.profiler !== undefined) {
        // Loaded on demand: schema checking costs start-up time that the others need not pay.
        const { ProfilerCollector } = await import('./profiler.ts');
        profiler = new ProfilerCollector({ ...options.profiler, clock });
      }
      nodeInfo.put(info.node, 1, 'node.name', options.node);
      if (options.rocmVersion !== undefined) nodeInfo.put(info.rocm, 1, 'rocm', options.rocmVersion);
      // The process lane takes as long to start as the cards to be found.
      if (processes !== undefined) void pool.run([{ owner: 'proc', item: { op: 'list', dirs: [] } }], 5_000);
      await Promise.all([node.start(), hsmp?.start()]);
      bandwidth?.start();
      ready = true;
      const found = node.cards.length;
      if (found === 0)
        log.warn('no AMD GPU found; looking again at every scrape. "nightshift doctor" says what is there');
      else log.info({ gpus: found }, 'ready');
    },
    close() {
      node.close();
      hsmp?.close();
      bandwidth?.close();
      lag.stop();
      pool.close();
    },
    rediscover: () => node.rediscover(),
  };
}

/** The result, or undefined when the time is over first; a failure is the caller's. */
function within<T>(clock: Clock, work: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(ms, () => resolve(undefined));
    work.then(resolve, reject).finally(() => timer.stop());
  });
}

interface RouteOptions {
  options: ExporterOptions;
  node: AmdNode;
  processes: ProcessCollector | undefined;
  scrape: (deadlineMs: number) => Promise<Buffer>;
  ready: () => boolean;
}

function routes({ options, node, processes, scrape, ready }: RouteOptions): Express {
  const { metricsPath = '/metrics' } = options;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get(metricsPath, async (request, response) => {
    const bytes = await scrape(
      deadlineOf(request.get('x-prometheus-scrape-timeout-seconds'), options.scrapeDeadlineMs),
    );
    response.set('Content-Type', CONTENT_TYPE).set('Vary', 'Accept-Encoding');
    if (!acceptsGzip(request.get('accept-encoding'))) {
      response.set('Content-Length', String(bytes.length)).end(bytes);
      return;
    }
    // Level 1: the text is repetitive, and the next levels cost more than they save on the way.
    const packed = await compress(bytes, { level: 1 });
    response.set('Content-Encoding', 'gzip').end(packed);
  });
  app.get('/-/healthy', (_request, response) => {
    response.type('text/plain').send('Healthy\n');
  });
  app.get('/-/ready', (_request, response) => {
    if (ready()) response.type('text/plain').send('Ready\n');
    else response.status(503).type('text/plain').send('Looking for cards\n');
  });
  app.get('/v1/state', (request, response) => {
    if (options.remoteApi !== true && !isLoopback(request) && !isUnixPeer(request)) {
      response.status(403).json({
        code: 'API_LOCAL_ONLY',
        message: 'This is served on loopback and Unix sockets only; start with --web.enable-remote-api to change that.',
      });
      return;
    }
    const { at } = node.current();
    response.json(wireState(options.node, at, node.states(), processes?.list() ?? []));
  });
  app.get('/', async (_request, response) => {
    const { version, simulated = false } = options;
    response.type('html').send(renderPage({ version, node: options.node, cards: node.cards, metricsPath, simulated }));
  });
  return app;
}
