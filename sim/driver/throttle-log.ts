import type { Control } from './control.ts';
import { integer } from './number.ts';

const LONGEST_SECONDS = 3600;

/** `thermal_throttling_logging`: seconds between two messages; 0 and below switch them off. Source: drivers/gpu/drm/amd/pm/amdgpu_pm.c. */
export const throttleLogging: Control = ({ gpu, device }, text) => {
  const seconds = integer(text);
  if (seconds === undefined || seconds > LONGEST_SECONDS) return 'EINVAL';
  const before = gpu.settings.throttleLog?.seconds ?? 60;
  gpu.settings.throttleLog = seconds > 0 ? { on: true, seconds } : { on: false, seconds: before };
  return [`${device}/thermal_throttling_logging`];
};
