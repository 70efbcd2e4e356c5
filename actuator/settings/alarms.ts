import type { Clock, Stoppable } from '../../base/clock.ts';
import type { Instant } from '../../model/instant.ts';

/** One alarm a key; the earliest that was asked for counts. */
export class Alarms {
  readonly #clock: Clock;
  readonly #now: () => Instant;
  readonly #ring: (key: string) => void;
  readonly #set = new Map<string, { at: Instant; timer: Stoppable }>();

  constructor(clock: Clock, now: () => Instant, ring: (key: string) => void) {
    this.#clock = clock;
    this.#now = now;
    this.#ring = ring;
  }

  at(key: string, at: Instant): void {
    const before = this.#set.get(key);
    if (before !== undefined && before.at <= at) return;
    before?.timer.stop();
    const timer = this.#clock.timer(Math.max(1, at - this.#now()), () => {
      this.#set.delete(key);
      this.#ring(key);
    });
    this.#set.set(key, { at, timer });
  }

  in(key: string, ms: number): void {
    this.at(key, this.#now() + ms);
  }

  clear(key: string): void {
    this.#set.get(key)?.timer.stop();
    this.#set.delete(key);
  }

  clearAll(): void {
    for (const key of [...this.#set.keys()]) this.clear(key);
  }
}
