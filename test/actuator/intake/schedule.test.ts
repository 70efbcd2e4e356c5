import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scheduleTriggers } from '../../../actuator/intake/schedule.ts';
import { take } from '../../../actuator/intake/take.ts';
import { minuteTicks } from '../../../actuator/intake/ticks.ts';
import { systemClock } from '../../../base/clock.ts';
import { createLog } from '../../../base/log.ts';
import type { Window } from '../../../model/policy.ts';
import type { OpenTrigger } from '../../../model/trigger.ts';

const DAYS = [1, 2, 3, 4, 5, 6, 7];
const night: Window = { name: 'night', zone: 'Europe/Berlin', start: 22 * 60, end: 6 * 60, days: DAYS };
const lunch: Window = { name: 'lunch', zone: 'Europe/Berlin', start: 12 * 60, end: 13 * 60, days: DAYS };
/** Second half of the night, by another name. */
const late: Window = { name: 'late', zone: 'Europe/Berlin', start: 2 * 60, end: 6 * 60, days: DAYS };

/** A node that looks at its windows: wall and steady time, and the rows that it keeps. */
class Node {
  windows = new Map([night, lunch].map((one) => [one.name, one]));
  triggers = new Map<string, OpenTrigger>();
  #steady = 1_000_000;
  #wall = 0;

  /** Lets `ms` pass, sets the wall clock, and looks. */
  look(wall: string, ms = 60_000): string[] {
    this.#steady += ms;
    this.#wall = Date.parse(wall);
    const made = scheduleTriggers({
      windows: this.windows,
      wall: this.#wall,
      at: this.#steady,
      triggers: this.triggers,
    });
    for (const one of made) this.triggers.set(one.key, take(one, this.triggers.get(one.key)));
    return made.map(({ phase, key }) => `${phase} ${key}`);
  }

  /** What is left of a row, by steady time. */
  left(key: string): number {
    return this.triggers.get(key)!.until! - this.#steady;
  }
}

const NIGHT = 'night@2026-03-05T21:00:00.000Z';
const NEXT = 'night@2026-03-06T21:00:00.000Z';

describe('windows', () => {
  // One look a row; winter, so Berlin is an hour ahead.
  it.each([
    ['a quiet day', [['2026-03-05T15:00:00Z']]],
    [
      'the edges: start inclusive, end exclusive',
      [
        ['2026-03-05T20:59:59Z'],
        ['2026-03-05T21:00:00Z', `open ${NIGHT}`],
        ['2026-03-06T04:59:59Z', `renew ${NIGHT}`],
        ['2026-03-06T05:00:00Z', `close ${NIGHT}`],
        ['2026-03-06T05:01:00Z'],
      ],
    ],
    [
      'an edge that passed while nobody looked',
      [
        ['2026-03-06T01:00:00Z', `open ${NIGHT}`],
        ['2026-03-06T09:00:00Z', `close ${NIGHT}`],
      ],
    ],
    [
      'a whole night that nobody looked at',
      [
        ['2026-03-05T22:00:00Z', `open ${NIGHT}`],
        ['2026-03-06T22:00:00Z', `open ${NEXT}`, `close ${NIGHT}`],
      ],
    ],
    [
      'the clock set forward over the end',
      [
        ['2026-03-05T22:00:00Z', `open ${NIGHT}`],
        ['2026-03-06T07:00:00Z', `close ${NIGHT}`],
      ],
    ],
    ['the clock set forward into the window', [['2026-03-05T15:00:00Z'], ['2026-03-06T03:00:00Z', `open ${NIGHT}`]]],
    ['the clock set forward over the window', [['2026-03-05T15:00:00Z'], ['2026-03-06T06:00:00Z']]],
    [
      'the clock set back before the start',
      [
        ['2026-03-05T21:01:00Z', `open ${NIGHT}`],
        ['2026-03-05T20:30:00Z', `close ${NIGHT}`],
      ],
    ],
    [
      'the clock set back within',
      [
        ['2026-03-06T03:00:00Z', `open ${NIGHT}`],
        ['2026-03-06T01:00:00Z', `renew ${NIGHT}`],
      ],
    ],
    [
      'the clock, far ahead for a minute, set right again',
      [
        ['2026-03-05T22:00:00Z', `open ${NIGHT}`],
        ['2026-03-06T09:00:00Z', `close ${NIGHT}`],
        ['2026-03-05T22:02:00Z', `open ${NIGHT}`],
        ['2026-03-05T22:03:00Z', `renew ${NIGHT}`],
      ],
    ],
    [
      'the clock set back by a day',
      [
        ['2026-03-06T22:00:00Z', `open ${NEXT}`],
        ['2026-03-05T22:00:00Z', `open ${NIGHT}`, `close ${NEXT}`],
      ],
    ],
  ])('%s', (_why, looks) => {
    const node = new Node();
    for (const [wall, ...expected] of looks) expect(node.look(wall!), wall).toEqual(expected);
  });

  it('end in steady time when the wall clock will be there, also after it was set', () => {
    const node = new Node();
    node.look('2026-03-06T04:00:00Z');
    expect(node.left(NIGHT)).toBe(3_600_000);
    node.look('2026-03-06T04:30:00Z');
    expect(node.left(NIGHT)).toBe(1_800_000);
  });

  it('are as long as the night is, when clocks change', () => {
    const node = new Node();
    node.look('2026-03-28T21:00:00Z');
    expect(node.left('night@2026-03-28T21:00:00.000Z')).toBe(7 * 3_600_000);
    node.look('2026-10-24T20:00:00Z');
    expect(node.left('night@2026-10-24T20:00:00.000Z')).toBe(9 * 3_600_000);
  });

  it('are re-entered once after a restart in the middle', () => {
    const before = new Node();
    before.look('2026-03-05T23:00:00Z');
    const after = new Node();
    // As the ledger gives them back.
    after.triggers = new Map(JSON.parse(JSON.stringify([...before.triggers])));
    expect(after.look('2026-03-06T00:00:00Z')).toEqual([`renew ${NIGHT}`]);
    expect(after.look('2026-03-06T00:01:00Z')).toEqual([`renew ${NIGHT}`]);
    expect([...after.triggers.values()].filter(({ closedAt }) => closedAt === undefined)).toHaveLength(1);
  });

  it('say who they are, and stand for everything on the node', () => {
    const node = new Node();
    node.look('2026-03-05T21:30:00Z');
    expect(node.triggers.get(NIGHT)).toEqual({
      source: 'schedule',
      name: 'night',
      key: NIGHT,
      phase: 'open',
      since: Date.parse('2026-03-05T21:00:00Z'),
      at: 1_060_000,
      seenAt: 1_060_000,
      until: 1_060_000 + 7.5 * 3_600_000,
      values: {},
      trusted: true,
    });
  });

  it('that are no longer in the rules end; one that takes over begins first', () => {
    const node = new Node();
    node.look('2026-03-06T03:00:00Z');
    node.windows = new Map([['late', late]]);
    expect(node.look('2026-03-06T03:01:00Z')).toEqual(['open late@2026-03-06T01:00:00.000Z', `close ${NIGHT}`]);
  });

  it('whose end is moved keep their row and get another end', () => {
    const node = new Node();
    node.look('2026-03-06T04:00:00Z');
    node.windows.set('night', { ...night, end: 7 * 60 });
    expect(node.look('2026-03-06T04:00:00Z')).toEqual([`renew ${NIGHT}`]);
    expect(node.left(NIGHT)).toBe(2 * 3_600_000);
  });

  it('leave triggers of others alone', () => {
    const node = new Node();
    const other: OpenTrigger = {
      source: 'manual',
      name: 'night',
      key: 'm',
      phase: 'open',
      since: 1,
      at: 1,
      seenAt: 1,
      values: {},
      trusted: true,
    };
    node.triggers.set('m', other);
    node.look('2026-03-06T09:00:00Z');
    expect(node.triggers.get('m')).toBe(other);
  });
});

describe('ticks', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: Date.parse('2026-03-05T20:58:30Z') });
  });
  afterEach(() => vi.useRealTimers());
  const lines: string[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(line) } });
  const started = (work: () => void = () => undefined) => {
    const seen: string[] = [];
    const onTick = () => {
      seen.push(new Date().toISOString().slice(11, 19));
      work();
    };
    return { seen, ticks: minuteTicks({ onTick, clock: systemClock, log }) };
  };

  it('come at once, then at second 0 of each minute, until stopped', async () => {
    const { seen, ticks } = started();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(seen).toEqual(['20:58:30', '20:59:00', '21:00:00']);
    ticks.stop();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(seen).toHaveLength(3);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('go on after the clock was set back by an hour, and look at once', async () => {
    const { seen, ticks } = started();
    await vi.advanceTimersByTimeAsync(40_000);
    vi.setSystemTime(Date.parse('2026-03-05T19:59:10Z'));
    await vi.advanceTimersByTimeAsync(120_000);
    expect(seen).toEqual(['20:58:30', '20:59:00', '19:59:15', '20:00:00', '20:01:00']);
    ticks.stop();
  });

  it('look at once after the clock was set forward', async () => {
    const { seen, ticks } = started();
    vi.setSystemTime(Date.parse('2026-03-06T09:00:10Z'));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen).toEqual(['20:58:30', '09:00:15', '09:01:00']);
    ticks.stop();
  });

  it('come late rather than not at all where the process was busy', async () => {
    const { seen, ticks } = started();
    await vi.advanceTimersByTimeAsync(29_000);
    // Half a minute in which no timer ran: both clocks went on.
    const busy = performance.now() + 30_000;
    vi.spyOn(performance, 'now').mockImplementation(() => busy);
    vi.setSystemTime(Date.parse('2026-03-05T20:59:29Z'));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(seen[1]).toBe('20:59:30');
    ticks.stop();
    vi.restoreAllMocks();
  });

  it('are not stopped by what is thrown, which is told once', async () => {
    const { seen, ticks } = started(() => {
      throw new Error('no windows');
    });
    await vi.advanceTimersByTimeAsync(120_000);
    expect(seen).toHaveLength(3);
    expect(lines.filter((line) => line.includes('no windows'))).toHaveLength(1);
    ticks.stop();
  });
});
