import { wholeOf } from '../../amdgpu/knobs/envelope.ts';
import type { Case } from '../../model/case.ts';
import type { Claim, KnobFacts, KnobName } from '../../model/claim.ts';
import type { CardFacts } from '../../model/facts.ts';
import type { Action, Policy, PowerWish, Wish } from '../../model/policy.ts';

/** A wish that cannot be a claim, with a stable word that says why. */
export interface NotAdjustable {
  /** The card that was meant. */
  pci: string;
  /** Absent: a mode that says nothing about this model. */
  knob?: KnobName;
  why: string;
}

export interface Claims {
  claims: Claim[];
  notAdjustable: NotAdjustable[];
}

/**
 * What a case wishes of these cards, one claim a knob. Numbers are the policy's; that none goes below the floor is seen to
 * where it is set. A blind case claims the floor of every knob that its policy could claim.
 */
export function claimsOf(
  policy: Pick<Policy, 'do' | 'thermal'>,
  one: Pick<Case, 'id' | 'blind' | 'rungs'>,
  cards: readonly CardFacts[],
): Claims {
  const claims = new Map<string, Claim>();
  const notAdjustable = new Map<string, NotAdjustable>();
  const refuse = (entry: NotAdjustable): void => {
    notAdjustable.set(`${entry.pci} ${entry.knob} ${entry.why}`, entry);
  };
  for (const card of cards) {
    const { pci } = card.card;
    for (const [index, action] of policy.do.entries()) {
      const wishes = wishesOf(action, card, one.blind === true ? 'all' : (one.rungs?.[index] ?? -1));
      if (wishes === undefined) refuse({ pci, why: 'no_mode_for_model' });
      for (const { knob, wish } of (wishes ?? []).flatMap(knobsOf)) {
        const facts = card.knobs.get(knob);
        const why = facts === undefined ? 'unknown' : facts.adjustable ? undefined : (facts.why ?? 'not_adjustable');
        if (facts === undefined || why !== undefined) {
          refuse({ pci, knob, why: why ?? 'unknown' });
          continue;
        }
        const atMost = one.blind === true ? facts.floor : numberOf(wish, facts);
        if (atMost === undefined) {
          refuse({ pci, knob, why: one.blind === true ? 'no_floor' : 'no_default' });
          continue;
        }
        const key = `${facts.on} ${knob}`;
        const lowest = Math.min(atMost, claims.get(key)?.atMost ?? atMost);
        claims.set(key, { case: one.id, on: facts.on, knob, atMost: lowest, safety: policy.thermal });
      }
    }
  }
  return { claims: [...claims.values()], notAdjustable: [...notAdjustable.values()] };
}

/** Wishes of an action for a card; undefined: its mode knows neither this model nor any other. */
function wishesOf(action: Action, card: CardFacts, rung: number | 'all'): readonly Wish[] | undefined {
  switch (action.kind) {
    case 'throttle':
      return [action];
    case 'mode': {
      const { name } = card.card.model;
      const wish = Object.hasOwn(action.byModel, name) ? action.byModel[name] : action.any;
      return wish === undefined ? undefined : [wish];
    }
    case 'ladder': {
      if (rung === 'all') return action.rungs;
      const taken = action.rungs[rung];
      return taken === undefined ? [] : [taken];
    }
    case 'notify':
      return [];
  }
}

function knobsOf({ powerCap, clockMax, memClockMax }: Wish): { knob: KnobName; wish: number | PowerWish }[] {
  const wishes: { knob: KnobName; wish: number | PowerWish }[] = [];
  if (powerCap !== undefined) wishes.push({ knob: 'power_cap', wish: powerCap });
  if (clockMax !== undefined) wishes.push({ knob: 'gfx_clock', wish: clockMax });
  if (memClockMax !== undefined) wishes.push({ knob: 'mem_clock', wish: memClockMax });
  return wishes;
}

/** W or MHz. The driver keeps whole watts, and cuts off what is beyond them. */
function numberOf(wish: number | PowerWish, facts: KnobFacts): number | undefined {
  if (typeof wish === 'number') return wish;
  if ('watts' in wish) return Math.floor(wish.watts);
  const whole = wholeOf(facts);
  // 0.29 of 100 W is 29 W, also where the product is a hair below.
  return whole === undefined ? undefined : Math.floor(wish.share * whole + 1e-6);
}
