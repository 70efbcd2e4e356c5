import type { ComputeMode } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import { layOutPartitions, validModes } from '../partitions.ts';
import { type Control, IGNORED } from './control.ts';
import { line } from './number.ts';

/** Compute partitions, and the view of them. Source: drivers/gpu/drm/amd/amdgpu/{amdgpu_gfx,amdgpu_xcp,aqua_vanjaram}.c. */

/** `current_compute_partition`. Also the present mode is taken up anew, as any other. */
export const computePartition: Control = ({ node, gpu, spec }, text) => {
  const mode = validModes(spec, gpu.memory ?? 'nps1').find((valid) => valid === line(text).toLowerCase());
  if (mode === undefined) return 'EINVAL';
  if (holdsKfd(node)) return 'EBUSY';
  switchMode(node, gpu, mode);
  return IGNORED;
};

/** A process with /dev/kfd open stops every switch: each may reach every GPU here. */
export const holdsKfd = (node: NodeDescription): boolean => node.processes.some((process) => process.kfd);

/** KFD takes the agents of the GPU out and puts new ones in: numbers and ids change, also those of agents behind it. */
function switchMode(node: NodeDescription, gpu: Gpu, mode: ComputeMode): void {
  const kept = node.gpus
    .filter((other) => other !== gpu)
    .map(({ settings }) => ({ settings, isolation: settings.isolation, view: settings.configView }));
  const removed = gpu.partitions.length;
  gpu.compute = mode;
  relist(node, removed);
  for (const { settings, isolation, view } of kept) {
    settings.isolation = isolation;
    if (view) settings.configView = view;
  }
}

/** Lays out all partitions under a new topology generation, which counts each agent that goes or comes. */
export function relist(node: NodeDescription, removed: number): void {
  const total = (): number => node.gpus.reduce((sum, gpu) => sum + gpu.partitions.length, 0);
  const staying = total() - removed;
  node.generation += removed;
  layOutPartitions(node);
  node.generation += total() - staying;
  moveClients(node);
}

/** A graphics client keeps its file when its partition goes: what it holds is the GPU's. */
function moveClients(node: NodeDescription): void {
  for (const use of node.processes.flatMap((process) => process.gpus))
    if (!node.gpus[use.gpu]?.partitions[use.partition]) use.partition = 0;
}

const VIEW_FILES = [
  'xcp_config',
  ...['xcc', 'dma', 'dec', 'jpeg'].flatMap((name) => [`${name}/num_inst`, `${name}/num_shared`]),
];

/** `compute_partition_config/xcp_config`: which mode the directory describes; the hardware stays as it is. */
export const partitionView: Control = ({ gpu, spec, device }, text) => {
  const mode = validModes(spec, gpu.memory ?? 'nps1').find((valid) => valid === line(text).toLowerCase());
  if (mode === undefined) return 'EINVAL';
  gpu.settings.configView = mode;
  return VIEW_FILES.map((name) => `${device}/compute_partition_config/${name}`);
};
