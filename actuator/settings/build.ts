import type { Knob, KnobName } from '../../model/claim.ts';
import type { Instant } from '../../model/instant.ts';
import { lowToLeave } from './levels.ts';
import type { KnobStep, WriteReason, WriteStep } from './steps.ts';
import { isClock, isMarked, isOurs, isSame, paceMs, pausedUntil } from './values.ts';
import type { View } from './view.ts';

/** What steps are made of: the intent that is committed before a write, and the pause that stands before it. */

export function write(view: View, row: Knob, from: number, target: number, why: WriteReason, pace: number): WriteStep {
  const { on, knob } = row;
  const raised = why === 'foreign';
  const low = lowToLeave(row, view.settings);
  const base = raised
    ? { ...row, found: from, ...(isClock(knob) ? levelNow(view) : {}), ...lowFound(knob, view, low) }
    : row;
  const step: WriteStep = {
    do: 'write',
    on,
    knob,
    why,
    from,
    target,
    to: { [knob]: target, ...(low === undefined ? {} : { gfx_low: low }) },
    row: intent(view, base, from, target),
    paceMs: pace,
  };
  return raised ? { ...step, foundBefore: row.found } : step;
}

/** As write, once the pause of this row is over. */
export function paused(view: View, row: Knob, current: number, target: number, why: WriteReason): KnobStep {
  const until = pausedUntil(row, view.now);
  if (until > view.now) return wait(row, until, current, target);
  return write(view, row, current, target, why, why === 'retry' ? 0 : paceMs(row, view.now));
}

export function wait(row: Knob, until: Instant, current: number, target: number): KnobStep {
  const { on, knob } = row;
  const changed: { row?: Knob } = row.state === 'unsettled' ? {} : { row: { ...row, state: 'unsettled' } };
  const detail = row.detail ?? `reads ${current}`;
  return { do: 'wait', on, knob, until, current, target, ...changed, failing: row.attempts > 0, detail };
}

/** The row as it is committed before the write. What the card has now stays ours only where it was. */
export function intent(view: View, row: Knob, current: number, writing: number): Knob {
  const { wrote: _, detail: __, ...rest } = row;
  const ours = isMarked(row) && isOurs(row, current) ? { wrote: current } : {};
  return { ...rest, ...ours, writing, state: 'unsettled', at: view.now };
}

/** The level as it is now, as a row remembers it. */
export const levelNow = ({ settings }: View): { foundLevel?: string } =>
  settings.level === undefined ? {} : { foundLevel: settings.level };

/** The lower graphics limit as a row remembers it, with the one that a limit of ours pushed down. */
export function lowFound(knob: KnobName, { settings }: View, pushed?: number): { foundLow?: number } {
  const low = pushed ?? settings.gfx_low;
  return knob === 'gfx_clock' && low !== undefined ? { foundLow: low } : {};
}

/** The last write was the way back. */
export const isGivingBack = (row: Knob): boolean => isSame(row.knob, row.writing, row.found);
