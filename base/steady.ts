import type { Clock } from './clock.ts';

export interface SteadyClock extends Clock {
  /** By how much the system's time has been set since this clock began, ms. */
  stepped(): number;
}

/**
 * A clock whose `now` began as the system's time and never steps: leases and cooldowns must not end, or never end, because
 * somebody set the time. Epoch milliseconds, as long as nobody did.
 */
export function steadyClock(clock: Clock): SteadyClock {
  const wall = clock.now();
  const start = clock.monotonic();
  const now = (): number => wall + Math.round(clock.monotonic() - start);
  return {
    now,
    monotonic: () => clock.monotonic(),
    timer: (ms, fn, options) => clock.timer(ms, fn, options),
    every: (ms, fn, options) => clock.every(ms, fn, options),
    stepped: () => clock.now() - now(),
  };
}
