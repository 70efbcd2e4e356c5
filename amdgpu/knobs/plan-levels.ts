import type { Settings } from '../../model/claim.ts';
import { changes } from './changes.ts';
import type { Plan, Ranges, Step } from './plan.ts';
import { LEVEL, LEVELS } from './shown.ts';

/**
 * The clock limit of MI100: a mask of its levels in pp_dpm_sclk, taken in `manual` only. A wish is rounded down to a level. The
 * mask is written from level 0 on and never empty: an empty one pins the clock to level 0.
 */

const FORCED = new Set(['low', 'high', 'profile_standard', 'profile_min_sclk', 'profile_min_mclk', 'profile_peak']);

export function planLevels(from: Settings & { level: string }, to: Settings, ranges: Ranges): Plan {
  if (changes(from, to, 'mem_clock')) return { impossible: 'unsupported' };
  const { levels = [] } = ranges;
  const gfx = to.gfx_clock ?? from.gfx_clock;
  const gfxChanges = changes(from, to, 'gfx_clock');
  const level = to.level ?? 'manual';
  const step = (word: string): Step[] => (word === from.level ? [] : [{ file: LEVEL, text: word }]);
  if (FORCED.has(level)) return level === from.level && gfxChanges ? { impossible: 'level_fixes_clock' } : step(level);
  if (level !== 'auto' && level !== 'manual') return { impossible: 'level_unsupported' };
  // Of a limit that cannot be read (a mask that was found) nothing remains to be kept.
  if (level === 'auto' && (gfx === undefined || levels.length === 0 || gfx >= (levels.at(-1) as number)))
    return step('auto');
  const isPinned = from.level !== 'manual' && from.level !== 'auto';
  if (gfx === undefined || !(gfxChanges || isPinned)) return step('manual');
  const highest = highestLevel(levels, gfx);
  if (highest === undefined) return { impossible: levels.length === 0 ? 'range_unknown' : 'under_floor' };
  return [...step('manual'), { file: LEVELS, text: maskUpTo(highest) }];
}

/** Number of the highest level that is not above `mhz`; undefined where all are. */
export function highestLevel(levels: readonly number[], mhz: number): number | undefined {
  const found = levels.findLastIndex((level) => level <= mhz);
  return found < 0 ? undefined : found;
}

const maskUpTo = (highest: number): string => Array.from({ length: highest + 1 }, (_, i) => i).join(' ');
