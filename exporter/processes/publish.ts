import type { Readings } from '../../amdgpu/readings.ts';
import { process as quantities } from '../../model/quantities/process.ts';
import type { Quantity } from '../../model/quantities/quantity.ts';
import type { Reason, Value } from '../../model/reading.ts';
import { seconds } from './counters.ts';
import { hasUsed, type Row, uses } from './rows.ts';

/** Engines that the driver tells of on every part, so that their sums begin at 0; others come when first used. */
const ENGINES = ['gfx', 'compute', 'dma', 'dec', 'enc', 'jpeg'] as const;
const QUEUE_TYPES = ['compute', 'sdma'] as const;

const KFD = 'kfd/proc';
const FDINFO = 'fdinfo';

/** Why a source has nothing to say; undefined where it has. */
export interface Silence {
  kfd: Reason | undefined;
  drm: Reason | undefined;
}

export interface CardSums {
  sdma: bigint;
  evicted: bigint;
  engines: ReadonlyMap<string, bigint>;
  /** Sum of the last sample; undefined where the chip cannot tell. */
  occupancy: { value: number } | { absent: Reason };
}

/** The sums of one card. Where one of two sources did not answer in time, what is made of both is not told. */
export function publishSums(table: Readings, rows: readonly Row[], sums: CardSums, silence: Silence): void {
  const { kfd, drm } = silence;
  const late = kfd === 'timeout' || drm === 'timeout' ? 'timeout' : undefined;
  // One source is enough to begin with; a denied fdinfo explains more than a KFD that is not there.
  const both = late ?? (kfd === undefined || drm === undefined ? undefined : drm);
  const pids = new Set(rows.filter(uses).map((row) => row.identity));
  tell(table, both, quantities.count, pids.size, `${KFD}, ${FDINFO}`);
  tell(table, both, quantities.sumVram, total(rows, 'summedVram'), `${KFD}, ${FDINFO}`);
  tell(table, drm, quantities.sumGtt, total(rows, 'summedGtt'), FDINFO);
  for (const engine of new Set([...ENGINES, ...sums.engines.keys()]))
    tell(table, drm, quantities.sumEngine, seconds(sums.engines.get(engine) ?? 0n), FDINFO, engine);

  const compute = rows.filter((row) => row.source === 'kfd');
  // Older kernels lack single files: then a sum of nothing is no 0.
  const lack = (key: 'sdma' | 'evicted' | 'queues'): Reason | undefined =>
    kfd ?? (compute.length > 0 && compute.every((row) => row[key] === undefined) ? 'unsupported' : undefined);
  tell(table, lack('sdma'), quantities.sumSdma, seconds(sums.sdma), KFD);
  tell(table, lack('evicted'), quantities.sumEvicted, seconds(sums.evicted), KFD);
  const queues = new Map<string, number>(QUEUE_TYPES.map((type) => [type, 0]));
  for (const row of compute) for (const [type, n] of row.queues ?? []) queues.set(type, (queues.get(type) ?? 0) + n);
  for (const [type, n] of queues) tell(table, lack('queues'), quantities.sumQueues, n, KFD, type);
  const { occupancy } = sums;
  const noOccupancy = kfd ?? ('absent' in occupancy ? occupancy.absent : undefined);
  tell(table, noOccupancy, quantities.sumOccupancy, 'value' in occupancy ? occupancy.value : 0, KFD);
}

function tell(
  table: Readings,
  absent: Reason | undefined,
  quantity: Quantity,
  value: number,
  source: string,
  ...labels: string[]
): void {
  if (absent === undefined) table.putAll(quantity, value, source, labels);
  else table.miss(quantity, absent, source, ...labels);
}

function total(rows: readonly Row[], key: 'summedVram' | 'summedGtt'): number {
  return rows.reduce((sum, row) => sum + row[key], 0);
}

/** One series of one process: ready to be put. */
export interface Series {
  quantity: Quantity;
  value: Value;
  source: string;
  labels: string[];
}

/** What only the collector knows of a row. */
export interface RowExtras {
  engines: ReadonlyMap<string, bigint>;
  occupancy: number | undefined;
  /** Seconds since the epoch; only for the first row of a process on a card. */
  start: number | undefined;
}

/** Series of one row; labels are pid, comm, what the quantity adds, then the partition. */
export function seriesOf(row: Row, extras: RowExtras): Series[] {
  const who = [String(row.identity.pid), row.identity.comm];
  const { partition } = row.place;
  const series: Series[] = [];
  const add = (quantity: Quantity, value: number | undefined, source: string, ...more: string[]): void => {
    if (value === undefined) return;
    const labels = [...who, ...more, ...(quantity.partitioned ? [partition] : [])];
    series.push({ quantity, value, source, labels });
  };
  const time = (nanoseconds: bigint | undefined) => (nanoseconds === undefined ? undefined : seconds(nanoseconds));
  add(quantities.vram, row.vram, row.source === 'kfd' ? KFD : FDINFO);
  add(quantities.start, extras.start, 'stat');
  // It has the card open and that is all: its memory says so.
  if (!hasUsed(row)) return series;
  add(quantities.gtt, row.gtt, FDINFO);
  add(quantities.cpuMemory, row.cpu, FDINFO);
  add(quantities.sharedVram, row.sharedVram, FDINFO);
  add(quantities.evictedVram, row.evictedVram, FDINFO);
  add(quantities.requestedVram, row.requestedVram, FDINFO);
  add(quantities.requestedGtt, row.requestedGtt, FDINFO);
  add(quantities.evictedVisibleVram, row.evictedVisibleVram, FDINFO);
  add(quantities.requestedVisibleVram, row.requestedVisibleVram, FDINFO);
  for (const [engine, busy] of extras.engines) add(quantities.engine, seconds(busy), FDINFO, engine);
  add(quantities.sdma, time(row.sdma), KFD);
  add(quantities.evicted, time(row.evicted), KFD);
  add(quantities.faults, row.faults, KFD);
  add(quantities.pageIn, row.pageIn, KFD);
  add(quantities.pageOut, row.pageOut, KFD);
  add(quantities.occupancy, extras.occupancy, KFD);
  if (row.queues !== undefined) {
    const queues = new Map<string, number>([['compute', 0], ...row.queues]);
    for (const [type, n] of queues) add(quantities.queues, n, KFD, type);
  }
  return series;
}

/** Rows whose series are shown, largest holders of video memory first. A process that uses a card is silent on those it only opened. */
export function shownRows(rows: readonly Row[]): Row[] {
  const busy = new Set(rows.filter(hasUsed).map((row) => row.identity));
  return rows
    .filter((row) => hasUsed(row) || !busy.has(row.identity))
    .sort((a, b) => (b.vram ?? 0) - (a.vram ?? 0) || a.identity.pid - b.identity.pid);
}

/** Keeps whole rows until one no longer fits, so that it is always the largest that are kept; says how many series are left out. */
export function capped(rows: readonly Series[][], most: number): { kept: Series[][]; dropped: number } {
  let used = 0;
  let fits = 0;
  for (const row of rows) {
    if (used + row.length > most) break;
    used += row.length;
    fits += 1;
  }
  return {
    kept: rows.slice(0, fits),
    dropped: rows.slice(fits).reduce((sum, row) => sum + row.length, 0),
  };
}
