import type { Gpu } from '../node.ts';
import { type Directory, WRITABLE } from './entry.ts';

/** Source: drivers/gpu/drm/amd/pm/amdgpu_pm.c. The messages themselves go to the kernel log alone. */
export function throttleLogFile(gpu: Gpu, dir: Directory): void {
  const { on, seconds } = gpu.settings.throttleLog ?? { on: true, seconds: 60 };
  const state = on ? 'enabled' : 'disabled';
  const text = `${gpu.pci}: thermal throttling logging ${state}, with interval ${seconds} seconds`;
  dir.line('thermal_throttling_logging', text, WRITABLE);
}
