import type { Family } from '../../model/card.ts';
import type { Settings } from '../../model/claim.ts';
import { changes } from './changes.ts';
import { planLevels } from './plan-levels.ts';
import { planRange } from './plan-range.ts';
import { CAP, type ClockRange, hasRange } from './shown.ts';

/** One write; the file is named as below the device directory, `hwmon/power1_cap` whatever the number of hwmon. */
export interface Step {
  file: string;
  text: string;
}

/** Ordered writes; or, as a stable word, why there is no way. */
export type Plan = readonly Step[] | { impossible: Impossible };

/**
 * | word | meaning |
 * |---|---|
 * | under_floor, over_range | outside our envelope, or the hardware's range |
 * | not_whole | a cap is written in whole watts |
 * | range_unknown, level_unknown | what must be known to do it safely could not be read |
 * | unsupported | this chip has no such control |
 * | level_unsupported | this chip refuses that performance level |
 * | level_fixes_clock | that performance level pins the clock, so that it cannot be limited beside it |
 */
export type Impossible =
  | 'under_floor'
  | 'over_range'
  | 'not_whole'
  | 'range_unknown'
  | 'level_unknown'
  | 'unsupported'
  | 'level_unsupported'
  | 'level_fixes_clock';

/** What a plan must know beside the settings. Clocks in MHz, power in W. */
export interface Ranges {
  cap?: { floor: number; max: number };
  gfx?: ClockRange;
  mem?: ClockRange;
  /** MI100: the clock of every level, by its number. */
  levels?: readonly number[];
}

/**
 * Plans the writes that bring a card from one set of settings to another. Only the keys of `to` change; `level` in `to` is the
 * level to end in (that which was found, when a limit is given back). `auto` takes all clock limits away, so while one remains the
 * card stays in `manual` instead. Setting the cap alone touches no level and no clock.
 *
 * Where clocks are tightened they come before the cap, so that the draw has fallen when a lower cap arrives (a cap far under the
 * present draw was seen to overshoot); where they are loosened the cap comes first, so that a lower cap already holds, and a higher
 * one leaves room, when the clocks rise.
 *
 * Source: torvalds/linux drivers/gpu/drm/amd/pm/amdgpu_pm.c, swsmu/smu11/arcturus_ppt.c, swsmu/smu13/{aldebaran,smu_v13_0_6}_ppt.c.
 */
export function planWrites(family: Family, from: Settings, to: Settings, ranges: Ranges): Plan {
  const cap = planCap(from, to, ranges);
  const clocks = planClocks(family, from, to, ranges);
  if ('impossible' in cap) return cap;
  if ('impossible' in clocks) return clocks;
  return tightens(from, to) ? [...clocks, ...cap] : [...cap, ...clocks];
}

/** Whole watts as µW. */
function planCap(from: Settings, { power_cap: cap }: Settings, ranges: Ranges): Plan {
  if (cap === undefined || cap === from.power_cap) return [];
  if (!Number.isInteger(cap)) return { impossible: 'not_whole' };
  if (ranges.cap === undefined) return { impossible: 'range_unknown' };
  if (cap < ranges.cap.floor) return { impossible: 'under_floor' };
  if (cap > ranges.cap.max) return { impossible: 'over_range' };
  return [{ file: CAP, text: `${cap}000000` }];
}

function planClocks(family: Family, from: Settings, to: Settings, ranges: Ranges): Plan {
  if (!changes(from, to, 'gfx_clock', 'gfx_low', 'mem_clock', 'level')) return [];
  if (from.level === undefined) return { impossible: 'level_unknown' };
  const known = { ...from, level: from.level };
  if (hasRange(family)) return planRange(family, known, to, ranges);
  return family === 'mi100' ? planLevels(known, to, ranges) : { impossible: 'unsupported' };
}

function tightens(from: Settings, to: Settings): boolean {
  const lower = (key: 'gfx_clock' | 'mem_clock'): boolean => (to[key] ?? Number.POSITIVE_INFINITY) < (from[key] ?? 0);
  return lower('gfx_clock') || lower('mem_clock');
}
