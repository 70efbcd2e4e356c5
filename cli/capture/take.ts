import { kfdPid } from '../../amdgpu/formats/kfdproc.ts';
import { LanePool } from '../../amdgpu/lanes/pool.ts';
import type { Paths } from '../../amdgpu/paths.ts';
import { type Device, type Survey, survey } from '../../amdgpu/survey.ts';
import { systemClock } from '../../base/clock.ts';
import { gpuDeviceOf, pidOf } from '../../linux/process.ts';
import { FOLDERS, mayRead, needsAwake } from './allow.ts';
import { type Content, type Fault, Walk } from './walk.ts';

export interface TakeOptions {
  paths: Paths;
  /** How long one file may take before its card is left, ms. */
  laneDeadlineMs: number;
  withRasCounts: boolean;
}

export interface Taken {
  contents: Map<string, Content>;
  faults: Fault[];
  cards: number;
}

const WHOLE_MS = 60_000;
const TOPOLOGY = 'class/kfd/kfd/topology';
const KFD_PROC = 'class/kfd/kfd/proc';
const DRM_NODE = /^(card|renderD)\d+$/;
const PCI = /^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;

/** Reads all that belongs to the GPUs of a node. Whatever hangs, this ends, and what is missing stands in `faults`. */
export async function take({ paths, laneDeadlineMs, withRasCounts }: TakeOptions): Promise<Taken> {
  const pool = new LanePool({ clock: systemClock, itemDeadline: laneDeadlineMs, apart: ['proc'] });
  const sys = new Walk(pool, paths.sysfs, 'sys', WHOLE_MS);
  const proc = new Walk(pool, paths.procfs, 'proc', WHOLE_MS);
  try {
    const found = await survey(pool, paths);
    await nodes(sys);
    for (const device of found.devices) await card(sys, paths, device, withRasCounts);
    await xcps(sys, paths, found);
    await modules(sys);
    await topology(sys);
    const computing = await kfdProcesses(sys);
    await hsmp(sys);
    await sys.read();
    await host(proc);
    await processes(proc, computing);
    await proc.read();
    const contents = new Map([...sys.contents, ...proc.contents]);
    return { contents, faults: [...sys.faults, ...proc.faults], cards: found.devices.length };
  } finally {
    pool.close();
  }
}

/** Links by which cards are found: those of other devices too, which lead nowhere in the archive. */
async function nodes(sys: Walk): Promise<void> {
  for (const [dir, names] of [
    ['class/drm', DRM_NODE],
    ['bus/pci/drivers/amdgpu', PCI],
    ['class/devcoredump', /^devcd\d+$/],
  ] as const) {
    const at = await sys.canonical(dir, 'node');
    if (at === undefined) continue;
    for (const entry of await sys.list(at, 'node')) {
      if (!names.test(entry.name)) continue;
      if (entry.kind === 'link') sys.link(`${at}/${entry.name}`, entry);
      // A dump is only counted: its content is a memory image.
      else if (dir === 'class/devcoredump') await sys.list(`${at}/${entry.name}`, 'node');
    }
  }
}

async function card(sys: Walk, paths: Paths, device: Device, withRasCounts: boolean): Promise<void> {
  const owner = device.pci;
  const dir = await sys.canonical(device.dir.slice(paths.sysfs.length + 1), owner);
  if (dir === undefined) return;
  // Each node of the card leads to it by a link of its own; the bus does too.
  for (const [kind, minor] of [
    ['card', device.cardMinor],
    ['renderD', device.renderMinor],
  ] as const) {
    if (minor !== undefined) await sys.canonical(`class/drm/${kind}${minor}/device`, owner);
  }
  await sys.canonical(`bus/pci/devices/${device.pci}`, owner);
  const gate = device.files.has('power/runtime_status') ? `${dir}/power/runtime_status` : undefined;
  const gateOf = (name: string): string | undefined => (needsAwake(name) ? gate : undefined);
  for (const entry of await sys.list(dir, owner)) {
    const path = `${dir}/${entry.name}`;
    if (entry.kind === 'file') {
      if (mayRead(entry.name, withRasCounts)) sys.want(path, owner, gateOf(entry.name));
    } else if (entry.kind === 'dir' && FOLDERS.includes(entry.name)) {
      const take = (name: string): boolean => mayRead(`${entry.name}/${name}`, withRasCounts);
      await sys.deep(path, owner, 3, take, (name) => gateOf(`${entry.name}/${name}`));
    }
  }
  // The port above: limits of the slot.
  const above = await sys.canonical(`${dir}/..`, owner);
  if (above === undefined || !device.files.has('bridge/max_link_speed')) return;
  for (const { name, kind } of await sys.list(above, owner, true))
    if (kind === 'file' && /^max_link_(speed|width)$/.test(name)) sys.want(`${above}/${name}`, 'node');
}

/** Partitions that have a node of their own. */
async function xcps(sys: Walk, paths: Paths, { xcps: partitions }: Survey): Promise<void> {
  for (const { dir } of partitions) {
    const at = await sys.canonical(dir.slice(paths.sysfs.length + 1), 'node');
    if (at === undefined) continue;
    for (const { name, kind } of await sys.list(at, 'node')) {
      if (kind === 'file' && name === 'uevent') sys.want(`${at}/${name}`, 'node');
      if (kind === 'dir' && name === 'xcp')
        await sys.deep(`${at}/xcp`, 'node', 1, (file) => mayRead(`xcp/${file}`, false));
    }
  }
}

async function modules(sys: Walk): Promise<void> {
  for (const name of ['module/amdgpu', 'module/ttm']) {
    const dir = await sys.canonical(name, 'node');
    if (dir === undefined) continue;
    const take = (file: string): boolean => /^(version|srcversion|initstate|parameters\/\w+)$/.test(file);
    for (const { name: own, kind } of await sys.list(dir, 'node')) {
      if (kind === 'file' && take(own)) sys.want(`${dir}/${own}`, 'node');
      if (kind === 'dir' && own === 'parameters')
        await sys.deep(`${dir}/parameters`, 'node', 1, (file) => take(`parameters/${file}`));
    }
  }
}

async function topology(sys: Walk): Promise<void> {
  const dir = await sys.canonical(TOPOLOGY, 'node');
  if (dir !== undefined) await sys.deep(dir, 'node', 5, (file) => !file.includes('/perf/'));
}

/** Compute processes; their PIDs. */
async function kfdProcesses(sys: Walk): Promise<number[]> {
  const dir = await sys.canonical(KFD_PROC, 'node');
  if (dir === undefined) return [];
  const pids: number[] = [];
  for (const { name } of await sys.list(dir, 'node')) {
    const pid = kfdPid(name);
    if (pid === undefined) continue;
    pids.push(pid);
    await sys.deep(`${dir}/${name}`, 'node', 3, () => true);
  }
  return pids;
}

async function hsmp(sys: Walk): Promise<void> {
  const dir = await sys.canonical('devices/platform/amd_hsmp', 'hsmp');
  if (dir !== undefined) await sys.deep(dir, 'hsmp', 2, (file) => /^socket\d+\/metrics_bin$/.test(file));
}

async function host(proc: Walk): Promise<void> {
  for (const file of ['sys/kernel/osrelease', 'sys/kernel/random/boot_id', 'stat', '1/comm', '2/comm']) {
    const path = await proc.canonical(file, 'proc');
    if (path !== undefined) proc.want(path, 'proc');
  }
}

/** Processes that compute or have a GPU open: name, start, and what their descriptors on GPUs tell. */
async function processes(proc: Walk, computing: readonly number[]): Promise<void> {
  const known = new Set(computing);
  for (const { name } of await proc.list('', 'proc')) {
    const pid = pidOf(name);
    if (pid === undefined) continue;
    const open = await descriptors(proc, name);
    if (open.length === 0 && !known.has(pid)) continue;
    for (const file of ['comm', 'stat']) proc.want(`${name}/${file}`, 'proc');
    for (const fd of open) proc.want(`${name}/fdinfo/${fd}`, 'proc');
  }
}

/** Descriptors that are open on a GPU, their links noted. Trees without links have fdinfo alone. */
async function descriptors(proc: Walk, pid: string): Promise<string[]> {
  const links = await proc.peek(`${pid}/fd`, 'proc');
  const open = links.filter(({ target }) => target !== undefined && gpuDeviceOf(target) !== undefined);
  for (const { name, target } of open) proc.text(`${pid}/fd/${name}`, target as string);
  if (links.length > 0) return open.map(({ name }) => name);
  return (await proc.peek(`${pid}/fdinfo`, 'proc')).filter(({ kind }) => kind === 'file').map(({ name }) => name);
}
