import type { Knob, Settings } from '../../model/claim.ts';
import { intent, isGivingBack, wait } from './build.ts';
import { isVouchedByLevel, levelToLeave, lowToLeave } from './levels.ts';
import type { KnobStep } from './steps.ts';
import { isClock, isMarked, isOurs, isSame, pausedUntil } from './values.ts';
import { readOf, type View } from './view.ts';

/** Nobody wants it limited any more: given back where it is still ours, left alone where it is not. */
export function planFree(view: View, row: Knob): KnobStep {
  const { on, knob } = row;
  const current = readOf(view.settings, knob);
  if (!isMarked(row)) {
    const told = current === undefined ? {} : { current };
    return { do: 'leave', on, knob, ...told, restored: 'given_back', detail: 'nothing was written' };
  }
  if (current === undefined && !isVouchedByLevel(row, view)) return unread(view, row);
  const level = levelToLeave(row, view);
  // Another level ends all limits by itself.
  const isLeaving = level !== undefined && level !== view.settings.level;
  const low = isLeaving ? undefined : lowToLeave(row, view.settings);
  const asFound = isSame(knob, current, row.found);
  if (current !== undefined && asFound && !isLeaving && low === undefined) {
    return { do: 'leave', on, knob, current, restored: 'given_back', detail: `as found, ${current}` };
  }
  if (current !== undefined && !asFound && !isOurs(row, current)) {
    return { do: 'leave', on, knob, current, restored: 'overridden', detail: `somebody else set it to ${current}` };
  }
  // Failures on the way down do not hold up the way back.
  const given = isGivingBack(row) ? row : { ...row, attempts: 0, notBefore: view.now };
  const until = pausedUntil(given, view.now);
  const from = current ?? row.wrote ?? row.writing ?? row.found;
  if (given.attempts > 0 && until > view.now) return wait(given, until, from, row.found);
  const to: Settings = {
    [knob]: row.found,
    ...(level === undefined ? {} : { level }),
    ...(low === undefined ? {} : { gfx_low: low }),
  };
  return {
    do: 'restore',
    on,
    knob,
    from,
    target: row.found,
    to,
    row: intent(view, given, from, row.found),
  };
}

/** Somebody's level that shows no limit (MI100) is somebody's; anything else may show it at the next look. */
function unread({ settings }: View, { on, knob, found, foundLevel }: Knob): KnobStep {
  const { level } = settings;
  if (isClock(knob) && level !== undefined && foundLevel !== undefined && level !== 'manual') {
    return { do: 'leave', on, knob, restored: 'overridden', detail: `somebody else set the level to ${level}` };
  }
  return { do: 'wait', on, knob, target: found, detail: 'its value could not be read' };
}
