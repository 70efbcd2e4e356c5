import { clampWish } from '../../amdgpu/knobs/envelope.ts';
import type { Claim, Knob, KnobFacts } from '../../model/claim.ts';
import { isWithin } from './values.ts';

/**
 * Whether the row says that this claim is met. A row that is settled at an earlier, higher wish does not: a claim is committed
 * before the card is looked at again.
 */
export function isMet(claim: Claim, row: Knob | undefined, facts: KnobFacts | undefined): boolean {
  if (row === undefined) return false;
  // Somebody else's lower value does what was wished.
  if (row.state === 'foreign') return true;
  if (row.state !== 'settled') return false;
  const known = facts?.floor !== undefined && facts.max !== undefined;
  return isWithin(claim.knob, row.wrote ?? row.found, known ? clampWish(facts, claim.atMost).value : claim.atMost);
}
