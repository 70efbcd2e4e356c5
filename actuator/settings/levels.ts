import type { Knob, KnobFacts, KnobName, Settings } from '../../model/claim.ts';
import { isClock, isMarked, isSame } from './values.ts';

/**
 * The performance level is one for all clocks of a card, and a clock limit needs `manual`. It is given back with the last
 * clock; `auto` given back earlier would reset the other limits (MI300, MI350: ranges and memory maximum).
 */
export interface ClockView {
  rows: ReadonlyMap<KnobName, Knob>;
  settings: Settings;
  facts: ReadonlyMap<KnobName, KnobFacts>;
  isClaimed(knob: KnobName): boolean;
}

const LIMITING = 'manual';
type ClockName = 'gfx_clock' | 'mem_clock';

/**
 * The level that a clock's first row remembers: what was there before our first write to any clock of this card. A limit that
 * somebody set meanwhile, in the level that we had made, would be lost with it: there that level is what was found.
 */
export function levelFound(knob: KnobName, view: ClockView): string | undefined {
  if (isLimited(knob, view)) return view.settings.level;
  for (const row of view.rows.values()) {
    if (row.knob !== knob && isClock(row.knob) && isMarked(row) && row.foundLevel !== undefined) return row.foundLevel;
  }
  return view.settings.level;
}

/**
 * Whether the level alone says that the limit is still ours, where the limit itself does not show: MI100 tells in no file which of
 * its levels are masked off. Only our first write made it `manual`.
 */
export function isVouchedByLevel(row: Knob, { settings }: ClockView): boolean {
  if (!isClock(row.knob) || !isMarked(row)) return false;
  return settings.level === LIMITING && row.foundLevel !== undefined && row.foundLevel !== LIMITING;
}

/** The level that giving back this clock is to leave behind; undefined: as other limits need it. */
export function levelToLeave(row: Knob, view: ClockView): string | undefined {
  const { level } = view.settings;
  if (!isClock(row.knob) || row.foundLevel === undefined || level === undefined) return undefined;
  // Somebody chose another level meanwhile; it is theirs, also where writing our value has to leave it for a moment.
  if (level !== LIMITING) return level;
  for (const other of ['gfx_clock', 'mem_clock'] as const) {
    if (other !== row.knob && needsLevel(other, view)) return undefined;
  }
  return row.foundLevel;
}

/**
 * The lower graphics limit that writing this knob is to leave: the one found, where the card shows it pushed down by a limit of
 * ours. Whoever pushed it may have ended since; the row remembers. Undefined: as the card tells it, for it is somebody's.
 */
export function lowToLeave({ knob, foundLow, wrote, writing }: Knob, settings: Settings): number | undefined {
  const { level, gfx_low: shown } = settings;
  if (knob !== 'gfx_clock' || level !== LIMITING || foundLow === undefined || shown === foundLow) return undefined;
  const isPushed = [wrote, writing].some((mhz) => mhz !== undefined && shown === Math.min(foundLow, mhz - 1));
  return isPushed ? foundLow : undefined;
}

/** Another clock has a limit, ours or somebody else's, that would go with the level. */
function needsLevel(knob: ClockName, view: ClockView): boolean {
  const row = view.rows.get(knob);
  const value = view.settings[knob];
  const isHeld = row !== undefined && isMarked(row) && (view.isClaimed(knob) || !isSame(knob, value, row.found));
  return isHeld || isLimited(knob, view);
}

/** The clock has another limit than the driver gives it. */
function isLimited(knob: KnobName, { settings, facts }: ClockView): boolean {
  const value = settings[knob as ClockName];
  const usual = facts.get(knob)?.default ?? facts.get(knob)?.max;
  return value !== undefined && usual !== undefined && !isSame(knob, value, usual);
}
