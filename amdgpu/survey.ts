import { parseWord } from './formats/scalar.ts';
import { parseUevent } from './formats/uevent.ts';
import { type KfdNode, surveyKfd } from './kfd.ts';
import type { LanePool, Outcome } from './lanes/pool.ts';
import type { Entry, FileResult, Item } from './lanes/protocol.ts';
import type { Paths } from './paths.ts';
import { RawFiles } from './raw.ts';

/** One amdgpu device directory: which files it has, where they really are, and what the ones that do not change say. */
export interface Device {
  /** PCI address. */
  pci: string;
  dir: string;
  /** Names relative to the device directory; `hwmon/x` whatever the number, `bridge/x` for the port above. */
  files: ReadonlyMap<string, string>;
  /** Static files as read; a device whose static files could not be read yet has `complete` false. */
  statics: RawFiles;
  complete: boolean;
  /** card12 → 12 where the driver made such a node. */
  cardMinor?: number;
  renderMinor?: number;
}

/** A partition's own DRM node (MI300 and later): platform device amdgpu_xcp_K. */
export interface XcpNode {
  index: number;
  dir: string;
  renderMinor?: number;
}

export interface Survey {
  devices: Device[];
  xcps: XcpNode[];
  kfd: KfdNode[];
  /** Per node: module version and parameters, release, kernel command. */
  node: RawFiles;
  /** Device directories that did not answer. */
  silent: string[];
  /** Device core dumps waiting to be collected. */
  coredumps: number;
}

const NODE_FILES = [
  'module/amdgpu/version',
  'module/amdgpu/srcversion',
  'module/amdgpu/initstate',
  'module/amdgpu/parameters/bad_page_threshold',
  'module/ttm/parameters/pages_limit',
  'module/ttm/parameters/page_pool_size',
  'class/kfd/kfd/topology/system_properties',
];
const PROC_FILES = ['sys/kernel/osrelease', 'sys/kernel/random/boot_id', 'stat'];

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

const PCI = /[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]/;
const ASK = 2000;

/** What to read to see whether anything came or went: names of three directories and the topology's generation. */
export function watchItems(paths: Paths): Item[] {
  const topology = `${paths.sysfs}/class/kfd/kfd/topology`;
  return [
    { op: 'list', dirs: roots(paths), names: true },
    { op: 'read', files: [`${topology}/generation_id`] },
  ];
}

/** One string out of what watchItems brought: when it is the same, nothing came or went. Undefined where it was not answered. */
export function fingerprint(lists: Outcome | undefined, reads: Outcome | undefined): string | undefined {
  if (lists?.op !== 'list' || reads?.op !== 'read') return undefined;
  const names = lists.dirs.map((dir) => (typeof dir === 'number' ? [] : dir.map((entry) => entry.name).sort()));
  return JSON.stringify([names, textOf(reads.files[0])]);
}

function roots(paths: Paths): string[] {
  return [
    `${paths.sysfs}/class/drm`,
    `${paths.sysfs}/bus/pci/drivers/amdgpu`,
    `${paths.sysfs}/class/kfd/kfd/topology/nodes`,
    `${paths.sysfs}/class/devcoredump`,
  ];
}

/** Reads the whole inventory. `before` serves where a device does not answer now. */
export async function survey(pool: LanePool, paths: Paths, before?: Survey): Promise<Survey> {
  const [listing] = await pool.run([{ owner: 'node', item: { op: 'list', dirs: roots(paths) } }], ASK);
  const [drm, driver, nodes, dumps] = [0, 1, 2, 3].map((i) => entriesOf(listing, i)) as [
    Entry[],
    Entry[],
    Entry[],
    Entry[],
  ];
  const found = await candidates(pool, paths, drm, driver);
  const [{ devices, silent }, kfd, node] = await Promise.all([
    inspect(pool, found.devices, before),
    surveyKfd(pool, paths, nodes),
    nodeFiles(pool, paths),
  ]);
  const coredumps = dumps.filter((entry) => /^devcd\d+$/.test(entry.name)).length;
  return { devices, xcps: found.xcps, kfd, node, silent, coredumps };
}

interface Candidate {
  dir: string;
  pci?: string;
  /** bus/pci/drivers/amdgpu names it, so nothing needs to be read to know. */
  bound: boolean;
  cardMinor?: number;
  renderMinor?: number;
}

async function candidates(
  pool: LanePool,
  paths: Paths,
  drm: readonly Entry[],
  driver: readonly Entry[],
): Promise<{ devices: Candidate[]; xcps: XcpNode[] }> {
  const devices = new Map<string, Candidate>();
  const xcps = new Map<number, XcpNode>();
  for (const entry of drm) {
    const [, kind, minorText] = /^(card|renderD)(\d+)$/.exec(entry.name) ?? [];
    if (kind === undefined) continue;
    const minor = Number(minorText);
    const xcp = /amdgpu_xcp_(\d+)\//.exec(entry.target ?? '')?.[1];
    const dir = `${paths.sysfs}/class/drm/${entry.name}/device`;
    if (xcp !== undefined) {
      const index = Number(xcp);
      const known = xcps.get(index) ?? { index, dir };
      if (kind === 'renderD') known.renderMinor = minor;
      xcps.set(index, known);
      continue;
    }
    const pci = lastPci(entry.target);
    const key = pci ?? dir;
    const known = devices.get(key) ?? { dir, bound: false, ...(pci === undefined ? {} : { pci }) };
    if (kind === 'card') known.cardMinor = minor;
    else known.renderMinor = minor;
    devices.set(key, known);
  }
  for (const entry of driver) {
    if (!PCI.test(entry.name)) continue;
    const known = devices.get(entry.name);
    if (known !== undefined) known.bound = true;
    else devices.set(entry.name, { dir: `${paths.sysfs}/bus/pci/devices/${entry.name}`, pci: entry.name, bound: true });
  }
  if (devices.size === 0) for (const device of await pciDevices(pool, paths)) devices.set(device.pci ?? '', device);
  return { devices: [...devices.values()], xcps: [...xcps.values()] };
}

/** Where there is neither a DRM node nor the driver's directory (excerpts of a tree), the PCI bus itself is looked through. */
async function pciDevices(pool: LanePool, paths: Paths): Promise<Candidate[]> {
  const bus = `${paths.sysfs}/bus/pci/devices`;
  const [listing] = await pool.run([{ owner: 'node', item: { op: 'list', dirs: [bus] } }], ASK);
  if (listing?.op !== 'list' || typeof listing.dirs[0] === 'number') return [];
  const names = (listing.dirs[0] ?? []).map((entry) => entry.name).filter((name) => PCI.test(name));
  const [vendors] = await pool.run(
    [{ owner: 'node', item: { op: 'read', files: names.map((name) => `${bus}/${name}/vendor`) } }],
    ASK,
  );
  if (vendors?.op !== 'read') return [];
  return names
    .filter((_, i) => textOf(vendors.files[i]).trim() === '0x1002')
    .map((pci) => ({ dir: `${bus}/${pci}`, pci, bound: false }));
}

async function inspect(
  pool: LanePool,
  found: Candidate[],
  before: Survey | undefined,
): Promise<{ devices: Device[]; silent: string[] }> {
  const owner = (candidate: Candidate): string => candidate.pci ?? candidate.dir;
  const listings = await pool.run(
    found.map((c) => ({
      owner: owner(c),
      item: { op: 'list', dirs: [c.dir, `${c.dir}/hwmon`, ...SUBDIRS.map((sub) => `${c.dir}/${sub}`)] },
    })),
    ASK,
  );
  const hwmonDirs = listings.map((listing, i) =>
    entriesOf(listing, 1)
      .filter((entry) => /^hwmon\d+$/.test(entry.name))
      .map((entry) => `${(found[i] as Candidate).dir}/hwmon/${entry.name}`),
  );
  const hwmonLists = await pool.run(
    found.map((c, i) => ({ owner: owner(c), item: { op: 'list', dirs: hwmonDirs[i] ?? [] } })),
    ASK,
  );
  const files = found.map((c, i) => {
    const hwmon = (hwmonDirs[i] ?? []).map((dir, k) => ({ dir, entries: entriesOf(hwmonLists[i], k) }));
    return filesOf(c, listings[i], hwmon);
  });
  // Identity first: it never touches the GPU, and decides whether the rest is read at all.
  const identity = ['uevent', 'vendor', 'device', 'hwmon/name'];
  const identities = await readNamed(pool, found.map(owner), files, identity, undefined);
  const devices: Device[] = [];
  const silent: string[] = [];
  const wanted: number[] = [];
  found.forEach((c, i) => {
    const raw = identities[i];
    if (raw === undefined) {
      silent.push(c.dir);
      const known = before?.devices.find((d) => d.dir === c.dir || d.pci === c.pci);
      if (known !== undefined) devices.push(known);
      else if (c.bound && c.pci !== undefined)
        devices.push(device(c, c.pci, files[i] ?? new Map(), new RawFiles(), false));
    } else if (isAmdgpu(c, raw)) wanted.push(i);
  });
  const gates = wanted.map((i) => files[i]?.get('power/runtime_status'));
  const statics = await readNamed(
    pool,
    wanted.map((i) => owner(found[i] as Candidate)),
    wanted.map((i) => files[i] ?? new Map()),
    undefined,
    gates,
  );
  wanted.forEach((i, k) => {
    const c = found[i] as Candidate;
    const raw = statics[k] ?? (identities[i] as RawFiles);
    const pci = c.pci ?? (identities[i] as RawFiles).parse('uevent', parseUevent)?.pci ?? PCI.exec(c.dir)?.[0] ?? c.dir;
    devices.push(device(c, pci, files[i] ?? new Map(), raw, statics[k] !== undefined));
  });
  return { devices, silent };
}

function device(c: Candidate, pci: string, files: Map<string, string>, statics: RawFiles, complete: boolean): Device {
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

/** Reads files by name for many devices at once; undefined where the device did not answer or sleeps. */
async function readNamed(
  pool: LanePool,
  owners: string[],
  files: Map<string, string>[],
  names: string[] | undefined,
  gates: (string | undefined)[] | undefined,
): Promise<(RawFiles | undefined)[]> {
  const wanted = files.map((map) => (names ?? [...map.keys()].filter(isStatic)).filter((name) => map.has(name)));
  const outcomes = await pool.run(
    owners.map((owner, i) => ({
      owner,
      item: {
        op: 'read',
        files: (wanted[i] ?? []).map((name) => files[i]?.get(name) ?? ''),
        ...(gates?.[i] === undefined ? {} : { gate: gates[i] }),
      },
    })),
    ASK,
  );
  return outcomes.map((outcome, i) => {
    if (outcome.op !== 'read' || outcome.asleep) return undefined;
    const raw = new RawFiles();
    wanted[i]?.forEach((name, k) => {
      raw.set(name, outcome.files[k] as FileResult, true);
    });
    return raw;
  });
}

async function nodeFiles(pool: LanePool, paths: Paths): Promise<RawFiles> {
  const files = [...NODE_FILES.map((f) => `${paths.sysfs}/${f}`), ...PROC_FILES.map((f) => `${paths.procfs}/${f}`)];
  const [outcome] = await pool.run([{ owner: 'node', item: { op: 'read', files } }], ASK);
  const raw = new RawFiles();
  if (outcome?.op !== 'read') return raw;
  [...NODE_FILES, ...PROC_FILES].forEach((name, i) => {
    raw.set(name, outcome.files[i] as FileResult, true);
  });
  return raw;
}

function entriesOf(outcome: Outcome | undefined, index: number): Entry[] {
  if (outcome?.op !== 'list') return [];
  const entries = outcome.dirs[index];
  return entries === undefined || typeof entries === 'number' ? [] : entries;
}

/** The PCI address of the device itself is the last one in a link such as …/0000:c0:01.0/0000:c1:00.0/drm/card0. */
function lastPci(target: string | undefined): string | undefined {
  return target?.match(new RegExp(PCI, 'g'))?.at(-1);
}

function textOf(result: FileResult | undefined): string {
  return result === undefined || typeof result === 'number' ? '' : Buffer.from(result).toString('latin1');
}
