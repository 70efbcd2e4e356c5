import { describe, expect, it } from 'vitest';
import { isMet } from '../../../actuator/settings/met.ts';
import type { Claim, Knob } from '../../../model/claim.ts';
import { factsOf } from './fake-card.ts';

describe('a claim', () => {
  const on = '0000:c1:00.0';
  const row: Knob = {
    on,
    knob: 'power_cap',
    found: 750,
    wrote: 500,
    state: 'settled',
    attempts: 0,
    notBefore: 0,
    at: 0,
  };
  it.each<[string, number, Knob | undefined, boolean]>([
    ['nothing done yet', 500, undefined, false],
    ['as written', 500, row, true],
    ['a higher wish', 600, row, true],
    ['a lower wish, not yet looked at', 400, row, false],
    ['below the floor, and the card at the floor', 10, { ...row, wrote: 300 }, true],
    ['under way', 500, { ...row, state: 'unsettled' }, false],
    ['somebody lower', 500, { ...row, state: 'foreign' }, true],
    ['cannot be set', 500, { ...row, state: 'unsupported' }, false],
  ])('is met or not: %s', (_, atMost, found, met) => {
    const claim: Claim = { case: 'a', on, knob: 'power_cap', atMost, safety: false };
    expect(isMet(claim, found, factsOf(on).get('power_cap'))).toBe(met);
  });
});
