import { MODELS } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';

/** Who is linked to whom by xGMI. */

export interface Neighbour {
  hops: number;
  /** Links between the two; 0 where the way leads over a third. */
  links: number;
}

/** GPUs of the hive, in hive order, the GPU itself among them. */
export function hiveOf(node: NodeDescription, gpu: Gpu): Gpu[] {
  return node.gpus.filter((other) => other.hive.index === gpu.hive.index);
}

/**
 * The two dies of an MI250X share four links; dies of different packages have one where they stand on the same side, else the way
 * leads over a neighbour. All others are connected each with each.
 */
export function neighbour(node: NodeDescription, from: Gpu, to: Gpu): Neighbour | undefined {
  const spec = MODELS[node.model];
  if (from === to || from.hive.index !== to.hive.index) return undefined;
  if (spec.dies === 1) return { hops: 1, links: spec.xgmi.links };
  if (from.package === to.package) return { hops: 1, links: 4 };
  return from.die === to.die ? { hops: 1, links: 1 } : { hops: 2, links: 0 };
}

/** Number of the module on its board: on the eight-module board it runs against the PCI order. */
export function physicalId(node: NodeDescription, gpu: Gpu): number {
  const spec = MODELS[node.model];
  const counted = spec.memoryModes.length > 0 && !spec.apu;
  return counted ? hiveOf(node, gpu).length - 1 - gpu.hive.position : gpu.hive.position;
}

/** MB/s of one link in one direction. */
export function linkBandwidth(node: NodeDescription): number {
  const { speed, width } = MODELS[node.model].xgmi;
  return (speed * width * 1000) / 8;
}
