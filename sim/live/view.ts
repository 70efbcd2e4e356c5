import type { NodeDescription } from '../tree.ts';

/** The node as it is seen while some GPUs are unplugged: KFD counts those that are left, and keeps their ids. */
export function present(node: NodeDescription, gone: ReadonlySet<number>): NodeDescription {
  if (gone.size === 0) return node;
  const gpus = node.gpus.filter(({ index }) => !gone.has(index)).map((gpu) => ({ ...gpu }));
  let kfdNode = node.sockets.length;
  for (const gpu of [...gpus].sort((a, b) => a.card - b.card))
    gpu.partitions = gpu.partitions.map((partition) => ({ ...partition, kfdNode: kfdNode++ }));
  const processes = node.processes.map((process) => ({
    ...process,
    gpus: process.gpus.filter((use) => !gone.has(use.gpu)),
  }));
  return { ...node, gpus, processes };
}
