import type { Settings } from '../../model/claim.ts';

/** Whether a plan is to bring any of these settings to another value than there is. */
export function changes(from: Settings, to: Settings, ...keys: readonly (keyof Settings)[]): boolean {
  return keys.some((key) => to[key] !== undefined && to[key] !== from[key]);
}
