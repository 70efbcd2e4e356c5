import type { ModelSpec } from '../models.ts';
import type { Gpu, Settings } from '../node.ts';

/** What clocks the settings and the activity ask for, before caps and heat. All in MHz. */

/** Shader clock in deep sleep, MI300 and later. */
export const SLEEP_MHZ = 132;
const SLEEP_SOC_MHZ = 30;
/** From this busy share on the governor keeps the highest clock; below it, work and rest average to less. */
const AWAKE = 0.15;
/** Where in the range the standard profile holds the clock. */
const STANDARD = 0.6;

export function lowestClock(spec: ModelSpec): number {
  return spec.clocks.gfx[0] as number;
}

export function highestClock(spec: ModelSpec): number {
  return spec.clocks.gfx.at(-1) as number;
}

export function sleeps(spec: ModelSpec): boolean {
  return spec.family === 'mi300' || spec.family === 'mi350';
}

/** Shader clock that one die wants. Levels that pin it win over the range that is set. */
export function wantedClock(spec: ModelSpec, settings: Settings, busy: number): number {
  const lowest = lowestClock(spec);
  const highest = highestClock(spec);
  switch (settings.level) {
    case 'low':
    case 'profile_min_sclk':
      return lowest;
    case 'high':
    case 'profile_peak':
      return highest;
    case 'profile_standard':
      return lowest + STANDARD * (highest - lowest);
  }
  const floor = between(settings.gfxMin, lowest, highest);
  const ceiling = between(settings.gfxMax, floor, highest);
  if (busy === 0) return sleeps(spec) ? SLEEP_MHZ : floor;
  return floor + (ceiling - floor) * Math.min(1, busy / AWAKE);
}

/** MI100 runs on its levels; all others on any clock between the ends. */
export function onLevel(spec: ModelSpec, mhz: number): number {
  const { gfx } = spec.clocks;
  if (gfx.length <= 2) return mhz;
  let level = gfx[0] as number;
  for (const next of gfx) if (next <= mhz + 0.5) level = next;
  return level;
}

/** Memory clock for an activity from 0 to 1. */
export function memoryClock(spec: ModelSpec, { level, memMax }: Settings, activity: number): number {
  const { mem } = spec.clocks;
  const lowest = mem[0] as number;
  if (level === 'profile_min_mclk' && spec.family === 'mi100') return lowest;
  return Math.min(levelFor(mem, activity), Math.max(lowest, memMax));
}

/** Shows the clocks that follow from activity alone. */
export function showSideClocks(spec: ModelSpec, { live: { clock } }: Gpu, activity: number, video: number): void {
  clock.soc = activity === 0 && sleeps(spec) ? SLEEP_SOC_MHZ : levelFor(spec.clocks.soc, activity);
  clock.fabric = levelFor(spec.clocks.fabric, activity);
  clock.vclk = spec.video?.vclk[video > 0 ? 1 : 0] ?? 0;
  clock.dclk = spec.video?.dclk[video > 0 ? 1 : 0] ?? 0;
}

function levelFor(levels: readonly number[], activity: number): number {
  const top = levels.length - 1;
  return levels[Math.min(top, Math.ceil((activity / AWAKE) * top))] as number;
}

function between(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
