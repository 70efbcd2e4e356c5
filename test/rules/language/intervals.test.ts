import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  above,
  below,
  between,
  complement,
  EVERYTHING,
  includes,
  intersect,
  isWithin,
  NOTHING,
  type Region,
  touch,
  union,
} from '../../../rules/language/intervals.ts';

const number = fc.integer({ min: -5, max: 5 });
const simple: fc.Arbitrary<Region> = fc.oneof(
  fc.tuple(number, fc.boolean()).map(([at, closed]) => above(at, closed)),
  fc.tuple(number, fc.boolean()).map(([at, closed]) => below(at, closed)),
  fc.tuple(number, number).map(([a, b]) => between(a, b)),
  fc.constantFrom(EVERYTHING, NOTHING),
);
const region = fc.array(simple, { maxLength: 4 }).map((parts) => parts.reduce(union, NOTHING));
/** Whole and half numbers: each end, and what lies between any two. */
const points = Array.from({ length: 25 }, (_, i) => -6 + i / 2);

describe('regions of numbers', () => {
  it('hold what membership says, point by point', () => {
    fc.assert(
      fc.property(region, region, (a, b) => {
        for (const x of points) {
          expect(includes(intersect(a, b), x)).toBe(includes(a, x) && includes(b, x));
          expect(includes(union(a, b), x)).toBe(includes(a, x) || includes(b, x));
          expect(includes(complement(a), x)).toBe(!includes(a, x));
        }
        expect(isWithin(a, b)).toBe(points.every((x) => !includes(a, x) || includes(b, x)));
      }),
    );
  });

  it('stay in rising order without touching parts', () => {
    fc.assert(
      fc.property(region, region, (a, b) => {
        for (const parts of [union(a, b), intersect(a, b), complement(a)]) {
          parts.slice(1).forEach((part, i) => {
            const before = parts[i]!;
            expect(before.hi < part.lo || (before.hi === part.lo && !before.hiClosed && !part.loClosed)).toBe(true);
          });
        }
      }),
    );
  });

  it.each([
    [above(60, true), below(60, false), true],
    [above(60, false), below(60, false), true],
    [above(60, true), below(60, true), false],
    [above(60, true), below(55, true), false],
    [between(60, 70), union(below(50, true), above(70, false)), true],
  ])('%j and %j touch: %s', (a, b, expected) => {
    expect(touch(a, b)).toBe(expected);
    expect(touch(b, a)).toBe(expected);
  });
});
