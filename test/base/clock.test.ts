import { describe, expect, it } from 'vitest';
import { fakeClock, sleep, systemClock } from '../../base/clock.ts';

describe('fakeClock', () => {
  it('calls timers at their exact time and in order', () => {
    const clock = fakeClock(1_000);
    const seen: string[] = [];
    clock.timer(20, () => seen.push(`b@${clock.now()}`));
    clock.timer(10, () => seen.push(`a@${clock.now()}`));
    clock.timer(20, () => seen.push(`c@${clock.now()}`));
    clock.advance(19);
    expect(seen).toEqual(['a@1010']);
    clock.advance(1);
    expect(seen).toEqual(['a@1010', 'b@1020', 'c@1020']);
    expect(clock.pending()).toBe(0);
  });

  it('repeats until stopped, also for timers set inside a callback', () => {
    const clock = fakeClock();
    const seen: number[] = [];
    const every = clock.every(10, () => seen.push(clock.monotonic()));
    clock.timer(5, () => clock.timer(20, () => every.stop()));
    clock.advance(100);
    expect(seen).toEqual([10, 20]);
    expect(clock.monotonic()).toBe(100);
  });

  it('moves wall time without touching intervals', () => {
    const clock = fakeClock();
    clock.setWall(5_000);
    expect(clock.now()).toBe(5_000);
    expect(clock.monotonic()).toBe(0);
    clock.advance(10);
    expect(clock.now()).toBe(5_010);
  });

  it('lets promises settle between callbacks', async () => {
    const clock = fakeClock();
    const seen: number[] = [];
    const chain = (async () => {
      await sleep(clock, 10);
      seen.push(clock.monotonic());
      await sleep(clock, 10);
      seen.push(clock.monotonic());
    })();
    await clock.settle(100);
    await chain;
    expect(seen).toEqual([10, 20]);
  });
});

describe('systemClock', () => {
  it('fires timers, stops them, and never runs back', async () => {
    const before = systemClock.monotonic();
    let stoppedFired = false;
    systemClock
      .timer(1, () => {
        stoppedFired = true;
      })
      .stop();
    let ticks = 0;
    const every = systemClock.every(1, () => ticks++);
    await sleep(systemClock, 20, { keepAlive: true });
    every.stop();
    expect(stoppedFired).toBe(false);
    expect(ticks).toBeGreaterThan(0);
    expect(systemClock.monotonic()).toBeGreaterThan(before);
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
  });
});
