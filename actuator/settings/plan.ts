import { KNOBS, type Knob, type KnobName } from '../../model/claim.ts';
import { levelNow } from './build.ts';
import { planClaimed } from './plan-claimed.ts';
import { planFree } from './plan-free.ts';
import type { KnobStep } from './steps.ts';
import { isClock } from './values.ts';
import type { CardView, View } from './view.ts';

export type { CardView } from './view.ts';

/** What to do about each knob that is claimed or has a row; limits first, then what is given back. */
export interface CardPlan {
  on: string;
  steps: readonly KnobStep[];
}

/**
 * Compares the wishes with the card. First act, release, expiry, drift, reset, restart and a foreign hand are all this one
 * comparison; nothing is remembered but the rows.
 */
export function planCard(card: CardView): CardPlan {
  const rows = new Map(card.knobs.map((row) => [row.knob, row]));
  const isClaimed = (knob: KnobName): boolean => card.claims.some((claim) => claim.knob === knob);
  const view: View = { ...card, rows, isClaimed };
  const steps: KnobStep[] = [];
  for (const knob of KNOBS) {
    const row = rows.get(knob);
    if (isClaimed(knob)) steps.push(planClaimed(view, knob, row));
    else if (row !== undefined) steps.push(planFree(view, row));
  }
  const first = steps.filter((step) => step.do !== 'restore');
  const last = steps.filter((step) => step.do === 'restore');
  return { on: card.on, steps: shareLevel([...first, ...last], view) };
}

/** A hand that raised one clock did so in our `manual`: that level is now what all clocks of the card were found in. */
function shareLevel(steps: readonly KnobStep[], view: View): KnobStep[] {
  const raised = steps.some((step) => step.do === 'write' && step.why === 'foreign' && isClock(step.knob));
  if (!raised) return [...steps];
  return steps.map((step) => {
    const before = 'row' in step && step.row !== undefined ? step.row : view.rows.get(step.knob);
    if (!isClock(step.knob) || before === undefined || step.do === 'unsupported') return step;
    const row: Knob = { ...before, ...levelNow(view) };
    return row.foundLevel === before.foundLevel ? step : { ...step, row };
  });
}
