import type { Case } from '../../model/case.ts';
import type { Claim } from '../../model/claim.ts';
import type { Policy } from '../../model/policy.ts';
import { claimsFor } from './act.ts';
import type { Sitting } from './sitting.ts';

/** Claims of a case that acts, made anew. */
export interface Renewal {
  claims: Claim[];
  /** Of these some are as they were, because their knob cannot be judged at this moment. */
  isPartial: boolean;
}

/**
 * What the case is to claim from now on. Of a card that is silent, in reset or not probed yet nothing can be said: what is claimed
 * of it stays, because without its claim the card would be given back just when nobody sees how it is. A blind case goes to the
 * floor there as well, where the floor is known.
 */
export function claimsAnew(sitting: Sitting, policy: Policy, one: Case): Renewal {
  const { claims, notAdjustable } = claimsFor(sitting, policy, one);
  const kept = heldBy(sitting, one).filter(
    ({ on, knob }) =>
      !isAmong(claims, on, knob) &&
      (isAway(sitting, one) || notAdjustable.some((entry) => entry.knob === knob && carries(sitting, on, entry.pci))),
  );
  const held = one.blind === true ? kept.map((claim) => atFloor(sitting, claim)) : kept;
  return { claims: [...claims, ...held], isPartial: kept.length > 0 };
}

/** Whether the case claims this already. */
export function isHeld(sitting: Sitting, one: Case, claims: readonly Claim[]): boolean {
  const held = heldBy(sitting, one);
  return (
    held.length === claims.length &&
    claims.every(({ on, knob, atMost }) =>
      held.some((claim) => claim.on === on && claim.knob === knob && claim.atMost === atMost),
    )
  );
}

/** Whether they are about a knob that the case does not claim yet. */
export function isMore(sitting: Sitting, one: Case, claims: readonly Claim[]): boolean {
  const held = heldBy(sitting, one);
  return claims.some(({ on, knob }) => !isAmong(held, on, knob));
}

function isAmong(claims: readonly Claim[], on: string, knob: Claim['knob']): boolean {
  return claims.some((claim) => claim.on === on && claim.knob === knob);
}

function heldBy({ book }: Sitting, one: Case): readonly Claim[] {
  return book.claims.get(one.id) ?? [];
}

function isAway({ facts }: Sitting, { target }: Case): boolean {
  return target.kind === 'gpu' && !facts.cards.has(target.pci);
}

/** The knob of a card is on the card itself, or on the primary die of its package. */
function carries({ facts }: Sitting, on: string, pci: string): boolean {
  return pci === on || facts.cards.get(pci)?.card.package === on;
}

function atFloor({ facts }: Sitting, claim: Claim): Claim {
  const floor = facts.cards.get(claim.on)?.knobs.get(claim.knob)?.floor;
  return floor === undefined ? claim : { ...claim, atMost: Math.min(claim.atMost, floor) };
}
