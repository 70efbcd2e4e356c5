import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CardMemory, type CounterLimits, type CounterState, follow } from '../../amdgpu/memory.ts';

const NARROW: CounterLimits = { width: 32, maxRate: 1e4 };
const WIDE: CounterLimits = { width: 64, maxRate: 1e4 };

/** Totals that a counter shows for these values, a second apart. */
function totals(limits: CounterLimits, ...values: (number | bigint)[]): (number | bigint | undefined)[] {
  let state: CounterState | undefined;
  return values.map((value, second) => {
    state = follow(state, value, second * 1000, limits);
    return state.total;
  });
}

describe('a counter', () => {
  it('is shown as it stands, also when it does not move', () => {
    expect(totals(NARROW, 5, 5, 900)).toEqual([5, 5, 900]);
    expect(totals(WIDE, 2n ** 60n, 2n ** 60n + 9n)).toEqual([2n ** 60n, 2n ** 60n + 9n]);
  });

  it('of 32 bits goes on rising over each wrap', () => {
    expect(totals(NARROW, 2 ** 32 - 1000, 0, 1000)).toEqual([2 ** 32 - 1000, 2 ** 32, 2 ** 32 + 1000]);
  });

  it('of 64 bits is not taken to wrap', () => {
    expect(totals(WIDE, 2 ** 32 - 1000, 0, 1000)).toEqual([2 ** 32 - 1000, undefined, 1000]);
  });

  it('that fell further than a wrap can explain begins anew once confirmed', () => {
    expect(totals(NARROW, 3_000_000_000, 100, 200)).toEqual([3_000_000_000, undefined, 200]);
  });

  it('loses the wraps of before when it begins anew', () => {
    expect(totals(NARROW, 2 ** 32 - 1, 999, 0, 10)).toEqual([2 ** 32 - 1, 2 ** 32 + 999, undefined, 10]);
  });

  it('that jumped is doubted, and forgotten when the next value does not confirm it', () => {
    expect(totals(WIDE, 100, 100 + 2 ** 32, 300, 400)).toEqual([100, undefined, 300, 400]);
    expect(totals(WIDE, 2 ** 33, 2 ** 32, 2 ** 33 + 20)).toEqual([2 ** 33, undefined, 2 ** 33 + 20]);
  });

  it('that jumped for good is believed at the second sight', () => {
    expect(totals(WIDE, 100, 1_000_000, 1_000_500)).toEqual([100, undefined, 1_000_500]);
  });

  it('may rise as far as time has passed, with a second of slack, and not at all for a clock set back', () => {
    const state = follow(undefined, 0, 10_000, WIDE);
    expect(follow(state, 60_000, 15_000, WIDE).total).toBe(60_000);
    expect(follow(state, 70_001, 0, WIDE).total).toBeUndefined();
  });

  it('never falls while it only counts up, however it is sampled', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        fc.array(
          fc.record({ ms: fc.integer({ min: 1, max: 120_000 }), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
        ),
        (start, steps) => {
          let truth = start;
          let at = 0;
          let state = follow(undefined, truth % 2 ** 32, at, NARROW);
          let shown = 0;
          for (const { ms, share } of steps) {
            at += ms;
            truth += Math.floor((share * NARROW.maxRate * ms) / 1000);
            state = follow(state, truth % 2 ** 32, at, NARROW);
            expect(state.total).toBe(truth);
            expect(Number(state.total)).toBeGreaterThanOrEqual(shown);
            shown = Number(state.total);
          }
        },
      ),
    );
  });
});

describe('the firmware clock', () => {
  const seconds = (n: number): bigint => BigInt(Math.round(n * 1e8));

  it('is believed while it keeps step with ours, and says when the sample changed', () => {
    const memory = new CardMemory();
    expect(memory.sampledAt).toBeUndefined();
    expect(memory.firmwareClock(seconds(10), 1000)).toBe('believed');
    expect(memory.firmwareClock(seconds(10), 2000)).toBe('believed');
    expect(memory.sampledAt).toBe(1000);
    expect(memory.firmwareClock(seconds(12), 3000)).toBe('believed');
    expect(memory.sampledAt).toBe(3000);
  });

  it('that goes back is a restart when it goes on from there', () => {
    const memory = new CardMemory();
    memory.firmwareClock(seconds(500), 1000);
    expect(memory.firmwareClock(seconds(3), 2000)).toBe('doubted');
    expect(memory.restarts).toBe(0);
    expect(memory.firmwareClock(seconds(4), 3000)).toBe('restarted');
    expect(memory.firmwareClock(seconds(5), 4000)).toBe('believed');
    expect(memory.restarts).toBe(1);
  });

  it('that was torn once, backwards or ahead, is no restart', () => {
    for (const off of [-(2n ** 32n), 2n ** 32n]) {
      const memory = new CardMemory();
      memory.firmwareClock(seconds(500), 1000);
      expect(memory.firmwareClock(seconds(501) + off, 2000)).toBe('doubted');
      expect(memory.firmwareClock(seconds(502), 3000)).toBe('believed');
      expect(memory.restarts).toBe(0);
    }
  });

  it('that slept with the card goes on as far as the time that passed', () => {
    const memory = new CardMemory();
    memory.firmwareClock(seconds(500), 0);
    expect(memory.firmwareClock(seconds(4100), 3_600_000)).toBe('believed');
  });
});

describe('the length of a tick', () => {
  it('is measured over ten seconds of firmware time, once', () => {
    const memory = new CardMemory();
    expect(memory.tick(0n, 0n)).toBeUndefined();
    expect(memory.tick(900_000_000n, 9_000n)).toBeUndefined();
    expect(memory.tick(1_000_000_000n, 10_000n)).toBeCloseTo(0.001, 12);
    expect(memory.tick(2_000_000_000n, 10_001n)).toBeCloseTo(0.001, 12);
    memory.forget();
    expect(memory.tick(3_000_000_000n, 10_002n)).toBeUndefined();
  });

  it('is not known where the ticks stand still or have no plausible length', () => {
    const memory = new CardMemory();
    memory.tick(0n, 0n);
    expect(memory.tick(5_000_000_000n, 0n)).toBeUndefined();
    expect(memory.tick(5_000_000_000n, 1n)).toBeUndefined();
    expect(memory.tick(undefined, 50_000n)).toBeUndefined();
  });
});

it('totals of events add up from 0', () => {
  const memory = new CardMemory();
  expect(memory.add('a', 0)).toBe(0n);
  expect(memory.add('a', 2)).toBe(2n);
  expect(memory.add('b', 1)).toBe(1n);
  expect(memory.add('a', 1)).toBe(3n);
});
