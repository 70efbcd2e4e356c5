import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Paths } from '../../../amdgpu/paths.ts';

export interface ClientFields {
  pdev: string;
  id: number | undefined;
  driver?: string;
  vram?: number;
  sharedVram?: number;
  gtt?: number;
  engines?: Record<string, number>;
}

/** The process files of a node, in a directory of its own. Memory in bytes (multiples of 1024 in fdinfo). */
export class Node {
  readonly root = mkdtempSync(join(tmpdir(), 'nightshift-processes-'));
  readonly paths: Paths = { sysfs: join(this.root, 'sys'), procfs: join(this.root, 'proc') };
  readonly kfd = join(this.paths.sysfs, 'class/kfd/kfd/proc');

  constructor(options: { kfd?: boolean } = {}) {
    if (options.kfd !== false) mkdirSync(this.kfd, { recursive: true });
    mkdirSync(this.paths.procfs, { recursive: true });
    this.put(`${this.paths.procfs}/stat`, 'cpu 1 2 3\nbtime 1700000000\nprocesses 9\n');
  }

  put(path: string, text: string): void {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** /proc/PID without descriptors. */
  process(pid: number, comm = `job${pid}`, start = pid * 100): void {
    const base = `${this.paths.procfs}/${pid}`;
    mkdirSync(`${base}/fd`, { recursive: true });
    this.put(`${base}/comm`, `${comm}\n`);
    this.put(`${base}/stat`, `${pid} (${comm}) S ${'0 '.repeat(18)}${start} 0 0\n`);
  }

  /** Files of one process on one topology node, without trailing newlines, as the kernel writes most of them. */
  compute(
    pid: number,
    gpuId: number,
    values: { vram?: number; sdma?: number; evicted?: number; occupancy?: number },
  ): void {
    const base = `${this.kfd}/${pid}`;
    mkdirSync(base, { recursive: true });
    if (values.vram !== undefined) this.put(`${base}/vram_${gpuId}`, `${values.vram}`);
    if (values.sdma !== undefined) this.put(`${base}/sdma_${gpuId}`, `${values.sdma}\n`);
    if (values.evicted !== undefined) this.put(`${base}/stats_${gpuId}/evicted_ms`, `${values.evicted}\n`);
    if (values.occupancy !== undefined) this.put(`${base}/stats_${gpuId}/cu_occupancy`, `${values.occupancy}`);
  }

  queue(pid: number, id: number, type: number, gpuId: number): void {
    const base = `${this.kfd}/${pid}/queues/${id}`;
    this.put(`${base}/type`, `${type}`);
    this.put(`${base}/gpuid`, `${gpuId}`);
    this.put(`${base}/size`, '4096');
  }

  /** One descriptor on a DRM node. */
  open(pid: number, fd: number, client: ClientFields, target = '/dev/dri/renderD128'): void {
    const base = `${this.paths.procfs}/${pid}`;
    mkdirSync(`${base}/fd`, { recursive: true });
    rmSync(`${base}/fd/${fd}`, { force: true });
    symlinkSync(target, `${base}/fd/${fd}`);
    this.put(`${base}/fdinfo/${fd}`, fdinfo(client));
  }

  close(pid: number, fd: number): void {
    rmSync(`${this.paths.procfs}/${pid}/fd/${fd}`, { force: true });
    rmSync(`${this.paths.procfs}/${pid}/fdinfo/${fd}`, { force: true });
  }

  end(pid: number): void {
    rmSync(`${this.paths.procfs}/${pid}`, { recursive: true, force: true });
    rmSync(`${this.kfd}/${pid}`, { recursive: true, force: true });
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

export function fdinfo({ pdev, id, driver = 'amdgpu', ...client }: ClientFields): string {
  const lines = ['pos:\t0', 'flags:\t02104002', `drm-driver:\t${driver}`, `drm-pdev:\t${pdev}`];
  if (id !== undefined) lines.push(`drm-client-id:\t${id}`);
  if (client.vram !== undefined) lines.push(`drm-memory-vram:\t${client.vram / 1024} KiB`);
  if (client.sharedVram !== undefined) lines.push(`drm-shared-vram:\t${client.sharedVram / 1024} KiB`);
  if (client.gtt !== undefined) lines.push(`drm-memory-gtt: \t${client.gtt / 1024} KiB`);
  for (const [engine, busy] of Object.entries(client.engines ?? {})) lines.push(`drm-engine-${engine}:\t${busy} ns`);
  return `${lines.join('\n')}\n`;
}
