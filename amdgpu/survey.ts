import { type Candidate, type Device, deviceOf, entriesOf, Inspections, isAnswered, PCI } from './inspect.ts';
import { type KfdNode, surveyKfd } from './kfd.ts';
import type { LanePool, Outcome, Task } from './lanes/pool.ts';
import type { Entry, FileResult } from './lanes/protocol.ts';
import type { Paths } from './paths.ts';
import { isOurFault, RawFiles } from './raw.ts';

export { type Device, isStatic } from './inspect.ts';
/** A partition's own DRM node (MI300 and later): platform device amdgpu_xcp_K. */
export interface XcpNode {
  index: number;
  dir: string;
  renderMinor?: number;
  /** Has a table of its own (Linux 6.16 and later). */
  hasMetrics: boolean;
}

export interface Survey {
  devices: Device[];
  xcps: XcpNode[];
  kfd: KfdNode[];
  /** Per node: module version and parameters, release, kernel command. */
  node: RawFiles;
  /** Device directories that did not answer. */
  silent: string[];
  /** False where something that belongs to no card did not answer: what `before` knew of it is kept. */
  answered: boolean;
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

const ASK = 2000;

/** What to read to see whether anything came or went: names of three directories and the topology's generation. */
export function watchTasks(paths: Paths): Task[] {
  const topology = `${paths.sysfs}/class/kfd/kfd/topology`;
  return [
    { owner: 'node', item: { op: 'list', dirs: roots(paths), names: true } },
    { owner: 'kfd', item: { op: 'read', files: [`${topology}/generation_id`] } },
  ];
}

/** One string out of what watchTasks brought: when it is the same, nothing came or went. What was not answered is as before. */
export function fingerprint(
  lists: Outcome | undefined,
  reads: Outcome | undefined,
  before: string | undefined,
): string | undefined {
  const [namesBefore, generationBefore] = before === undefined ? [] : (JSON.parse(before) as [string, string]);
  const names = isAnswered(lists)
    ? JSON.stringify(lists.dirs.map((dir) => (typeof dir === 'number' ? [] : dir.map((entry) => entry.name).sort())))
    : namesBefore;
  const file = reads?.op === 'read' ? reads.files[0] : undefined;
  const generation = file === undefined || isOurFault(file) ? generationBefore : textOf(file);
  return names === undefined ? undefined : JSON.stringify([names, generation ?? '']);
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
export async function survey(
  pool: LanePool,
  paths: Paths,
  before?: Survey,
  inspections = new Inspections(pool),
): Promise<Survey> {
  const [listing] = await ask(pool, [{ owner: 'node', item: { op: 'list', dirs: roots(paths) } }]);
  if (!isAnswered(listing) && before !== undefined) return { ...before, answered: false };
  const [drm, driver, nodes, dumps] = [0, 1, 2, 3].map((i) => entriesOf(listing, i)) as [
    Entry[],
    Entry[],
    Entry[],
    Entry[],
  ];
  const found = await candidates(pool, paths, drm, driver);
  const [{ devices, unknown, silent }, topology, files] = await Promise.all([
    inspect(inspections, found.devices, before),
    surveyKfd(pool, paths, nodes),
    nodeFiles(pool, paths),
  ]);
  const kfd = topology.complete ? topology.nodes : (before?.kfd ?? topology.nodes);
  const node = files ?? before?.node ?? new RawFiles();
  const answered = isAnswered(listing) && topology.complete && files !== undefined;
  // Nothing in its directory answers, but the topology says which PCI function the render node is.
  for (const c of unknown) {
    const pci = kfd.find((one) => one.renderMinor !== undefined && one.renderMinor === c.renderMinor)?.pci;
    if (pci === undefined || devices.some((one) => one.pci === pci)) continue;
    devices.push(deviceOf(c, pci, new Map(), new RawFiles(), false));
  }
  const coredumps = dumps.filter((entry) => /^devcd\d+$/.test(entry.name)).length;
  return { devices, xcps: found.xcps, kfd, node, silent, answered, coredumps };
}

function ask(pool: LanePool, tasks: readonly Task[]): Promise<Outcome[]> {
  return pool.run(tasks, ASK);
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
      const known = xcps.get(index) ?? { index, dir, hasMetrics: false };
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
  return { devices: [...devices.values()], xcps: await withTables(pool, [...xcps.values()]) };
}

/** Older drivers have partitions and no tables for them: what is not there is not to be read at each pass. */
async function withTables(pool: LanePool, xcps: XcpNode[]): Promise<XcpNode[]> {
  if (xcps.length === 0) return xcps;
  const dirs = xcps.map((xcp) => `${xcp.dir}/xcp`);
  const [listing] = await ask(pool, [{ owner: 'node', item: { op: 'list', dirs, names: true } }]);
  const known = isAnswered(listing);
  return xcps.map((xcp, i) => ({
    ...xcp,
    hasMetrics: !known || entriesOf(listing, i).some((entry) => entry.name === 'xcp_metrics'),
  }));
}

async function inspect(
  inspections: Inspections,
  candidates: readonly Candidate[],
  before: Survey | undefined,
): Promise<{ devices: Device[]; unknown: Candidate[]; silent: string[] }> {
  const devices: Device[] = [];
  const unknown: Candidate[] = [];
  const silent: string[] = [];
  const findings = await inspections.look(candidates, before?.devices ?? []);
  candidates.forEach((c, i) => {
    const finding = findings[i];
    if (finding === 'foreign' || finding === undefined) return;
    if (finding !== 'silent') {
      devices.push(finding);
      return;
    }
    silent.push(c.dir);
    const known = before?.devices.find((one) => one.dir === c.dir || one.pci === c.pci);
    if (known !== undefined) devices.push({ ...known, complete: false });
    else if (c.bound && c.pci !== undefined) devices.push(deviceOf(c, c.pci, new Map(), new RawFiles(), false));
    else unknown.push(c);
  });
  return { devices, unknown, silent };
}

/** Where there is neither a DRM node nor the driver's directory (excerpts of a tree), the PCI bus itself is looked through. */
async function pciDevices(pool: LanePool, paths: Paths): Promise<Candidate[]> {
  const bus = `${paths.sysfs}/bus/pci/devices`;
  const [listing] = await ask(pool, [{ owner: 'node', item: { op: 'list', dirs: [bus] } }]);
  if (listing?.op !== 'list' || typeof listing.dirs[0] === 'number') return [];
  const names = (listing.dirs[0] ?? []).map((entry) => entry.name).filter((name) => PCI.test(name));
  const [vendors] = await ask(pool, [
    { owner: 'node', item: { op: 'read', files: names.map((name) => `${bus}/${name}/vendor`) } },
  ]);
  if (vendors?.op !== 'read') return [];
  return names
    .filter((_, i) => textOf(vendors.files[i]).trim() === '0x1002')
    .map((pci) => ({ dir: `${bus}/${pci}`, pci, bound: false }));
}

async function nodeFiles(pool: LanePool, paths: Paths): Promise<RawFiles | undefined> {
  const files = [...NODE_FILES.map((f) => `${paths.sysfs}/${f}`), ...PROC_FILES.map((f) => `${paths.procfs}/${f}`)];
  const [outcome] = await ask(pool, [{ owner: 'node', item: { op: 'read', files } }]);
  if (outcome?.op !== 'read') return undefined;
  const raw = new RawFiles();
  [...NODE_FILES, ...PROC_FILES].forEach((name, i) => {
    raw.set(name, outcome.files[i] as FileResult, true);
  });
  return raw;
}

/** The PCI address of the device itself is the last one in a link such as …/0000:c0:01.0/0000:c1:00.0/drm/card0. */
function lastPci(target: string | undefined): string | undefined {
  return target?.match(new RegExp(PCI, 'g'))?.at(-1);
}

function textOf(result: FileResult | undefined): string {
  return result === undefined || typeof result === 'number' ? '' : Buffer.from(result).toString('latin1');
}
