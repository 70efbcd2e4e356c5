import { parseUint } from './scalar.ts';
import { firstLine } from './text.ts';

/** `board/*` (MI350, Linux 6.18 and later). Source: `drivers/gpu/drm/amd/pm/amdgpu_pm.c`. */

/** `node_power`, `cur_node_power_limit`, `max_node_power_limit`, `baseboard_power`, `baseboard_power_limit`: whole watts. */
export function parseWatts(text: string): number | undefined {
  return parseUint(text);
}

/** `npm_status`: is node power management on? The driver derives it from node_power being other than zero. */
export function parseNpmStatus(text: string): boolean | undefined {
  const word = firstLine(text);
  if (word === 'enabled') return true;
  return word === 'disabled' ? false : undefined;
}
