import type { KnobFacts } from '../../model/claim.ts';
import { CLOCK_FLOOR_SHARE, POWER_FLOOR_SHARE } from '../../model/envelope.ts';

/**
 * The hard envelope: limits that no policy can exceed, whatever the driver would take. MI100 to MI300 report a lowest cap of
 * 0 W, and a cap of 1 W passes their check; a card at 1 W is a node that has hung for its users.
 */

/** What a share of a knob is a share of: its default, and where that is not told the most that the driver takes. */
export function wholeOf(range: { default?: number; max: number }): number;
export function wholeOf(range: Pick<KnobFacts, 'default' | 'max'>): number | undefined;
export function wholeOf({ default: standard, max }: Pick<KnobFacts, 'default' | 'max'>): number | undefined {
  return standard ?? max;
}

/** W; drivers are known to refuse the exact end of a range, so the floor stays 1 W inside. */
export function powerFloor(range: { min?: number; max: number; default?: number }): number {
  const share = Math.ceil(POWER_FLOOR_SHARE * wholeOf(range));
  return Math.max(share, (range.min ?? 0) + 1);
}

/** MHz; 1 above the lower end of the range, because the two ends of a range may not meet. */
export function clockFloor(range: { min?: number; max: number }): number {
  return Math.max(Math.ceil(CLOCK_FLOOR_SHARE * range.max), (range.min ?? 0) + 1);
}

export interface Clamped {
  /** W or MHz, whole. */
  value: number;
  clamped: 'floor' | 'ceiling' | undefined;
}

/**
 * Brings a wish (W or MHz) into the envelope, rounded down to a whole unit, or to a level where there are levels. For knobs that
 * are adjustable; throws RangeError where the facts name no range or the wish is not a number.
 */
export function clampWish(
  facts: Pick<KnobFacts, 'knob' | 'floor' | 'max' | 'default' | 'levels'>,
  atMost: number,
): Clamped {
  const { floor } = facts;
  const ceiling = ceilingOf(facts);
  if (floor === undefined || ceiling === undefined || Number.isNaN(atMost))
    throw new RangeError(`a wish of ${atMost} for ${facts.knob} has no envelope (${floor} to ${ceiling})`);
  if (atMost > ceiling) return { value: ceiling, clamped: 'ceiling' };
  const value = facts.levels?.findLast((level) => level <= atMost) ?? Math.floor(atMost);
  return value < floor ? { value: floor, clamped: 'floor' } : { value, clamped: undefined };
}

/** The default itself is known to be taken, as the card came with it; a range that goes beyond it is used 1 W inside. */
function ceilingOf({ knob, max, default: standard }: Pick<KnobFacts, 'knob' | 'max' | 'default'>): number | undefined {
  const isExactEnd = knob === 'power_cap' && max !== undefined && standard !== undefined && standard < max;
  return isExactEnd ? max - 1 : max;
}
