import { queueTypeName } from '../../amdgpu/formats/kfdproc.ts';
import type { DrmClient } from '../../linux/fdinfo.ts';
import type { UniqueClient } from '../../linux/process.ts';
import type { Identity } from './identities.ts';
import type { KfdProcess } from './kfd.ts';
import type { Place } from './targets.ts';

/** What one process has on one card, or on one partition of it. Bytes; nanoseconds for times. */
export interface Row {
  place: Place;
  identity: Identity;
  /** Topology nodes that KFD tells of here. */
  gpuIds: number[];
  /** Who told `vram`: a compute process's memory is KFD's to tell, and never both are added. */
  source: 'kfd' | 'fdinfo';
  vram?: number;
  gtt?: number;
  cpu?: number;
  sharedVram?: number;
  evictedVram?: number;
  requestedVram?: number;
  requestedGtt?: number;
  evictedVisibleVram?: number;
  requestedVisibleVram?: number;
  sdma?: bigint;
  evicted?: bigint;
  faults?: number;
  pageIn?: number;
  pageOut?: number;
  /** By type; absent where this kernel does not list queues. */
  queues?: Map<string, number>;
  /** Engines that its clients have used; the times are DrmTotals' to tell. */
  engines: Set<string>;
  /** DRM clients it opened here on purpose: those of a compute process are its runtime's doing. */
  clients: number;
  /** What may be added up over processes: by KFD, or the part that no other client holds. */
  summedVram: number;
  summedGtt: number;
}

/** What the scans found, with everybody's identity and place. */
export interface Found {
  kfd: readonly { process: KfdProcess; identity: Identity }[];
  clients: readonly { unique: UniqueClient; identity: Identity; place: Place }[];
  placeOf(gpuId: number): Place;
  olderQueueTypes: boolean;
  /** PIDs, as `clients` has them, that hold /dev/kfd and that KFD lists by another number (another PID namespace). */
  computing: ReadonlySet<number>;
}

/** One row a process and place. */
export function rowsOf(found: Found): Row[] {
  const rows = new Map<Identity, Map<string, Row>>();
  const rowOf = (identity: Identity, place: Place, source: Row['source']): Row => {
    const own = rows.get(identity) ?? new Map<string, Row>();
    rows.set(identity, own);
    const key = `${place.pci} ${place.partition}`;
    let row = own.get(key);
    if (row === undefined) {
      row = { place, identity, source, gpuIds: [], engines: new Set(), clients: 0, summedVram: 0, summedGtt: 0 };
      own.set(key, row);
    }
    return row;
  };
  const told = new Map<Identity, Set<string>>();
  const compute = new Set<Identity>(found.kfd.map(({ identity }) => identity));
  for (const { process, identity } of found.kfd) {
    for (const [gpuId, use] of process.gpus) {
      const row = rowOf(identity, found.placeOf(gpuId), 'kfd');
      const { occupancyFile: _, ...counts } = use;
      row.gpuIds.push(gpuId);
      addCounts(row, counts);
      if (use.vram !== undefined) told.set(identity, (told.get(identity) ?? new Set()).add(row.place.pci));
      if (process.queues !== undefined)
        addQueues(
          row,
          process.queues.filter((queue) => queue.gpuId === gpuId),
          found,
        );
    }
  }
  const shares: Shares = { vram: new Map(), gtt: new Map() };
  for (const { unique, identity, place } of found.clients) {
    const row = rowOf(identity, place, 'fdinfo');
    const isTwin = found.computing.has(unique.pid);
    if (!isTwin && !compute.has(identity)) row.clients += 1;
    addClient(row, unique, isTwin || told.get(identity)?.has(place.pci) === true, shares);
  }
  for (const [row, share] of shares.vram) row.vram = share.own + share.common;
  for (const [row, share] of shares.gtt) row.gtt = share.own + share.common;
  const all = [...rows.values()].flatMap((own) => [...own.values()]);
  // Runtimes open GPUs that are hidden from us as well; only what is held there is worth telling.
  return all.filter((row) => row.place.pci !== '' || hasUsed(row));
}

type Counts = Partial<Pick<Row, 'vram' | 'sdma' | 'evicted' | 'faults' | 'pageIn' | 'pageOut'>>;

/** Two GPUs that are none of the known cards share a row. */
function addCounts(row: Row, counts: Counts): void {
  row.summedVram += counts.vram ?? 0;
  for (const key of ['vram', 'faults', 'pageIn', 'pageOut'] as const) {
    const value = counts[key];
    if (value !== undefined) row[key] = (row[key] ?? 0) + value;
  }
  for (const key of ['sdma', 'evicted'] as const) {
    const value = counts[key];
    if (value !== undefined) row[key] = (row[key] ?? 0n) + value;
  }
}

function addQueues(row: Row, queues: readonly { type: number }[], found: Found): void {
  row.queues ??= new Map();
  for (const { type } of queues) {
    const name = queueTypeName(type, found.olderQueueTypes);
    row.queues.set(name, (row.queues.get(name) ?? 0) + 1);
  }
}

/** Of the clients of one row: what each holds alone, added up, and the most that one of them shares. */
type Shares = Record<'vram' | 'gtt', Map<Row, { own: number; common: number }>>;

/**
 * Of several clients of one process, what they share may be the same memory: it is counted as much as the largest share of
 * one of them, which is exact for one client and never too much. Sums over processes leave it out.
 */
function addClient(row: Row, { client }: UniqueClient, vramIsTold: boolean, shares: Shares): void {
  for (const engine of client.engines.keys()) row.engines.add(engine);
  for (const name of ['vram', 'gtt'] as const) {
    const held = heldIn(client, name);
    if (held === undefined || (name === 'vram' && vramIsTold)) continue;
    // `shared` counts memory that was moved out as well, so it may be more than what is held.
    const own = Math.max(0, held - (client.regions.get(name)?.shared ?? 0));
    const before = shares[name].get(row) ?? { own: 0, common: 0 };
    shares[name].set(row, { own: before.own + own, common: Math.max(before.common, held - own) });
    row[name === 'vram' ? 'summedVram' : 'summedGtt'] += own;
  }
  add(row, 'cpu', heldIn(client, 'cpu'));
  add(row, 'sharedVram', client.regions.get('vram')?.shared);
  add(row, 'evictedVram', client.amd.evictedVram);
  add(row, 'requestedVram', client.amd.requestedVram);
  add(row, 'requestedGtt', client.amd.requestedGtt);
  add(row, 'evictedVisibleVram', client.amd.evictedVisibleVram);
  add(row, 'requestedVisibleVram', client.amd.requestedVisibleVram);
}

function heldIn(client: DrmClient, region: string): number | undefined {
  const { memory, resident } = client.regions.get(region) ?? {};
  return memory ?? resident;
}

type Bytes =
  | 'cpu'
  | 'sharedVram'
  | 'evictedVram'
  | 'requestedVram'
  | 'requestedGtt'
  | 'evictedVisibleVram'
  | 'requestedVisibleVram';

function add(row: Row, key: Bytes, value: number | undefined): void {
  if (value !== undefined) row[key] = (row[key] ?? 0) + value;
}

/**
 * Whether the process uses the card. The runtime opens every GPU of the node, so having one open is no use of it; a process
 * that is no compute process opened its node on purpose.
 */
export function uses(row: Row): boolean {
  if ((row.vram ?? 0) > 0 || (row.queues?.size ?? 0) > 0 || row.engines.size > 0) return true;
  return row.source === 'fdinfo' && row.clients > 0;
}

/** Whether it ever used the card as far as its counters tell: then its series stay when it has given all back. */
export function hasUsed(row: Row): boolean {
  if (uses(row)) return true;
  return [row.sdma, row.evicted, row.faults, row.pageIn, row.pageOut].some((count) => Number(count ?? 0) > 0);
}
