import { MODELS } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import type { Directory } from './entry.ts';
import { hiveOf, neighbour, physicalId } from './fabric.ts';
import { devicePath } from './paths.ts';

/** Links between GPUs. Source: drivers/gpu/drm/amd/amdgpu/amdgpu_xgmi.c. */

export function xgmiFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  const hive = hiveOf(node, gpu);
  if (hive.length < 2) return;
  const { family } = MODELS[node.model];
  dir.line('xgmi_device_id', deviceId(gpu));
  dir.line('xgmi_physical_id', physicalId(node, gpu));
  // The read needs a way to the fabric that only the older chips have; the others refuse it.
  if (family === 'mi100') dir.line('xgmi_error', 0);
  const generation = family === 'mi300' || family === 'mi350' ? 0x40 : 0;
  const each = (value: (other: Gpu) => number): string =>
    hive.map((other) => `${value(other).toString(16).padStart(2, '0')} `).join('');
  dir.line(
    'xgmi_num_hops',
    each((other) => {
      const hops = neighbour(node, gpu, other)?.hops;
      return hops ? hops | generation : 0;
    }),
  );
  dir.line(
    'xgmi_num_links',
    each((other) => neighbour(node, gpu, other)?.links ?? 0),
  );
  dir.raw('xgmi_port_num', ports(node, gpu, hive));
  hiveFiles(hive, gpu, dir);
}

const deviceId = (gpu: Gpu): bigint => (gpu.hive.id & ~0xffn) | BigInt(gpu.hive.position + 1);

/** `node:port ->  node:port`; nodes count from 1 and the ports of a GPU go to the others in hive order. */
function ports(node: NodeDescription, gpu: Gpu, hive: readonly Gpu[]): string {
  const firstPort = (from: Gpu, to: Gpu): number =>
    hive.slice(0, hive.indexOf(to)).reduce((sum, other) => sum + (neighbour(node, from, other)?.links ?? 0), 0);
  const byte = (value: number): string => value.toString(16).toUpperCase().padStart(2, '0');
  const lines: string[] = [];
  for (const other of hive) {
    const links = neighbour(node, gpu, other)?.links ?? 0;
    for (let link = 0; link < links; link++) {
      const here = `${byte(gpu.hive.position + 1)}:${byte(firstPort(gpu, other) + link)}`;
      const there = `${byte(other.hive.position + 1)}:${byte(firstPort(other, gpu) + link)}`;
      lines.push(`${here} ->  ${there}\n`);
    }
  }
  return lines.join('');
}

/** The hive belongs to its first GPU; all others point there, and it points to all. */
function hiveFiles(hive: readonly Gpu[], gpu: Gpu, dir: Directory): void {
  const owner = hive[0] as Gpu;
  if (gpu !== owner) {
    dir.link('xgmi_hive_info', `${devicePath(owner)}/xgmi_hive_info`);
    return;
  }
  const info = dir.within('xgmi_hive_info');
  info.line('xgmi_hive_id', gpu.hive.id);
  for (const [index, member] of hive.entries()) info.link(`node${index + 1}`, devicePath(member));
}
