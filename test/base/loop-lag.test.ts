import { describe, expect, it } from 'vitest';
import { fakeClock, sleep, systemClock } from '../../base/clock.ts';
import { measureLoopLag } from '../../base/loop-lag.ts';

describe('measureLoopLag', () => {
  it('knows nothing before its first window is over, then tells how long the loop was held', async () => {
    const clock = fakeClock();
    const lag = measureLoopLag({ clock, windowMs: 1_000, resolutionMs: 5 });
    expect(lag.latest()).toBeUndefined();
    await sleep(systemClock, 30, { keepAlive: true });
    const end = performance.now() + 120;
    while (performance.now() < end);
    await sleep(systemClock, 30, { keepAlive: true });
    clock.advance(1_000);
    const sample = lag.latest();
    expect(sample?.max).toBeGreaterThan(0.1);
    expect(sample?.max).toBeLessThan(2);
    expect(sample?.p50).toBeLessThan(sample!.max);
    lag.stop();
    expect(clock.pending()).toBe(0);
  });

  it('starts every window afresh', async () => {
    const clock = fakeClock();
    const lag = measureLoopLag({ clock, windowMs: 1_000, resolutionMs: 5 });
    await sleep(systemClock, 20, { keepAlive: true });
    clock.advance(1_000);
    expect(lag.latest()).toBeDefined();
    clock.advance(1_000);
    expect(lag.latest()).toBeUndefined();
    lag.stop();
  });
});
