import { PROFILES } from '../files/clocks.ts';
import type { Control } from './control.ts';
import { integers } from './number.ts';

/** `pp_power_profile_mode`, on MI100. Source: drivers/gpu/drm/amd/pm/amdgpu_pm.c, swsmu/smu11/arcturus_ppt.c. */

/** A number selects a profile. CUSTOM takes its parameters behind it, and only in level manual. */
export const powerProfile: Control = ({ gpu, device }, text) => {
  const [profile, ...parameters] = integers(text) ?? [];
  const name = PROFILES.find(([index]) => index === profile)?.[1];
  if (profile === undefined || name === undefined) return 'EINVAL';
  const custom = name === 'CUSTOM';
  if (custom !== parameters.length > 0) return 'EINVAL';
  if (custom && gpu.settings.level !== 'manual') return 'EINVAL';
  gpu.settings.profile = profile;
  return [`${device}/pp_power_profile_mode`];
};
