import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { Window } from '../../../model/policy.ts';
import { isInWindow, nextEdge, occurrenceAt } from '../../../rules/language/window.ts';
import { isZone, localTime, offsetAt } from '../../../rules/language/zone.ts';

const EVERY_DAY = [1, 2, 3, 4, 5, 6, 7];
const WORKDAYS = [1, 2, 3, 4, 5];

function window(zone: string, from: string, to: string, days: readonly number[] = EVERY_DAY): Window {
  const minutes = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
  return { name: 'w', zone, start: minutes(from), end: minutes(to), days };
}

const night = (zone: string, days?: readonly number[]) => window(zone, '22:00', '06:00', days);
const BERLIN = 'Europe/Berlin';
const NEW_YORK = 'America/New_York';
const SHANGHAI = 'Asia/Shanghai';

/** Why, window, instant, and the occurrence it lies in as [start, end], or none. */
const CASES: readonly (readonly [string, Window, string, readonly [string, string] | undefined])[] = [
  // Shanghai knows no summer time: UTC+8.
  ['a second before the start', night(SHANGHAI), '2025-01-15T13:59:59Z', undefined],
  ['the start itself', night(SHANGHAI), '2025-01-15T14:00:00Z', ['2025-01-15T14:00:00Z', '2025-01-15T22:00:00Z']],
  [
    'a second behind the start',
    night(SHANGHAI),
    '2025-01-15T14:00:01Z',
    ['2025-01-15T14:00:00Z', '2025-01-15T22:00:00Z'],
  ],
  [
    'a second before midnight',
    night(SHANGHAI),
    '2025-01-15T15:59:59Z',
    ['2025-01-15T14:00:00Z', '2025-01-15T22:00:00Z'],
  ],
  ['midnight', night(SHANGHAI), '2025-01-15T16:00:00Z', ['2025-01-15T14:00:00Z', '2025-01-15T22:00:00Z']],
  [
    'a second before the end',
    night(SHANGHAI),
    '2025-01-15T21:59:59Z',
    ['2025-01-15T14:00:00Z', '2025-01-15T22:00:00Z'],
  ],
  ['the end itself', night(SHANGHAI), '2025-01-15T22:00:00Z', undefined],
  ['a second behind the end', night(SHANGHAI), '2025-01-15T22:00:01Z', undefined],
  ['noon', night(SHANGHAI), '2025-01-15T04:00:00Z', undefined],
  // 30 March 2025, Berlin: 02:00 becomes 03:00 at 01:00Z. The night has 7 hours.
  [
    'the short night, before the change',
    night(BERLIN),
    '2025-03-30T00:30:00Z',
    ['2025-03-29T21:00:00Z', '2025-03-30T04:00:00Z'],
  ],
  [
    'the short night, after it',
    night(BERLIN),
    '2025-03-30T03:59:59Z',
    ['2025-03-29T21:00:00Z', '2025-03-30T04:00:00Z'],
  ],
  ['the end of the short night', night(BERLIN), '2025-03-30T04:00:00Z', undefined],
  ['before a start in the skipped hour', window(BERLIN, '02:30', '05:00'), '2025-03-30T00:59:59Z', undefined],
  [
    'a start in the skipped hour: the first instant after it',
    window(BERLIN, '02:30', '05:00'),
    '2025-03-30T01:00:00Z',
    ['2025-03-30T01:00:00Z', '2025-03-30T03:00:00Z'],
  ],
  [
    'an end in the skipped hour: the first instant after it',
    window(BERLIN, '01:00', '02:30'),
    '2025-03-30T00:59:59Z',
    ['2025-03-30T00:00:00Z', '2025-03-30T01:00:00Z'],
  ],
  ['03:00 on that night', window(BERLIN, '01:00', '02:30'), '2025-03-30T01:00:00Z', undefined],
  ['wholly within the skipped hour: not that day', window(BERLIN, '02:10', '02:50'), '2025-03-30T01:00:00Z', undefined],
  [
    'the same on the next day',
    window(BERLIN, '02:10', '02:50'),
    '2025-03-31T00:10:00Z',
    ['2025-03-31T00:10:00Z', '2025-03-31T00:50:00Z'],
  ],
  // 26 October 2025, Berlin: 03:00 becomes 02:00 at 01:00Z. The night has 9 hours.
  [
    'the long night, its first hour',
    night(BERLIN),
    '2025-10-25T20:00:00Z',
    ['2025-10-25T20:00:00Z', '2025-10-26T05:00:00Z'],
  ],
  [
    'the long night, its last second',
    night(BERLIN),
    '2025-10-26T04:59:59Z',
    ['2025-10-25T20:00:00Z', '2025-10-26T05:00:00Z'],
  ],
  ['the end of the long night', night(BERLIN), '2025-10-26T05:00:00Z', undefined],
  ['before a start in the repeated hour', window(BERLIN, '02:30', '05:00'), '2025-10-26T00:29:59Z', undefined],
  [
    'a start in the repeated hour: the first occurrence',
    window(BERLIN, '02:30', '05:00'),
    '2025-10-26T00:30:00Z',
    ['2025-10-26T00:30:00Z', '2025-10-26T04:00:00Z'],
  ],
  [
    'an end in the repeated hour: the first occurrence',
    window(BERLIN, '01:00', '02:30'),
    '2025-10-26T00:30:00Z',
    undefined,
  ],
  ['02:30 for the second time', window(BERLIN, '01:00', '02:30'), '2025-10-26T01:29:59Z', undefined],
  [
    'the whole repeated hour',
    window(BERLIN, '02:00', '03:00'),
    '2025-10-26T01:59:59Z',
    ['2025-10-26T00:00:00Z', '2025-10-26T02:00:00Z'],
  ],
  // 9 March 2025, New York: 02:00 becomes 03:00 at 07:00Z.
  [
    'the short night overseas',
    night(NEW_YORK),
    '2025-03-09T09:59:59Z',
    ['2025-03-09T03:00:00Z', '2025-03-09T10:00:00Z'],
  ],
  ['its end', night(NEW_YORK), '2025-03-09T10:00:00Z', undefined],
  [
    'a start in its skipped hour',
    window(NEW_YORK, '02:30', '04:00'),
    '2025-03-09T07:00:00Z',
    ['2025-03-09T07:00:00Z', '2025-03-09T08:00:00Z'],
  ],
  // 2 November 2025, New York: 02:00 becomes 01:00 at 06:00Z.
  [
    'the long night overseas',
    night(NEW_YORK),
    '2025-11-02T10:59:59Z',
    ['2025-11-02T02:00:00Z', '2025-11-02T11:00:00Z'],
  ],
  ['its end', night(NEW_YORK), '2025-11-02T11:00:00Z', undefined],
  [
    'a start in its repeated hour',
    window(NEW_YORK, '01:30', '04:00'),
    '2025-11-02T05:30:00Z',
    ['2025-11-02T05:30:00Z', '2025-11-02T09:00:00Z'],
  ],
  // 29 February.
  ['into the leap day', night(BERLIN), '2024-02-28T23:30:00Z', ['2024-02-28T21:00:00Z', '2024-02-29T05:00:00Z']],
  ['out of the leap day', night(BERLIN), '2024-03-01T00:00:00Z', ['2024-02-29T21:00:00Z', '2024-03-01T05:00:00Z']],
  [
    'out of February without one',
    night(BERLIN),
    '2025-03-01T00:00:00Z',
    ['2025-02-28T21:00:00Z', '2025-03-01T05:00:00Z'],
  ],
  // Weekdays: a night belongs to the day it starts on. 2025-01-17 is a Friday.
  [
    'Saturday morning belongs to Friday',
    night(BERLIN, WORKDAYS),
    '2025-01-18T04:59:59Z',
    ['2025-01-17T21:00:00Z', '2025-01-18T05:00:00Z'],
  ],
  ['Saturday evening is no workday', night(BERLIN, WORKDAYS), '2025-01-18T21:00:00Z', undefined],
  ['Monday morning belongs to Sunday', night(BERLIN, WORKDAYS), '2025-01-20T04:00:00Z', undefined],
  ['Monday evening', night(BERLIN, WORKDAYS), '2025-01-20T21:00:00Z', ['2025-01-20T21:00:00Z', '2025-01-21T05:00:00Z']],
  ['Saturday there is Friday here', night(SHANGHAI, [6]), '2025-01-17T16:30:00Z', undefined],
  // Ends of the day.
  [
    'a whole day',
    window('UTC', '00:00', '00:00'),
    '2025-01-15T00:00:00Z',
    ['2025-01-15T00:00:00Z', '2025-01-16T00:00:00Z'],
  ],
  [
    'until 24:00',
    window('UTC', '12:00', '24:00'),
    '2025-01-15T23:59:59Z',
    ['2025-01-15T12:00:00Z', '2025-01-16T00:00:00Z'],
  ],
  [
    'a zone of three quarters',
    window('Asia/Kathmandu', '22:00', '06:00'),
    '2025-01-15T16:15:00Z',
    ['2025-01-15T16:15:00Z', '2025-01-16T00:15:00Z'],
  ],
  [
    'a zone that changes by half an hour',
    window('Australia/Lord_Howe', '02:15', '05:00'),
    '2025-10-04T15:30:00Z',
    ['2025-10-04T15:30:00Z', '2025-10-04T18:00:00Z'],
  ],
  ['no days at all', night(BERLIN, []), '2025-01-15T23:00:00Z', undefined],
];

const iso = (instant: number): string => new Date(instant).toISOString().replace('.000Z', 'Z');

describe('a window', () => {
  it.each(CASES)('%s', (_, w, instant, expected) => {
    const found = occurrenceAt(w, Date.parse(instant));
    expect(found && [iso(found.start), iso(found.end)]).toEqual(expected);
    expect(isInWindow(w, Date.parse(instant))).toBe(expected !== undefined);
  });

  it.each(['America/Los_Angeles', 'Asia/Kolkata', 'Pacific/Kiritimati'])(
    'is the same on a host in %s',
    async (zone) => {
      const here = CASES.map(([, w, instant]) => occurrenceAt(w, Date.parse(instant)));
      const before = process.env.TZ;
      try {
        process.env.TZ = zone;
        expect(new Date(0).getTimezoneOffset()).not.toBe(0);
        // Anew, so that nothing is remembered from before.
        vi.resetModules();
        const there = await import('../../../rules/language/window.ts');
        expect(there.occurrenceAt).not.toBe(occurrenceAt);
        expect(CASES.map(([, w, instant]) => there.occurrenceAt({ ...w }, Date.parse(instant)))).toEqual(here);
      } finally {
        if (before === undefined) delete process.env.TZ;
        else process.env.TZ = before;
      }
    },
  );

  it('answers the same in any order, so also when the clock steps back', () => {
    const w = night(BERLIN, WORKDAYS);
    const start = Date.parse('2025-03-28T00:00:00Z');
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 10 * 86_400 }), { minLength: 1 }), (seconds) => {
        for (const second of seconds) {
          const at = start + second * 1000;
          expect(occurrenceAt(w, at)).toEqual(occurrenceAt({ ...w }, at));
        }
      }),
    );
  });

  it('is, minute by minute over the nights of change, where the clock on the wall says', () => {
    for (const [zone, day] of [
      [BERLIN, '2025-03-30'],
      [BERLIN, '2025-10-26'],
      [NEW_YORK, '2025-03-09'],
      [NEW_YORK, '2025-11-02'],
    ] as const) {
      const w = night(zone);
      const noon = Date.parse(`${day}T12:00:00Z`);
      for (let at = noon - 86_400_000; at < noon; at += 60_000) {
        const { hour } = localTime(zone, at);
        expect(isInWindow(w, at)).toBe(hour >= 22 || hour < 6);
      }
    }
  });

  it('is asked a million times in well under a second', () => {
    const w = night(BERLIN);
    const start = Date.parse('2025-03-01T00:00:00Z');
    const began = performance.now();
    let inside = 0;
    for (let i = 0; i < 1_000_000; i++) if (isInWindow(w, start + i * 1000)) inside += 1;
    expect(inside).toBeGreaterThan(300_000);
    expect(performance.now() - began).toBeLessThan(2000);
  });
});

describe('the next edge', () => {
  it.each([
    ['in the evening it is the start', night(BERLIN), '2025-01-15T20:00:00Z', '2025-01-15T21:00:00Z', 'start'],
    ['at the start it is the end', night(BERLIN), '2025-01-15T21:00:00Z', '2025-01-16T05:00:00Z', 'end'],
    ['a second before the end', night(BERLIN), '2025-01-16T04:59:59Z', '2025-01-16T05:00:00Z', 'end'],
    ['at the end it is the next start', night(BERLIN), '2025-01-16T05:00:00Z', '2025-01-16T21:00:00Z', 'start'],
    ['over a weekend', night(BERLIN, WORKDAYS), '2025-01-18T05:00:00Z', '2025-01-20T21:00:00Z', 'start'],
    ['over the change', night(BERLIN), '2025-03-29T22:00:00Z', '2025-03-30T04:00:00Z', 'end'],
    ['where days join', window('UTC', '00:00', '00:00'), '2025-01-15T12:00:00Z', '2025-01-16T00:00:00Z', 'start'],
    [
      'past the day that skips it',
      window(BERLIN, '02:10', '02:50', [7]),
      '2025-03-25T00:00:00Z',
      '2025-04-06T00:10:00Z',
      'start',
    ],
  ])('%s', (_, w, instant, at, edge) => {
    const next = nextEdge(w, Date.parse(instant));
    expect(next && [iso(next.at), next.edge]).toEqual([at, edge]);
  });

  it('of a window without days is none', () => {
    expect(nextEdge(night(BERLIN, []), 0)).toBeUndefined();
  });

  it('is where the answer changes, and nothing changes before it', () => {
    const w = night(NEW_YORK, [1, 3, 6]);
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 366 * 86_400 }),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (second, share) => {
          const at = Date.parse('2024-01-01T00:00:00Z') + second * 1000;
          const next = nextEdge(w, at)!;
          expect(next.at).toBeGreaterThan(at);
          const between = at + Math.floor((next.at - at) * share);
          expect(isInWindow({ ...w }, between)).toBe(next.edge === 'end');
          expect(isInWindow({ ...w }, next.at)).toBe(next.edge === 'start');
        },
      ),
    );
  });
});

describe('zones', () => {
  it('are known by name, not by offset', () => {
    expect(['UTC', BERLIN, 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'].every(isZone)).toBe(true);
    expect(['', 'Mars/Olympus', '+02:00', 'Europe/Berlin ', '../etc', 'Europe/'].some(isZone)).toBe(false);
    expect(() => offsetAt('Mars/Olympus', 0)).toThrow(RangeError);
  });

  it('tell local time before 1970 and far ahead too', () => {
    expect(localTime('UTC', Date.parse('1969-12-31T23:59:00Z'))).toMatchObject({
      year: 1969,
      day: 31,
      hour: 23,
      minute: 59,
      weekday: 3,
    });
    expect(localTime(BERLIN, Date.parse('2024-02-29T23:30:00Z'))).toEqual({
      year: 2024,
      month: 3,
      day: 1,
      hour: 0,
      minute: 30,
      weekday: 5,
    });
    expect(localTime(SHANGHAI, Date.parse('2099-12-31T20:00:00Z'))).toMatchObject({
      year: 2100,
      month: 1,
      day: 1,
      hour: 4,
    });
  });
});
