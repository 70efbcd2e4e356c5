import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clampWish, clockFloor, powerFloor } from '../../../amdgpu/knobs/envelope.ts';
import type { KnobFacts } from '../../../model/claim.ts';

type Facts = Pick<KnobFacts, 'knob' | 'floor' | 'max' | 'default' | 'levels'>;
const MI300X: Facts = { knob: 'power_cap', floor: 300, max: 750, default: 750 };
const RAISED: Facts = { knob: 'power_cap', floor: 120, max: 330, default: 300 };
const LEVELS: Facts = { knob: 'gfx_clock', floor: 731, max: 1502, default: 1502, levels: [300, 731, 1189, 1235, 1502] };
const CLOCK: Facts = { knob: 'gfx_clock', floor: 840, max: 2100, default: 2100 };

describe('floors', () => {
  it.each([
    ['a share of the default', powerFloor({ min: 0, max: 750, default: 750 }), 300],
    ['of the default, not of the highest', powerFloor({ min: 0, max: 1000, default: 750 }), 300],
    ['rounded up to whole watts', powerFloor({ max: 291, default: 291 }), 117],
    ['1 W above a lowest that is higher', powerFloor({ min: 400, max: 750, default: 750 }), 401],
    ['of the highest where no default is told', powerFloor({ max: 560 }), 224],
    ['a share of the highest clock', clockFloor({ min: 500, max: 2100 }), 840],
    ['1 MHz above a lowest clock that is higher', clockFloor({ min: 900, max: 1300 }), 901],
  ])('are %s', (_why, floor, expected) => {
    expect(floor).toBe(expected);
  });
});

describe('a wish', () => {
  it.each<[why: string, Facts, number, number, string | undefined]>([
    ['within stays', MI300X, 525, 525, undefined],
    ['is rounded down to a level', LEVELS, 1200, 1189, undefined],
    ['is no lower than the lowest level allowed', LEVELS, 700, 731, 'floor'],
    ['is rounded down, for it says at most', MI300X, 525.9, 525, undefined],
    ['of the default itself stays', MI300X, 750, 750, undefined],
    ['above ends at the default, which the card came with', MI300X, 9000, 750, 'ceiling'],
    ['without bound does too', MI300X, Number.POSITIVE_INFINITY, 750, 'ceiling'],
    ['above a range that goes beyond the default ends 1 W inside', RAISED, 330, 329, 'ceiling'],
    ['below ends at the floor', MI300X, 1, 300, 'floor'],
    ['a hair below does too', MI300X, 299.99, 300, 'floor'],
    ['below zero does too', MI300X, -5, 300, 'floor'],
    ['of clocks may be the highest', CLOCK, 2100, 2100, undefined],
  ])('%s', (_why, facts, atMost, value, clamped) => {
    expect(clampWish(facts, atMost)).toEqual({ value, clamped });
  });

  it('is whole and within, whatever it is', () => {
    fc.assert(
      fc.property(fc.constantFrom(MI300X, RAISED, CLOCK), fc.double({ noNaN: true }), (facts, atMost) => {
        const { value, clamped } = clampWish(facts, atMost);
        expect(Number.isInteger(value)).toBe(true);
        expect(value).toBeGreaterThanOrEqual(facts.floor as number);
        expect(value).toBeLessThanOrEqual(facts.max as number);
        if (clamped !== 'floor') expect(value).toBeLessThanOrEqual(atMost);
      }),
    );
  });

  it('has no place without an envelope, and none where it is no number', () => {
    expect(() => clampWish({ knob: 'power_cap' }, 300)).toThrow(RangeError);
    expect(() => clampWish({ knob: 'power_cap', max: 750 }, 300)).toThrow(RangeError);
    expect(() => clampWish(MI300X, Number.NaN)).toThrow(RangeError);
  });
});
