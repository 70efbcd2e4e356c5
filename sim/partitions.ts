import { type ComputeMode, type MemoryMode, MODELS, type ModelSpec } from './models.ts';
import type { Gpu, NodeDescription } from './node.ts';
import { random } from './random.ts';

/** Which dies and engines make up which partition, and which KFD node stands for it. */

export function partitionCount(spec: ModelSpec, mode: ComputeMode): number {
  return { spx: 1, dpx: 2, tpx: 3, qpx: 4, cpx: spec.xccs }[mode];
}

/** 1 where the chip cannot be partitioned. */
export function partitionsOf(spec: ModelSpec, mode: ComputeMode | undefined): number {
  return mode ? partitionCount(spec, mode) : 1;
}

/** Compute dies of one partition. */
export function partitionXccs(spec: ModelSpec, mode: ComputeMode | undefined, number: number): number[] {
  return share(spec.xccs, partitionsOf(spec, mode), number);
}

/** Modes that divide the dies evenly and give each memory range at least one partition. */
export function validModes(spec: ModelSpec, memory: MemoryMode): ComputeMode[] {
  const modes: ComputeMode[] = spec.xccs % 3 === 0 ? ['spx', 'tpx', 'cpx'] : ['spx', 'dpx', 'qpx', 'cpx'];
  return modes.filter((mode) => partitionCount(spec, mode) % memoryRanges(memory) === 0);
}

export function memoryRanges(memory: MemoryMode): number {
  return Number(memory.slice(3));
}

/** Bytes of device memory that KFD shows for one partition: each its share, also where all draw on one pool. */
export function partitionMemory(spec: ModelSpec, gpu: Gpu): number {
  return Math.floor(spec.vram / gpu.partitions.length / 4096) * 4096;
}

/**
 * Lays out the partitions of all GPUs after their `compute` and `memory` modes. KFD numbers the CPU sockets first, then the GPUs
 * in the order in which they were found, each with its partitions. Ids change with the generation, as they do after a switch.
 */
export function layOutPartitions(node: NodeDescription): void {
  const spec = MODELS[node.model];
  const ids = new Set<number>();
  const draw = random(node.seed, 'kfd-gpu-id', node.generation);
  const freshId = (): number => {
    let id: number;
    do id = draw.int(1024, 65535);
    while (ids.has(id));
    ids.add(id);
    return id;
  };
  let kfdNode = node.sockets.length;
  for (const gpu of [...node.gpus].sort((a, b) => a.card - b.card)) {
    const count = partitionsOf(spec, gpu.compute);
    gpu.partitions = Array.from({ length: count }, (_, number) => {
      const render = number === 0 ? gpu.render : gpu.reserved.find((slot) => slot.partition === number)?.render;
      return {
        number,
        xccs: partitionXccs(spec, gpu.compute, number),
        vcns: share(spec.vcns, count, number),
        kfdNode: kfdNode++,
        kfdGpuId: freshId(),
        ...(render !== undefined && { render }),
      };
    });
    gpu.settings.isolation = gpu.partitions.map(() => 0);
    if (gpu.compute) gpu.settings.configView = gpu.compute;
  }
}

/** The `index`-th of `parts` shares of `total` engines; neighbours share one where there are fewer engines than parts. */
function share(total: number, parts: number, index: number): number[] {
  if (parts > total) return [Math.floor((index * total) / parts)];
  const size = total / parts;
  const first = Math.floor(index * size);
  return Array.from({ length: Math.floor((index + 1) * size) - first }, (_, k) => first + k);
}
