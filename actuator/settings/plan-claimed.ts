import { clampWish } from '../../amdgpu/knobs/envelope.ts';
import { isPassing } from '../../amdgpu/knobs/probe.ts';
import type { Knob, KnobName } from '../../model/claim.ts';
import { isGivingBack, lowFound, paused, write } from './build.ts';
import { isVouchedByLevel, levelFound } from './levels.ts';
import type { KnobStep } from './steps.ts';
import { isClock, isMarked, isOurs, isSame, isWithin } from './values.ts';
import { readOf, type View } from './view.ts';

/** What to do about a knob that is claimed. */
export function planClaimed(view: View, knob: KnobName, row: Knob | undefined): KnobStep {
  const { on, settings, claims } = view;
  const fact = view.facts.get(knob);
  if (fact === undefined) return { do: 'unsupported', on, knob, detail: 'not known on this card' };
  if (fact.on !== on) return { do: 'unsupported', on, knob, detail: `belongs to ${fact.on}` };
  if (!fact.adjustable) {
    const detail = fact.why ?? 'not adjustable';
    return isPassing(detail) ? { do: 'wait', on, knob, detail } : { do: 'unsupported', on, knob, detail };
  }
  if (row?.state === 'unsupported') return { do: 'unsupported', on, knob, detail: row.detail ?? 'refused for good' };
  const atMost = Math.min(...claims.filter((claim) => claim.knob === knob).map((claim) => claim.atMost));
  // Without a floor nothing may be set: the driver's own minimum can be 0.
  if (fact.floor === undefined || fact.max === undefined || Number.isNaN(atMost)) {
    return { do: 'wait', on, knob, detail: 'its range is not known' };
  }
  const wish = clampWish(fact, atMost).value;
  const current = readOf(settings, knob);
  if (row !== undefined && current === undefined && isVouchedByLevel(row, view)) {
    return paused(view, row, row.wrote ?? row.found, Math.max(fact.floor, Math.min(wish, row.found)), 'unseen');
  }
  // What was there could not be given back if it were not known before.
  if (current === undefined) return { do: 'wait', on, knob, target: wish, detail: 'its value could not be read' };
  if (isClock(knob) && settings.level === undefined) {
    return { do: 'wait', on, knob, target: wish, current, detail: 'the performance level could not be read' };
  }
  if (row === undefined || !isMarked(row)) return planFirst(view, knob, row, current, wish);
  return planAgain(view, row, current, wish, Math.max(fact.floor, Math.min(wish, row.found)));
}

/** Nothing was written yet: what is there now is what will be given back. */
function planFirst(view: View, knob: KnobName, row: Knob | undefined, current: number, wish: number): KnobStep {
  const { on, now } = view;
  const level = isClock(knob) ? levelFound(knob, view) : undefined;
  const blank: Knob = {
    on,
    knob,
    found: current,
    ...(level === undefined ? {} : { foundLevel: level }),
    ...lowFound(knob, view),
    state: 'settled',
    attempts: 0,
    notBefore: now,
    at: now,
  };
  if (!isWithin(knob, current, wish)) return write(view, blank, current, wish, 'claim', 0);
  const isUnchanged = row?.found === current && row.foundLevel === level && row.foundLow === blank.foundLow;
  const known = isUnchanged && row.state === 'settled';
  return { do: 'hold', on, knob, current, target: wish, ...(known ? {} : { row: blank }) };
}

function planAgain(view: View, row: Knob, current: number, wish: number, target: number): KnobStep {
  const { on, knob } = row;
  const asked = row.state === 'settled' && isSame(knob, row.writing, target);
  const rounded = asked && isSame(knob, row.wrote, current) && isWithin(knob, current, target);
  if (rounded) return { do: 'hold', on, knob, current, target };
  if (isSame(knob, current, target)) return settle(row, current, target);
  // Failures on the way back do not hold up the way down.
  const turned = isGivingBack(row) && !isSame(knob, target, row.found);
  const given = turned ? { ...row, attempts: 0, notBefore: view.now } : row;
  if (isOurs(row, current)) {
    const why = given.attempts === 0 ? 'claim' : 'retry';
    return why === 'retry' ? paused(view, given, current, target, why) : write(view, given, current, target, why, 0);
  }
  if (isSame(knob, current, row.found)) {
    const untaken = row.state === 'unsettled' && row.wrote === undefined;
    return paused(view, given, current, target, given.attempts > 0 || untaken ? 'retry' : 'drift');
  }
  if (isWithin(knob, current, wish)) {
    const foreign: Knob = { ...row, state: 'foreign' };
    const changed = row.state === 'foreign' ? {} : { row: foreign };
    return { do: 'leave', on, knob, current, ...changed, detail: `somebody else set it to ${current}` };
  }
  const usual = view.facts.get(knob)?.default ?? (isClock(knob) ? view.facts.get(knob)?.max : undefined);
  const reset = isSame(knob, current, readOf(view.afterReset ?? {}, knob)) || isSame(knob, current, usual);
  return paused(view, given, current, target, reset ? 'reset' : 'foreign');
}

function settle(row: Knob, current: number, target: number): KnobStep {
  const { on, knob } = row;
  const known = row.state === 'settled' && row.writing === undefined && row.wrote === current && row.attempts === 0;
  if (known) return { do: 'hold', on, knob, current, target };
  const { writing: _, detail: __, ...rest } = row;
  return { do: 'hold', on, knob, current, target, row: { ...rest, wrote: current, state: 'settled', attempts: 0 } };
}
