import type { Clock } from './clock.ts';

/** Lets `burst` through at once and one more every `intervalMs`. */
export function tokenBucket(clock: Clock, intervalMs: number, burst: number): { take(): boolean } {
  let tokens = burst;
  let filledAt = clock.monotonic();
  return {
    take() {
      const now = clock.monotonic();
      tokens = Math.min(burst, tokens + (now - filledAt) / intervalMs);
      filledAt = now;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
