import type { NodeDescription } from '../node.ts';
import { directory, type Files, ROOT_ONLY } from './entry.ts';

/** Source: drivers/gpu/drm/amd/amdgpu/{amdgpu_debugfs,amdgpu_fence}.c. */

export const DEBUG = 'sys/kernel/debug/dri';
/** Reading it resets the GPU; it says 0 where that went well. */
export const RECOVER = 'amdgpu_gpu_recover';

export function debugFiles(node: NodeDescription, files: Files): void {
  const dir = directory(files, DEBUG);
  for (const gpu of node.gpus) {
    dir.line(`${gpu.card}/${RECOVER}`, 0, ROOT_ONLY);
    dir.link(gpu.pci, `${DEBUG}/${gpu.card}`);
  }
}
