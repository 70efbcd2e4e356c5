import { since } from '../driver.ts';
import { MODELS } from '../models.ts';
import type { NodeDescription } from '../node.ts';
import type { SimProcess } from '../process.ts';
import { type Directory, directory, type Files, ROOT_ONLY } from './entry.ts';

/** /proc of the node and of the described processes. Source: Documentation/filesystems/proc.rst, gpu/drm-usage-stats.rst. */

/** Clock ticks a second in /proc/PID/stat. */
const USER_HZ = 100;

export function procFiles(node: NodeDescription, files: Files): void {
  const proc = directory(files, 'proc');
  const { time, uptime, id } = node.boot;
  proc.raw(
    'stat',
    `cpu  0 0 0 ${Math.round(uptime * USER_HZ)} 0 0 0 0 0 0\nctxt 0\nbtime ${time}\nprocesses ${node.processes.length}\n`,
  );
  proc.line('uptime', `${uptime.toFixed(2)} ${uptime.toFixed(2)}`);
  proc.line('sys/kernel/random/boot_id', id);
  for (const process of node.processes) processFiles(node, process, proc.within(String(process.pid)));
}

function processFiles(node: NodeDescription, process: SimProcess, dir: Directory): void {
  const { pid, parent, comm, uid, gid } = process;
  dir.line('comm', comm);
  // What ended has no memory any more, and with it no words and no files.
  const { zombie = false } = process;
  dir.raw('cmdline', zombie ? '' : process.cmdline.map((word) => `${word}\0`).join(''));
  dir.line('cgroup', `0::${process.cgroup}`);
  dir.raw(
    'environ',
    Object.entries(zombie ? {} : process.environ)
      .map(([key, value]) => `${key}=${value}\0`)
      .join(''),
    ROOT_ONLY,
  );
  dir.line('stat', statLine(node, process));
  const ids = (id: number): string => [id, id, id, id].join('\t');
  dir.raw(
    'status',
    `Name:\t${comm}\nUmask:\t0022\nState:\t${zombie ? 'Z (zombie)' : 'R (running)'}\nTgid:\t${pid}\nNgid:\t0\nPid:\t${pid}\nPPid:\t${parent}\nTracerPid:\t0\n` +
      `Uid:\t${ids(uid)}\nGid:\t${ids(gid)}\nThreads:\t8\nNSpid:\t${pid}\n`,
  );
  if (!zombie) descriptors(node, process, dir);
}

/** Fields 3 to 52; the start, field 22, counts ticks since the node started. */
function statLine(node: NodeDescription, { pid, parent, comm, age, zombie = false }: SimProcess): string {
  const fields = Array.from({ length: 50 }, () => 0) as (number | string)[];
  const set = (field: number, value: number | string): void => {
    fields[field - 3] = value;
  };
  set(3, zombie ? 'Z' : 'R');
  set(4, parent);
  set(5, pid);
  set(6, pid);
  set(14, Math.round(age * USER_HZ * 0.9));
  set(18, 20);
  set(20, 8);
  set(22, Math.max(0, Math.round((node.boot.uptime - age) * USER_HZ)));
  return `${pid} (${comm}) ${fields.join(' ')}`;
}

const FIRST_DESCRIPTOR = 3;

/** /dev/kfd, then one render node for each partition in use. The links lead out of the tree, as they do out of /proc. */
function descriptors(node: NodeDescription, process: SimProcess, dir: Directory): void {
  let descriptor = FIRST_DESCRIPTOR;
  const open = (target: string, keys: string): void => {
    dir.verbatimLink(`fd/${descriptor}`, target);
    dir.raw(
      `fdinfo/${descriptor}`,
      `pos:\t0\nflags:\t02100002\nmnt_id:\t24\nino:\t${600 + descriptor}\n${keys}`,
      ROOT_ONLY,
    );
    descriptor++;
  };
  if (process.kfd) open('/dev/kfd', '');
  for (const use of process.gpus) {
    const gpu = node.gpus.find(({ index }) => index === use.gpu);
    const render = gpu?.partitions[use.partition]?.render;
    if (gpu && render !== undefined) open(`/dev/dri/renderD${render}`, drmKeys(node, process, use, gpu.pci));
  }
}

const KIB = 1024;

function drmKeys(node: NodeDescription, process: SimProcess, use: SimProcess['gpus'][number], pci: string): string {
  // A compute process shows only what it imported into its own address space.
  const vram = process.kfd ? 2048 * KIB : use.vram;
  const regions = { vram, gtt: use.gtt, cpu: 0 };
  const lines = [
    'drm-driver:\tamdgpu',
    `drm-client-id:\t${use.clientId}`,
    `drm-pdev:\t${pci}`,
    `pasid:\t${process.pasid}`,
  ];
  const kib = (key: string, bytes: number): void => {
    lines.push(`${key}:\t${Math.round(bytes / KIB)} KiB`);
  };
  for (const [region, bytes] of Object.entries(regions)) {
    if (since(node.driver, 'linux-6.13')) {
      kib(`drm-total-${region}`, bytes);
      kib(`drm-resident-${region}`, bytes);
      kib(`drm-purgeable-${region}`, 0);
    }
    kib(`drm-shared-${region}`, 0);
    kib(`drm-memory-${region}`, bytes);
  }
  kib('amd-evicted-vram', 0);
  kib('amd-requested-vram', vram);
  kib('amd-requested-gtt', use.gtt);
  if (!since(node.driver, 'linux-6.13')) {
    kib('amd-memory-visible-vram', MODELS[node.model].apu ? 0 : vram);
    kib('amd-evicted-visible-vram', 0);
    kib('amd-requested-visible-vram', 0);
  }
  for (const [engine, busy] of Object.entries(use.engines))
    if (busy > 0) lines.push(`drm-engine-${engine}:\t${busy} ns`);
  return `${lines.join('\n')}\n`;
}
