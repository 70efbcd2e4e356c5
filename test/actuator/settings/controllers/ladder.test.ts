import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ladderRung } from '../../../../actuator/settings/controllers/ladder.ts';

const RUNGS = [{ at: 90 }, { at: 95 }, { at: 100 }];

describe('a ladder of 90, 95 and 100 with a hysteresis of 3', () => {
  it.each([
    ['below all', 80, -1, -1],
    ['just below the first', 89.9, -1, -1],
    ['at the first', 90, -1, 0],
    ['past two at once', 97, -1, 1],
    ['past all at once', 120, -1, 2],
    ['up from the first', 95, 0, 1],
    ['between the first and what leaves it', 88, 0, 0],
    ['at what leaves the first', 87, 0, 0],
    ['below what leaves the first', 86.9, 0, -1],
    ['down one', 96.9, 2, 1],
    ['down several', 88, 2, 0],
    ['down all', 20, 2, -1],
    ['a ladder that became shorter', 99, 7, 2],
    ['no number', Number.NaN, 1, 1],
    ['infinity', Number.POSITIVE_INFINITY, -1, 2],
  ])('%s', (_, value, current, rung) => {
    expect(ladderRung(RUNGS, 3, value, current)).toBe(rung);
  });

  it('of no rungs has none', () => {
    expect(ladderRung([], 3, 100, 0)).toBe(-1);
  });
});

describe('any ladder', () => {
  const ladders = fc.record({
    rungs: fc
      .uniqueArray(fc.integer({ min: 0, max: 100 }), { minLength: 1, maxLength: 6 })
      .map((ats) => ats.sort((a, b) => a - b).map((at) => ({ at }))),
    hysteresis: fc.integer({ min: 0, max: 20 }),
    value: fc.integer({ min: -30, max: 130 }),
    current: fc.integer({ min: -1, max: 5 }),
  });

  it('stands still on the same value', () => {
    fc.assert(
      fc.property(ladders, ({ rungs, hysteresis, value, current }) => {
        const rung = ladderRung(rungs, hysteresis, value, current);
        expect(ladderRung(rungs, hysteresis, value, rung)).toBe(rung);
      }),
    );
  });

  it('is never lower for a higher value, nor from a higher rung', () => {
    fc.assert(
      fc.property(ladders, fc.nat(20), ({ rungs, hysteresis, value, current }, more) => {
        const rung = ladderRung(rungs, hysteresis, value, current);
        expect(ladderRung(rungs, hysteresis, value + more, current)).toBeGreaterThanOrEqual(rung);
        expect(ladderRung(rungs, hysteresis, value, current + 1)).toBeGreaterThanOrEqual(rung);
      }),
    );
  });

  it('is on every rung that is reached, and on none that is left', () => {
    fc.assert(
      fc.property(ladders, ({ rungs, hysteresis, value, current }) => {
        const rung = ladderRung(rungs, hysteresis, value, current);
        rungs.forEach(({ at }, index) => {
          if (value >= at) expect(rung).toBeGreaterThanOrEqual(index);
          if (value < at - hysteresis) expect(rung).toBeLessThan(index);
        });
        const standing = Math.min(current, rungs.length - 1);
        if (standing >= 0 && value >= (rungs[standing]?.at ?? 0) - hysteresis)
          expect(rung).toBeGreaterThanOrEqual(standing);
      }),
    );
  });
});
