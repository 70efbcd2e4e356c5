import { DRIVER_VRAM } from '../describe-gpu.ts';
import type { ModelSpec } from '../models.ts';
import type { Gpu, NodeDescription, SimPartition } from '../node.ts';

/** What jobs ask of one GPU, all dies and partitions together. A GPU without a load is idle and empty. */
export interface Load {
  /** Share of time in which shaders are busy, 0 to 1, over all compute dies. */
  gfx: number;
  /** Memory traffic that the jobs cause at the highest shader clock, as a share of the bandwidth, 0 to 1. */
  mem: number;
  /** Share of time of each video engine, 0 to 1. */
  video?: number;
  /** Bytes a second that the GPU sends to the others of its hive, spread evenly over its links. */
  fabric?: number;
  /** Bytes a second over PCIe, both directions together. */
  pcie?: number;
  /** Bytes of device memory that the jobs hold; the driver's own come on top. */
  vram: number;
  /** Bytes of host memory mapped for the GPU, likewise. */
  gtt?: number;
  /** Busy share of single partitions by number, in place of `gfx`; those not named are idle. */
  partitions?: ReadonlyMap<number, number>;
}

export const IDLE: Load = { gfx: 0, mem: 0, vram: 0 };

/** Bytes of host memory that the driver maps for an idle GPU: rings, firmware, page tables. */
const DRIVER_GTT = 11 * 2 ** 20;
const PAGE = 4096;

export function unit(share: number | undefined): number {
  return share !== undefined && share > 0 ? Math.min(1, share) : 0;
}

/** A quantity that a load asks for; what is no quantity counts as none. */
export function amount(value: number | undefined): number {
  return value !== undefined && value > 0 && Number.isFinite(value) ? value : 0;
}

/**
 * Busy share that is asked of each compute die. A load without partitions goes to the partitions in which processes hold memory, up to
 * what these can do; the rest, or all where there are no such processes, goes to all others alike.
 */
export function dieDemand(node: NodeDescription, spec: ModelSpec, gpu: Gpu, load: Load): number[] {
  if (load.partitions) {
    const demand = new Array<number>(spec.xccs).fill(0);
    for (const partition of gpu.partitions)
      for (const xcc of partition.xccs) demand[xcc] = unit(load.partitions.get(partition.number));
    return demand;
  }
  const gfx = unit(load.gfx);
  if (gpu.partitions.length < 2) return new Array<number>(spec.xccs).fill(gfx);
  const held = diesOf(gpu.partitions.filter((partition) => holdsMemory(node, gpu, partition)));
  const total = gfx * spec.xccs;
  const first = held.size > 0 ? Math.min(1, total / held.size) : 0;
  const others = spec.xccs - held.size;
  const rest = others > 0 ? Math.max(0, total - first * held.size) / others : 0;
  return Array.from({ length: spec.xccs }, (_, xcc) => (held.has(xcc) ? first : rest));
}

function diesOf(partitions: readonly SimPartition[]): Set<number> {
  return new Set(partitions.flatMap(({ xccs }) => xccs));
}

function holdsMemory(node: NodeDescription, gpu: Gpu, { number }: SimPartition): boolean {
  return node.processes.some(({ gpus }) =>
    gpus.some((use) => use.gpu === gpu.index && use.partition === number && use.vram > 0),
  );
}

/** Shows the memory that the load holds, in whole pages and never more than there is. */
export function showMemory(spec: ModelSpec, { live }: Gpu, load: Load): void {
  live.vramUsed = Math.min(spec.vram, pages(DRIVER_VRAM + amount(load.vram)));
  live.gttUsed = pages(DRIVER_GTT + amount(load.gtt));
}

const pages = (bytes: number): number => Math.ceil(bytes / PAGE) * PAGE;
