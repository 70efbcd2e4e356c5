import type { Family } from '../../model/card.ts';
import type { Settings } from '../../model/claim.ts';
import { changes } from './changes.ts';
import type { Plan, Ranges, Step } from './plan.ts';
import { type ClockRange, hasMemoryLimit, LEVEL, OVERDRIVE } from './shown.ts';

/**
 * Clock limits of MI200, MI300 and MI350: a range in pp_od_clk_voltage, staged and then committed.
 *
 * - Both ends are always staged, for what somebody else staged and never committed would be committed with ours.
 * - The ends must differ by 1 MHz, so a lower end in the way is pushed down first.
 * - `auto` gives every limit back by itself and forgets what is staged. It needs no `r` before it, which could be refused and
 *   stand in the way of giving back.
 * - In `perf_determinism` only an upper graphics limit can be set; it falls with the level.
 */

type Known = Settings & { level: string };

/** They pin the graphics clock by themselves, and end with another level. MI300 and MI350 refuse them. */
const FORCED = new Set(['low', 'high', 'profile_standard', 'profile_min_sclk', 'profile_min_mclk', 'profile_peak']);

const levelStep = (level: string): Step => ({ file: LEVEL, text: level });
const tableStep = (text: string): Step => ({ file: OVERDRIVE, text });

export function planRange(family: Family, from: Known, to: Settings, ranges: Ranges): Plan {
  const memChanges = changes(from, to, 'mem_clock');
  const gfxChanges = changes(from, to, 'gfx_clock', 'gfx_low');
  if (memChanges && !hasMemoryLimit(family)) return { impossible: 'unsupported' };
  const task: Task = { family, from, to, ranges, gfxChanges, memChanges };
  const level = to.level ?? (from.level === 'perf_determinism' && !memChanges ? from.level : 'manual');
  if (level === 'auto' && isOpen(task)) return from.level === 'auto' ? [] : [levelStep('auto')];
  if (level === 'auto' || level === 'manual') return manual(task);
  if (level === 'perf_determinism') return determinism(task);
  if (!FORCED.has(level) || hasMemoryLimit(family)) return { impossible: 'level_unsupported' };
  if (level !== from.level) return [levelStep(level)];
  return gfxChanges ? { impossible: 'level_fixes_clock' } : [];
}

interface Task {
  family: Family;
  from: Known;
  to: Settings;
  ranges: Ranges;
  gfxChanges: boolean;
  memChanges: boolean;
}

/** Whether no limit is left. Where the hardware's range is not known, a value to be given back together with `auto` is its end. */
function isOpen({ from, to, ranges }: Task): boolean {
  const open = (key: 'gfx_clock' | 'mem_clock', range: ClockRange | undefined): boolean => {
    const value = to[key] ?? from[key];
    if (value === undefined) return true;
    return range === undefined ? to[key] !== undefined : value >= range.max;
  };
  return open('gfx_clock', ranges.gfx) && open('mem_clock', ranges.mem);
}

function manual(task: Task): Plan {
  const { from, gfxChanges, memChanges } = task;
  const enter = from.level === 'manual' ? [] : [levelStep('manual')];
  // A level that pins, or a ceiling that falls with its level, leaves limits that are not what stood in the files.
  const staysAsIs = from.level === 'manual' || from.level === 'auto';
  if (staysAsIs && !gfxChanges && !memChanges) return enter;
  const staged = stage(task);
  return 'impossible' in staged ? staged : [...enter, ...staged, tableStep('c')];
}

function determinism(task: Task): Plan {
  const { from, to, ranges, gfxChanges, memChanges } = task;
  const gfx = to.gfx_clock ?? from.gfx_clock;
  const before = memChanges ? manual(task) : [];
  if ('impossible' in before) return before;
  const enters = memChanges || from.level !== 'perf_determinism';
  const steps = enters ? [...before, levelStep('perf_determinism')] : before;
  if (gfx === undefined || (!enters && !gfxChanges)) return steps;
  const outside = misfit(gfx, ranges.gfx);
  return outside ?? [...steps, tableStep(`s 1 ${gfx}`), tableStep('c')];
}

function stage({ family, from, to, ranges, memChanges }: Task): Plan {
  const steps: Step[] = [];
  const gfx = to.gfx_clock ?? from.gfx_clock;
  if (gfx !== undefined) {
    const outside = misfit(gfx, ranges.gfx);
    if (outside !== undefined) return outside;
    const low = to.gfx_low ?? lowFor(from, ranges);
    if (low === undefined) return { impossible: 'range_unknown' };
    steps.push(tableStep(`s 0 ${Math.min(low, gfx - 1)}`), tableStep(`s 1 ${gfx}`));
  }
  const mem = to.mem_clock ?? from.mem_clock;
  if (mem === undefined || !hasMemoryLimit(family)) return steps;
  const outside = misfit(mem, ranges.mem);
  if (outside === undefined) return [...steps, tableStep(`m 1 ${mem}`)];
  // Not ours to put right: another's limit stays as it is.
  return memChanges ? outside : steps;
}

/** The lower end to keep: what somebody set by hand. The pin of a level, and determinism, have none of their own. */
function lowFor({ level, gfx_low: own }: Known, { gfx }: Ranges): number | undefined {
  return (level === 'manual' ? own : undefined) ?? gfx?.min;
}

function misfit(mhz: number, range: ClockRange | undefined): { impossible: 'under_floor' | 'over_range' } | undefined {
  if (range === undefined) return undefined;
  if (mhz > range.max) return { impossible: 'over_range' };
  return mhz <= (range.min ?? 0) ? { impossible: 'under_floor' } : undefined;
}
