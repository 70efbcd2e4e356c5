import { constants } from 'node:os';
import { Hsmp } from '../../amdgpu/hsmp.ts';
import { LanePool, type PoolStats } from '../../amdgpu/lanes/pool.ts';
import { AmdNode } from '../../amdgpu/node.ts';
import type { Paths } from '../../amdgpu/paths.ts';
import { type Cadence, cadenceOf, groupOf } from '../../amdgpu/plan.ts';
import { reasonOf } from '../../amdgpu/raw.ts';
import type { CardRecord } from '../../amdgpu/record.ts';
import { type Survey, survey } from '../../amdgpu/survey.ts';
import { decodeTable } from '../../amdgpu/tables/decode.ts';
import { systemClock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { Ask } from '../../exporter/processes/ask.ts';
import { listPids, scanDrm } from '../../exporter/processes/drm.ts';
import { scanKfd } from '../../exporter/processes/kfd.ts';
import type { Health } from '../../model/card.ts';
import { apu } from '../../model/quantities/apu.ts';
import { ALL_QUANTITIES } from '../../model/quantities/catalogue.ts';
import { metricName } from '../../model/quantities/quantity.ts';
import type { Reason } from '../../model/reading.ts';
import { type ActuatorPlaces, type ActuatorReport, examineActuator } from './actuator.ts';

/** Where something was looked for, and what it would mean. */
export interface Place {
  path: string;
  found: boolean;
  /** Entries of interest, or why it could not be listed. */
  state: string;
  holds: string;
}

/** One file that brought no value. */
export interface Fault {
  file: string;
  reason: Reason;
  /** Families that this file feeds. */
  loses: string[];
}

/** Files of one subject of one card. */
export interface GroupReport {
  group: string;
  readable: number;
  /** Answered, and hold nothing (a sensor that the part does not have). */
  empty: string[];
  faults: Fault[];
  /** Not read here: RAS counts and the like, whose read has a price. */
  left: string[];
}

export interface CardReport {
  gpu: number;
  pci: string;
  model: string;
  health: Health;
  /** Version of gpu_metrics, or what is wrong with it; absent where the card has none. */
  table?: string;
  partitions: number;
  kfd: boolean;
  readMs: number;
  values: number;
  groups: GroupReport[];
}

export interface DoctorReport {
  paths: Paths;
  uid: number | undefined;
  driver: { loaded: boolean; version: string; kernel: string };
  kfd: { present: boolean; gpuNodes: number; processes: number | string };
  processes: { seen: number; denied: number; clients: number; state: string };
  hsmpSockets: number;
  places: Place[];
  /** AMD display devices on the PCI bus that no card was found for, with the driver that has them. */
  unbound: { pci: string; driver: string }[];
  silent: string[];
  cards: CardReport[];
  lanes: PoolStats;
  /** Where it was asked for. */
  actuator?: ActuatorReport;
}

export interface DoctorOptions {
  paths: Paths;
  log: Log;
  laneDeadlineMs: number;
  /** Looks at what an actuator would need, too. */
  actuator?: Omit<ActuatorPlaces, 'sysfs'>;
}

const PASS_MS = 10_000;
const ASK_MS = 5_000;

/** Looks at everything that the exporter would read, once, through the same lanes; what has a price is left alone. */
export async function examine({ paths, log, laneDeadlineMs, actuator }: DoctorOptions): Promise<DoctorReport> {
  const clock = systemClock;
  const pool = new LanePool({ clock, itemDeadline: laneDeadlineMs, apart: ['proc'] });
  const node = new AmdNode({ paths, pool, clock, log, skip: (name) => cadenceOf(name) === 'costly' });
  const hsmp = new Hsmp(pool, paths, clock);
  try {
    const found = await survey(pool, paths);
    await node.start();
    await node.collect(PASS_MS);
    await hsmp.start();
    const ask = new Ask(pool, clock, ASK_MS);
    const kfd = await scanKfd(ask, paths.sysfs, false);
    const pids = await listPids(ask, paths.procfs);
    const drm = Array.isArray(pids) ? await scanDrm(ask, paths.procfs, pids) : undefined;
    const needed = actuator && { ...actuator, sysfs: paths.sysfs };
    const armed = needed && (await examineActuator(node, { clock, laneDeadlineMs }, needed));
    return {
      paths,
      uid: process.getuid?.(),
      driver: driverOf(found),
      kfd: {
        present: found.node.bytes('class/kfd/kfd/topology/system_properties') !== undefined || found.kfd.length > 0,
        gpuNodes: found.kfd.length,
        processes: kfd.absent ?? kfd.processes.size,
      },
      processes: {
        seen: drm?.seen.size ?? 0,
        denied: drm?.denied ?? 0,
        clients: drm?.descriptors.length ?? 0,
        state: Array.isArray(pids) ? (drm?.absent ?? 'ok') : pids,
      },
      hsmpSockets: [...hsmp.readings.of(apu.socketPower)].length,
      places: await places(pool, paths),
      unbound: await unbound(pool, paths, new Set(node.cards.map((record) => record.pci))),
      silent: found.silent,
      cards: node.cards.map(cardReport),
      lanes: pool.stats,
      ...(armed && { actuator: armed }),
    };
  } finally {
    node.close();
    hsmp.close();
    pool.close();
  }
}

/** Whether anything at all of a GPU could be read. */
export function anythingReadable(report: DoctorReport): boolean {
  return report.cards.some((card) => card.values > 0 || card.health === 'asleep');
}

function driverOf({ node }: Survey): DoctorReport['driver'] {
  const word = (name: string): string => node.text(name)?.trim() ?? '';
  const version = word('module/amdgpu/version');
  const loaded = version !== '' || word('module/amdgpu/initstate') !== '' || word('module/amdgpu/srcversion') !== '';
  return { loaded, version, kernel: word('sys/kernel/osrelease') };
}

const PLACES: readonly (readonly [path: string, entries: RegExp, holds: string])[] = [
  ['module/amdgpu', /./, 'the driver, when it is loaded'],
  ['bus/pci/drivers/amdgpu', /^[0-9a-f]{4,}:/, 'one link for each card that the driver has'],
  ['class/drm', /^(card|renderD)\d+$/, 'one cardN or renderDN for each card, any driver'],
  ['class/kfd/kfd/topology/nodes', /^\d+$/, 'compute topology: one node for each CPU and GPU'],
];

async function places(pool: LanePool, paths: Paths): Promise<Place[]> {
  const dirs = PLACES.map(([path]) => `${paths.sysfs}/${path}`);
  const [listing] = await pool.run([{ owner: 'node', item: { op: 'list', dirs, names: true } }], ASK_MS);
  return PLACES.map(([, entries, holds], i) => {
    const path = dirs[i] as string;
    const names = listing?.op === 'list' ? listing.dirs[i] : undefined;
    if (names === undefined) return { path, found: false, state: 'no answer', holds };
    if (typeof names === 'number') {
      const state = names === constants.errno.ENOENT ? 'not there' : reasonOf(names);
      return { path, found: false, state, holds };
    }
    return { path, found: true, state: `${names.filter(({ name }) => entries.test(name)).length} entries`, holds };
  });
}

/** AMD display controllers (PCI class 03xx and 1200) that are on the bus without being one of our cards. */
async function unbound(pool: LanePool, paths: Paths, ours: ReadonlySet<string>): Promise<DoctorReport['unbound']> {
  const bus = `${paths.sysfs}/bus/pci/devices`;
  const [listing] = await pool.run([{ owner: 'node', item: { op: 'list', dirs: [bus], names: true } }], ASK_MS);
  const names = listing?.op === 'list' && Array.isArray(listing.dirs[0]) ? listing.dirs[0].map(({ name }) => name) : [];
  const others = names.filter((name) => !ours.has(name));
  const files = others.flatMap((name) => ['vendor', 'class', 'uevent'].map((file) => `${bus}/${name}/${file}`));
  const [read] = await pool.run([{ owner: 'node', item: { op: 'read', files } }], ASK_MS);
  if (read?.op !== 'read') return [];
  const text = (i: number): string => {
    const result = read.files[i];
    return result === undefined || typeof result === 'number' ? '' : Buffer.from(result).toString('latin1').trim();
  };
  return others.flatMap((pci, i) => {
    const isGpu = text(3 * i) === '0x1002' && /^0x(03|12)/.test(text(3 * i + 1));
    if (!isGpu) return [];
    return [{ pci, driver: /^DRIVER=(.*)$/m.exec(text(3 * i + 2))?.[1] ?? 'none' }];
  });
}

function cardReport(record: CardRecord): CardReport {
  const { card, device, kfd } = record.found;
  const groups = new Map<string, GroupReport>();
  for (const name of [...(device?.files.keys() ?? [])].sort()) {
    const cadence = cadenceOf(name);
    if (cadence !== 'never') sort(record, name, cadence, groupFor(groups, name));
  }
  const readings = [...record.fixed.toMap().values(), ...record.live.toMap().values()];
  const table = tableOf(record);
  return {
    gpu: card.gpu,
    pci: card.pci,
    model: card.model.name || card.model.deviceId || 'unknown',
    health: record.health,
    ...(table === undefined ? {} : { table }),
    partitions: card.partitions.length,
    kfd: kfd.length > 0,
    readMs: record.readMs,
    values: readings.filter((reading) => 'value' in reading).length,
    groups: [...groups.values()],
  };
}

function groupFor(groups: Map<string, GroupReport>, name: string): GroupReport {
  const key = name === 'gpu_metrics' ? 'table' : (groupOf(name) ?? 'identity');
  let group = groups.get(key);
  if (group === undefined) {
    group = { group: key, readable: 0, empty: [], faults: [], left: [] };
    groups.set(key, group);
  }
  return group;
}

function sort(record: CardRecord, name: string, cadence: Cadence, group: GroupReport): void {
  const { raw } = record;
  const errno = raw.errno(name);
  if (errno !== undefined) group.faults.push({ file: name, reason: reasonOf(errno), loses: losesBy(name) });
  else if (raw.has(name)) {
    if (raw.bytes(name)?.length === 0) group.empty.push(name);
    else group.readable += 1;
  } else if (cadence === 'costly') group.left.push(name);
  // Sleeping or silent: nothing was read, and the state of the card says why. Otherwise the table has made it unnecessary.
  else if (record.health !== 'ok') group.left.push(name);
}

/** Families whose sources name this file. */
export function losesBy(name: string): string[] {
  const file = name.replace(/^(hwmon|bridge)\//, '').replace(/^xcp\d*\//, 'xcp/');
  const feeds = (source: string): boolean =>
    source.split(/[ ,]+/).some((word) => word !== '' && globOf(word).test(file));
  return [...new Set(ALL_QUANTITIES.filter((q) => q.sources.some(feeds)).map(metricName))];
}

const globs = new Map<string, RegExp>();

function globOf(word: string): RegExp {
  let glob = globs.get(word);
  if (glob === undefined) {
    glob = new RegExp(`^${word.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '\\w*')}$`);
    globs.set(word, glob);
  }
  return glob;
}

function tableOf(record: CardRecord): string | undefined {
  const bytes = record.raw.bytes('gpu_metrics');
  if (bytes === undefined || bytes.length === 0) return undefined;
  const result = decodeTable('gpu_metrics', bytes);
  if (result.ok) return result.table.version;
  const version = result.fault === 'unknown_version' ? ` ${result.version}` : '';
  return `${result.fault.replaceAll('_', ' ')}${version}`;
}
