import type { ModelSpec } from '../models.ts';
import { clockLimits } from '../settings.ts';
import { resetLimits, setLimits } from './clock-limits.ts';
import { type Answer, type Control, IGNORED, type Target } from './control.ts';

/** `power_dpm_force_performance_level`. Source: drivers/gpu/drm/amd/pm/{amdgpu_pm,amdgpu_dpm}.c, swsmu/{smu11,smu13}/*_ppt.c. */

/** In the order in which the driver compares them. */
const LEVELS = [
  ...['low', 'high', 'auto', 'manual', 'profile_exit', 'profile_standard', 'profile_min_sclk', 'profile_min_mclk'],
  ...['profile_peak', 'perf_determinism'],
] as const;
export type Level = (typeof LEVELS)[number];

const isProfile = (level: string): boolean => level.startsWith('profile_');

export const performanceLevel: Control = (target, text) => {
  const { gpu, spec, device } = target;
  const { settings } = gpu;
  const wanted = wordAtStart(text);
  if (wanted === undefined || !hasLevel(spec, wanted)) return 'EINVAL';
  if (wanted === 'profile_exit' && !isProfile(settings.level)) return 'EINVAL';
  const before = settings.level;
  const level = wanted === 'profile_exit' ? (settings.levelBefore ?? 'auto') : wanted;
  if (level === before) return IGNORED;
  if (isProfile(level) && !isProfile(before)) settings.levelBefore = before;
  if (!isProfile(level)) delete settings.levelBefore;
  settings.level = level;
  return [`${device}/power_dpm_force_performance_level`, ...enter(target, before, level)];
};

/** The driver looks at the first letters only, so that `auto_x` is `auto`. */
export function wordAtStart(text: string): Level | undefined {
  return LEVELS.find((level) => text.startsWith(level));
}

/** SMU firmware of MI100 from 54.18 to 54.26 cannot force a level. */
const MUTE_FIRMWARE = [0x361200, 0x361aff] as const;

export function hasLevel({ family, firmware }: Pick<ModelSpec, 'family' | 'firmware'>, level: Level): boolean {
  if (level === 'auto' || level === 'manual') return true;
  if (level === 'perf_determinism') return family !== 'mi100';
  if (family === 'mi300' || family === 'mi350') return false;
  const smc = firmware.smc ?? 0;
  return family !== 'mi100' || smc < MUTE_FIRMWARE[0] || smc > MUTE_FIRMWARE[1];
}

/** What changes with the level alone: `manual` and `perf_determinism` wait for what is written next. */
function enter(target: Target, before: string, level: string): Answer {
  const { spec } = target;
  const { gfxMin: lowest, gfxMax: highest } = clockLimits(spec);
  const pin = (mhz: number): Answer => setLimits(target, { gfxMin: mhz, gfxMax: mhz });
  switch (level) {
    case 'auto':
      return resetLimits(target);
    case 'low':
    case 'profile_min_sclk':
      return pin(lowest);
    case 'high':
    case 'profile_peak':
      return pin(highest);
    case 'profile_standard':
      return pin(standardClock(spec));
    default:
      // The ceiling of determinism falls with it.
      return before === 'perf_determinism' ? setLimits(target, { gfxMax: highest }) : [];
  }
}

/** MHz for comparable profiling: the fourth level where there is a list of them, else 60 % of the way up. Both are plausible, not known. */
function standardClock(spec: ModelSpec): number {
  const { gfxMin, gfxMax } = clockLimits(spec);
  return spec.clocks.gfx[3] ?? Math.round(gfxMin + 0.6 * (gfxMax - gfxMin));
}
