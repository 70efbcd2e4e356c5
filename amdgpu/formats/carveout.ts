import { decimal, parseUint } from './scalar.ts';
import { lines } from './text.ts';

/**
 * `uma/*` (APUs): how much system memory the firmware sets aside for graphics.
 * Source: `drivers/gpu/drm/amd/amdgpu/amdgpu_device.c`, `amdgpu_acpi.c`.
 */

export interface CarveoutOption {
  index: number;
  /** Firmware's name for it; empty for most. */
  name: string;
  bytes: number;
}

const SIZE = /^\((\d{1,7}) (MB|GB)\)$/;

/** `uma/carveout`: index of the option in force at this boot. */
export function parseCarveout(text: string): number | undefined {
  return parseUint(text);
}

/** `uma/carveout_options`: `0: Minimum (512 MB)`, `1:  (1 GB)`. The driver's MB and GB are binary. */
export function parseCarveoutOptions(text: string): CarveoutOption[] | undefined {
  const options: CarveoutOption[] = [];
  for (const line of lines(text)) {
    const colon = line.indexOf(':');
    const bracket = line.lastIndexOf('(');
    const index = decimal(line.slice(0, Math.max(colon, 0)));
    const size = bracket > colon ? SIZE.exec(line.slice(bracket)) : null;
    if (index === undefined || !size) continue;
    const unit = size[2] === 'GB' ? 2 ** 30 : 2 ** 20;
    options.push({ index, name: line.slice(colon + 1, bracket).trim(), bytes: Number(size[1]) * unit });
  }
  return options.length > 0 ? options : undefined;
}
