import { since } from '../driver.ts';
import type { Control } from './control.ts';
import { integers } from './number.ts';

/**
 * `enforce_isolation`: one value for each partition. 0 off, 1 on, 2 on in the old way, 3 on without the cleaner shader; older drivers
 * know the first two. Source: drivers/gpu/drm/amd/amdgpu/amdgpu_gfx.c.
 */
export const enforceIsolation: Control = ({ node, gpu, device }, text) => {
  const values = integers(text);
  const highest = since(node.driver, 'linux-6.16') ? 3 : 1;
  if (values?.length !== gpu.partitions.length) return 'EINVAL';
  if (values.some((value) => value < 0 || value > highest)) return 'EINVAL';
  gpu.settings.isolation = values;
  return [`${device}/enforce_isolation`];
};
