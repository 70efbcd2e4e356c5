import { decimal } from './scalar.ts';
import { firstLine, words } from './text.ts';

/**
 * `enforce_isolation`: one number a partition, space separated. 0 off, 1 on, 2 on in the legacy way, 3 on without the cleaner
 * shader. Absent as soon as one part is no number: half a list would shift the partitions.
 * Source: `drivers/gpu/drm/amd/amdgpu/amdgpu_gfx.c`.
 */
export function parseIsolation(text: string): number[] | undefined {
  const modes: number[] = [];
  for (const token of words(firstLine(text))) {
    const mode = decimal(token);
    if (mode === undefined) return undefined;
    modes.push(mode);
  }
  return modes.length > 0 ? modes : undefined;
}
