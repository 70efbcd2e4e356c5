import { since } from '../driver.ts';
import { MODELS } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import { partitionCount, validModes } from '../partitions.ts';
import { type Directory, ROOT_ONLY, WRITABLE } from './entry.ts';

/** Partitioning, isolation and resets. Source: drivers/gpu/drm/amd/amdgpu/{amdgpu_gfx,amdgpu_gmc,amdgpu_xcp}.c. */

export function partitionFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  const spec = MODELS[node.model];
  const since613 = since(node.driver, 'linux-6.13');
  if (since613) resetMasks(dir);
  if (!gpu.compute || !gpu.memory) return;
  const list = (modes: readonly string[]): string => modes.map((mode) => mode.toUpperCase()).join(', ');
  const modes = validModes(spec, gpu.memory);
  dir.line('current_compute_partition', gpu.compute.toUpperCase(), WRITABLE);
  dir.line('available_compute_partition', list(modes));
  dir.line('current_memory_partition', gpu.memory.toUpperCase(), since613 ? WRITABLE : undefined);
  dir.line('enforce_isolation', gpu.settings.isolation.join(' '), WRITABLE);
  if (!since613) return;
  dir.line('available_memory_partition', list(spec.memoryModes));
  const config = dir.within('compute_partition_config');
  const view = gpu.settings.configView ?? gpu.compute;
  config.line('supported_xcp_configs', list(modes));
  config.line('supported_nps_configs', list(spec.memoryModes));
  config.line('xcp_config', view.toUpperCase(), WRITABLE);
  const parts = partitionCount(spec, view);
  const resources = { xcc: spec.xccs, dma: spec.sdma.engines, dec: spec.vcns, jpeg: spec.jpegs };
  for (const [name, total] of Object.entries(resources)) {
    config.line(`${name}/num_inst`, Math.max(1, Math.floor(total / parts)), ROOT_ONLY);
    config.line(`${name}/num_shared`, Math.max(1, Math.ceil(parts / total)), ROOT_ONLY);
  }
}

/** What the driver can reset without the whole chip. */
function resetMasks(dir: Directory): void {
  dir.line('gfx_reset_mask', 'soft full ');
  dir.line('compute_reset_mask', 'soft queue pipe full ');
  dir.line('sdma_reset_mask', 'soft queue full ');
  dir.line('vcn_reset_mask', 'soft full ');
  dir.line('jpeg_reset_mask', 'soft full ');
}
