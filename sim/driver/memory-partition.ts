import { type Control, IGNORED } from './control.ts';
import { line } from './number.ts';

/**
 * `current_memory_partition`: noted for the whole hive until the driver is loaded again; till then the file shows what is.
 * Source: drivers/gpu/drm/amd/amdgpu/amdgpu_gmc.c.
 */
export const memoryPartition: Control = ({ node, gpu, spec }, text) => {
  const mode = spec.memoryModes.find((valid) => valid === line(text).toLowerCase());
  if (mode === undefined) return 'EINVAL';
  if (mode === gpu.memory) return IGNORED;
  for (const { hive, settings } of node.gpus) if (hive.index === gpu.hive.index) settings.memoryAtReload = mode;
  return IGNORED;
};
