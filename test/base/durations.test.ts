import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../base/durations.ts';

describe('parseDuration', () => {
  it.each([
    ['300ms', 300],
    ['5s', 5_000],
    ['1m', 60_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1m30s', 90_000],
    ['1h5ms', 3_600_005],
    ['0', 0],
    ['0s', 0],
  ])('reads %s as %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '5', '1.5s', '-1s', '5 s', 's', '5sec', '5S', '30s1m', '1s1s', ' 5s', '5s\n', '99999999999999999d'])(
    'refuses %j',
    (text) => {
      expect(() => parseDuration(text)).toThrow(expect.objectContaining({ code: 'DURATION_INVALID' }));
    },
  );

  it('tells a bare number to add its unit', () => {
    expect(() => parseDuration('15')).toThrow(expect.objectContaining({ hint: 'Add a unit, for example 15s.' }));
  });
});

describe('formatDuration', () => {
  it('writes the shortest text', () => {
    expect([0, 300, 5_000, 90_000, 86_400_000].map(formatDuration)).toEqual(['0s', '300ms', '5s', '1m30s', '1d']);
  });

  it('is read back to the same milliseconds', () => {
    fc.assert(fc.property(fc.nat({ max: 10 ** 12 }), (ms) => parseDuration(formatDuration(ms)) === ms));
  });
});
