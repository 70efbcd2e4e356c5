import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRfc3339 } from '../../../actuator/intake/rfc3339.ts';

describe('a time as a sender writes it', () => {
  it.each([
    ['whole seconds', '2026-03-05T20:58:37Z', '2026-03-05T20:58:37Z', '2026-03-05T20:58:37.000Z'],
    [
      'zeros at the end mean nothing',
      '2026-03-05T20:58:37.4820Z',
      '2026-03-05T20:58:37.482Z',
      '2026-03-05T20:58:37.482Z',
    ],
    [
      'nanoseconds stay',
      '2026-03-05T20:58:37.123456789Z',
      '2026-03-05T20:58:37.123456789Z',
      '2026-03-05T20:58:37.123Z',
    ],
    ['an offset east', '2026-03-05T22:14:07.5+01:00', '2026-03-05T21:14:07.5Z', '2026-03-05T21:14:07.500Z'],
    ['an offset west over midnight', '2026-12-31T22:00:00-03:30', '2027-01-01T01:30:00Z', '2027-01-01T01:30:00.000Z'],
    ['a leap day', '2028-02-29T00:00:00Z', '2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['the zero time of Go', '0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ])('%s', (_why, text, canonical, ms) => {
    expect(parseRfc3339(text)).toEqual({ text: canonical, ms: Date.parse(ms) });
  });

  it.each([
    ['nothing', ''],
    ['a date alone', '2026-03-05'],
    ['no zone', '2026-03-05T20:58:37'],
    ['a day that is not', '2026-02-29T00:00:00Z'],
    ['month 13', '2026-13-01T00:00:00Z'],
    ['day 0', '2026-01-00T00:00:00Z'],
    ['hour 24', '2026-01-01T24:00:00Z'],
    ['a leap second, which Go cannot read', '2026-06-30T23:59:60Z'],
    ['ten decimals', '2026-01-01T00:00:00.1234567890Z'],
    ['a point and no decimals', '2026-01-01T00:00:00.Z'],
    ['an offset without colon', '2026-01-01T00:00:00+0100'],
    ['an offset of a day', '2026-01-01T00:00:00+24:00'],
    ['lower case', '2026-01-01t00:00:00z'],
    ['a space', '2026-01-01 00:00:00Z'],
    ['a year that an offset leads out of four digits', '9999-12-31T23:59:59-01:00'],
    ['something behind it', '2026-01-01T00:00:00Z\n'],
    ['a number', '1767225600'],
  ])('is none: %s', (_why, text) => {
    expect(parseRfc3339(text)).toBeUndefined();
  });

  it('agrees with Date on what both can read, and spells one moment one way', () => {
    const zone = fc.integer({ min: -14 * 60, max: 14 * 60 });
    const date = fc.date({ min: new Date('0100-01-02'), max: new Date('9998-12-30'), noInvalidDate: true });
    fc.assert(
      fc.property(date, zone, fc.stringMatching(/^[0-9]{3,9}$/), (whole, minutes, decimals) => {
        const base = Math.floor(whole.getTime() / 1000) * 1000;
        const offset = `${minutes < 0 ? '-' : '+'}${[Math.abs(minutes) / 60, Math.abs(minutes) % 60].map((n) => String(Math.trunc(n)).padStart(2, '0')).join(':')}`;
        const local = new Date(base + minutes * 60_000).toISOString().slice(0, 19);
        const there = parseRfc3339(`${local}.${decimals}${offset}`);
        const here = parseRfc3339(
          `${new Date(base).toISOString().slice(0, 19)}.${decimals}000Z`.replace(/(\.\d{9})\d+/, '$1'),
        );
        expect(there).toEqual(here);
        expect(there?.ms).toBe(base + Number(decimals.slice(0, 3)));
      }),
    );
  });
});
