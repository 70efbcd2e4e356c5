import { constants } from 'node:os';
import { type Clock, within } from '../base/clock.ts';
import { parseWord } from './formats/scalar.ts';
import { parseUevent } from './formats/uevent.ts';
import type { LanePool, Outcome } from './lanes/pool.ts';
import type { Entry, FileResult, Item } from './lanes/protocol.ts';
import { isOurFault, RawFiles } from './raw.ts';

export interface Candidate {
  dir: string;
  pci?: string;
  /** bus/pci/drivers/amdgpu names it, so nothing needs to be read to know. */
  bound: boolean;
  cardMinor?: number;
  renderMinor?: number;
}

/** One amdgpu device directory: which files it has, where they really are, and what the ones that do not change say. */
export interface Device {
  /** PCI address. */
  pci: string;
  dir: string;
  /** Names relative to the device directory; `hwmon/x` whatever the number, `bridge/x` for the port above. */
  files: ReadonlyMap<string, string>;
  statics: RawFiles;
  /** False where the device did not answer, slept, or was in reset: it is to be looked at again when it is well. */
  complete: boolean;
  /** card12 → 12 where the driver made such a node. */
  cardMinor?: number;
  renderMinor?: number;
}

/** Sub-directories whose files belong to the card. */
const SUBDIRS = [
  'ras',
  'fw_version',
  'board',
  'xcp',
  'pm_policy',
  'uma',
  'power',
  'compute_partition_config',
  'compute_partition_config/xcc',
  'compute_partition_config/dma',
  'compute_partition_config/dec',
  'compute_partition_config/jpeg',
  'xgmi_hive_info',
] as const;

/** Read once: identity, limits, capabilities. Everything else that a pass does not read is left alone. */
const STATIC_NAMES = new Set([
  'vendor',
  'device',
  'class',
  'revision',
  'subsystem_vendor',
  'subsystem_device',
  'uevent',
  'unique_id',
  'serial_number',
  'product_name',
  'product_number',
  'manufacturer',
  'fru_id',
  'vbios_version',
  'vbios_build',
  'board_info',
  'mem_info_vram_vendor',
  'max_link_speed',
  'max_link_width',
  'numa_node',
  'local_cpulist',
  'sriov_totalvfs',
  'sriov_numvfs',
  'reset_method',
  'available_compute_partition',
  'available_memory_partition',
  'xgmi_device_id',
  'xgmi_physical_id',
  'xgmi_num_hops',
  'xgmi_num_links',
  'xgmi_port_num',
  'xgmi_hive_info/xgmi_hive_id',
  'ras/features',
  'ras/version',
  'ras/schema',
  'uma/carveout_options',
  'compute_partition_config/supported_xcp_configs',
  'compute_partition_config/supported_nps_configs',
  'compute_partition_config/xcp_config',
  'board/max_node_power_limit',
]);
const STATIC_PATTERNS = [
  /^hwmon\/(name|\w+_label|\w+_crit|\w+_crit_hyst|\w+_emergency|power\d_cap_(min|max|default)|fan1_(min|max)|pwm1_(min|max))$/,
  /^fw_version\//,
  /^bridge\//,
  /_reset_mask$/,
  /^compute_partition_config\/\w+\/num_(inst|shared)$/,
];

export function isStatic(name: string): boolean {
  return STATIC_NAMES.has(name) || STATIC_PATTERNS.some((pattern) => pattern.test(name));
}

export const PCI = /[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]/;

/** What a device directory turned out to be; `silent` where it did not answer, `foreign` where it is not ours. */
type Finding = Device | 'silent' | 'foreign';

/** A card that is slow (or hangs) is looked at for this long at the most, beside everything else. ms */
const LONGEST_LOOK_MS = 30_000;
/** Half of all cards are waited for this long. ms */
const HALF_MS = 1_000;
/** Files of one item: a slow card answers that many before its lane is given up. */
const FILES_PER_ITEM = 8;

/**
 * Looks at device directories, each on its own: those that answer are found at once, one that is slow is found when it has
 * answered. No directory is looked at twice at a time.
 */
export class Inspections {
  readonly #pool: LanePool;
  readonly #clock: Clock | undefined;
  readonly #patience: number;
  readonly #onLate: () => void;
  readonly #running = new Map<string, Promise<Finding>>();
  readonly #late = new Map<string, Finding>();

  /** Without a clock every directory is waited for. `onLate` is called when one has answered that was not waited for. */
  constructor(pool: LanePool, clock?: Clock, patience = 0, onLate: () => void = () => {}) {
    this.#pool = pool;
    this.#clock = clock;
    this.#patience = patience;
    this.#onLate = onLate;
  }

  /** Whether this card is being looked at now: its lane has work enough. */
  isLookingAt(pci: string): boolean {
    return this.#running.has(pci);
  }

  /** `known` are devices found before: of one that sleeps now, what was read then is kept. */
  async look(candidates: readonly Candidate[], known: readonly Device[]): Promise<Finding[]> {
    const findings = new Map<string, Finding>();
    let halfDone: () => void = () => {};
    const half = new Promise<void>((resolve) => {
      halfDone = resolve;
    });
    const looks = candidates.map(async (candidate) => {
      findings.set(keyOf(candidate), await this.#one(candidate, known));
      if (findings.size >= candidates.length / 2) halfDone();
    });
    const all = Promise.all(looks);
    if (this.#clock === undefined) await all;
    else await this.#waitFor(this.#clock, Promise.race([half, all]), all);
    for (const candidate of candidates) {
      const key = keyOf(candidate);
      if (findings.has(key)) continue;
      void this.#running.get(key)?.then((finding) => {
        if (finding === 'silent') return;
        this.#late.set(key, finding);
        this.#onLate();
      });
    }
    return candidates.map((candidate) => findings.get(keyOf(candidate)) ?? 'silent');
  }

  /** The slow ones get as long again as half of all took, and no less than the patience. */
  async #waitFor(clock: Clock, half: Promise<unknown>, all: Promise<unknown>): Promise<void> {
    const start = clock.monotonic();
    await within(clock, half, HALF_MS);
    const took = clock.monotonic() - start;
    await within(clock, all, Math.max(took, this.#patience - took));
  }

  async #one(candidate: Candidate, known: readonly Device[]): Promise<Finding> {
    const key = keyOf(candidate);
    const late = this.#late.get(key);
    this.#late.delete(key);
    if (late !== undefined) return late;
    let running = this.#running.get(key);
    if (running === undefined) {
      running = examine(this.#pool, candidate, known).finally(() => this.#running.delete(key));
      this.#running.set(key, running);
    }
    const finding = await running;
    this.#late.delete(key); // this very finding, if an earlier look did not wait for it
    return finding;
  }
}

const keyOf = (candidate: Candidate): string => candidate.pci ?? candidate.dir;

async function examine(pool: LanePool, c: Candidate, known: readonly Device[]): Promise<Finding> {
  const owner = keyOf(c);
  const ask = (items: Item[]): Promise<Outcome[]> =>
    pool.run(
      items.map((item) => ({ owner, item })),
      LONGEST_LOOK_MS,
    );
  const dirs = [c.dir, `${c.dir}/hwmon`, ...SUBDIRS.map((sub) => `${c.dir}/${sub}`)];
  const [listing] = await ask([{ op: 'list', dirs }]);
  if (!isAnswered(listing)) return 'silent';
  const hwmonDirs = entriesOf(listing, 1)
    .filter((entry) => /^hwmon\d+$/.test(entry.name))
    .map((entry) => `${c.dir}/hwmon/${entry.name}`);
  const [hwmonListing] = await ask([{ op: 'list', dirs: hwmonDirs }]);
  if (!isAnswered(hwmonListing)) return 'silent';
  const hwmon = hwmonDirs.map((dir, k) => ({ dir, entries: entriesOf(hwmonListing, k) }));
  const files = filesOf(c, listing, hwmon);
  const read = async (names: string[], gate: string | undefined): Promise<RawFiles | undefined> =>
    gather(names, await ask(itemsOf(names, files, gate)));
  // Identity first: it never touches the GPU, and decides whether the rest is read at all.
  const identity = await read(
    ['uevent', 'vendor', 'device', 'hwmon/name'].filter((name) => files.has(name)),
    undefined,
  );
  if (identity === undefined) return 'silent';
  if (!isAmdgpu(c, identity)) return 'foreign';
  const statics = await read([...files.keys()].filter(isStatic), files.get('power/runtime_status'));
  const earlier = known.find((one) => one.dir === c.dir && one.statics.names().next().done !== true)?.statics;
  const pci = c.pci ?? identity.parse('uevent', parseUevent)?.pci ?? PCI.exec(c.dir)?.[0] ?? c.dir;
  const complete = statics !== undefined && !isPassing(statics);
  return deviceOf(c, pci, files, statics ?? earlier ?? identity, complete);
}

function itemsOf(names: readonly string[], files: ReadonlyMap<string, string>, gate: string | undefined): Item[] {
  const items: Item[] = [];
  for (let from = 0; from < names.length || from === 0; from += FILES_PER_ITEM) {
    const paths = names.slice(from, from + FILES_PER_ITEM).map((name) => files.get(name) ?? '');
    items.push({ op: 'read', files: paths, ...(gate === undefined ? {} : { gate }) });
  }
  return items;
}

/** Undefined where some of it was not answered, or the card sleeps. */
function gather(names: readonly string[], outcomes: readonly Outcome[]): RawFiles | undefined {
  const raw = new RawFiles();
  let at = 0;
  for (const outcome of outcomes) {
    if (outcome.op !== 'read' || outcome.asleep) return undefined;
    for (const file of outcome.files) raw.set(names[at++] as string, file as FileResult, true);
  }
  return raw;
}

const { errno } = constants;
/** In reset, not yet initialised, going away, or our own limit: another time the file may say something. */
const PASSING = new Set([
  ...[errno.EPERM, errno.EBUSY, errno.EAGAIN, errno.ENODEV, errno.ENXIO, errno.EIO],
  ...[errno.ETIME, errno.ETIMEDOUT, errno.EMFILE, errno.ENFILE, errno.ENOMEM],
]);

function isPassing(raw: RawFiles): boolean {
  return [...raw.names()].some((name) => PASSING.has(raw.errno(name) ?? 0));
}

export function deviceOf(
  c: Candidate,
  pci: string,
  files: Map<string, string>,
  statics: RawFiles,
  complete: boolean,
): Device {
  return {
    pci,
    dir: c.dir,
    files,
    statics,
    complete,
    ...(c.cardMinor === undefined ? {} : { cardMinor: c.cardMinor }),
    ...(c.renderMinor === undefined ? {} : { renderMinor: c.renderMinor }),
  };
}

/** uevent's DRIVER decides; where there is none, the driver's directory or hwmon's name. The old radeon driver is not ours. */
function isAmdgpu(c: Candidate, raw: RawFiles): boolean {
  const driver = raw.parse('uevent', parseUevent)?.driver;
  if (driver !== undefined) return driver === 'amdgpu';
  if (c.bound) return true;
  const vendor = raw.parse('vendor', parseWord);
  return raw.parse('hwmon/name', parseWord) === 'amdgpu' && (vendor === undefined || vendor === '0x1002');
}

function filesOf(
  c: Candidate,
  listing: Outcome | undefined,
  hwmon: { dir: string; entries: Entry[] }[],
): Map<string, string> {
  const files = new Map<string, string>();
  const add = (prefix: string, dir: string, entries: Entry[]): void => {
    for (const entry of entries) if (entry.kind !== 'dir') files.set(`${prefix}${entry.name}`, `${dir}/${entry.name}`);
  };
  add('', c.dir, entriesOf(listing, 0));
  SUBDIRS.forEach((sub, i) => {
    add(`${sub}/`, `${c.dir}/${sub}`, entriesOf(listing, i + 2));
  });
  const first = hwmon[0];
  if (first !== undefined) add('hwmon/', first.dir, first.entries);
  // The port above: only where `device` is a link is `..` another device.
  if (c.pci !== undefined && files.has('max_link_speed')) {
    files.set('bridge/max_link_speed', `${c.dir}/../max_link_speed`);
    files.set('bridge/max_link_width', `${c.dir}/../max_link_width`);
  }
  return files;
}

export function isAnswered(listing: Outcome | undefined): listing is Extract<Outcome, { op: 'list' }> {
  return listing?.op === 'list' && !listing.dirs.some(isOurFault);
}

export function entriesOf(outcome: Outcome | undefined, index: number): Entry[] {
  if (outcome?.op !== 'list') return [];
  const entries = outcome.dirs[index];
  return entries === undefined || typeof entries === 'number' ? [] : entries;
}
