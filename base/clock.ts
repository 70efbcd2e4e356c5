export interface Stoppable {
  stop(): void;
}

export interface TimerOptions {
  /** Keep the process running for this timer; otherwise a timer alone keeps nothing alive. */
  keepAlive?: boolean;
}

/** Time as a service: nothing below the command line asks the system for it. */
export interface Clock {
  /** Milliseconds since the epoch; can jump when the system's time is set. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. For every interval and deadline. */
  monotonic(): number;
  /** Calls once after `ms`. */
  timer(ms: number, fn: () => void, options?: TimerOptions): Stoppable;
  /** Calls every `ms`, first after `ms`. */
  every(ms: number, fn: () => void, options?: TimerOptions): Stoppable;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(ms, fn, options) {
    const handle = setTimeout(fn, ms);
    if (!options?.keepAlive) handle.unref();
    return { stop: () => clearTimeout(handle) };
  },
  every(ms, fn, options) {
    const handle = setInterval(fn, ms);
    if (!options?.keepAlive) handle.unref();
    return { stop: () => clearInterval(handle) };
  },
};

/** Resolves after `ms` of this clock. */
export function sleep(clock: Clock, ms: number, options?: TimerOptions): Promise<void> {
  return new Promise((resolve) => {
    clock.timer(ms, resolve, options);
  });
}

/** Waits for the work, and no longer than `ms` of this clock; true where it was done in time. */
export function within(clock: Clock, work: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.timer(ms, () => resolve(false));
    void work.finally(() => {
      timer.stop();
      resolve(true);
    });
  });
}

export interface FakeClock extends Clock {
  /** Moves both times on, calling what falls due at its exact time, in order; a callback may set new timers. */
  advance(ms: number): void;
  /** As `advance`, but lets promises settle after each callback. */
  settle(ms: number): Promise<void>;
  /** Sets the wall time alone, as an operator or NTP would. */
  setWall(epochMs: number): void;
  /** Timers that are still set. */
  pending(): number;
}

interface Entry {
  due: number;
  order: number;
  period?: number;
  fn: () => void;
}

/** A clock that stands still until told to move. Starts at a fixed instant so that output can be compared. */
export function fakeClock(startEpochMs = Date.UTC(2025, 0, 1)): FakeClock {
  let mono = 0;
  let wallOffset = startEpochMs;
  let order = 0;
  const entries = new Set<Entry>();

  function add(ms: number, fn: () => void, period?: number): Stoppable {
    const entry: Entry = { due: mono + Math.max(0, ms), order: order++, fn };
    // A period of 0 would never let `advance` return.
    if (period !== undefined) entry.period = Math.max(1, period);
    entries.add(entry);
    return { stop: () => void entries.delete(entry) };
  }

  function* dueUntil(end: number): Generator<void> {
    for (;;) {
      let next: Entry | undefined;
      for (const entry of entries) {
        if (entry.due > end) continue;
        if (!next || entry.due < next.due || (entry.due === next.due && entry.order < next.order)) next = entry;
      }
      if (!next) break;
      mono = Math.max(mono, next.due);
      if (next.period === undefined) entries.delete(next);
      else {
        next.due += next.period;
        next.order = order++;
      }
      next.fn();
      yield;
    }
    mono = end;
  }

  return {
    now: () => wallOffset + mono,
    monotonic: () => mono,
    timer: (ms, fn) => add(ms, fn),
    every: (ms, fn) => add(ms, fn, ms),
    advance(ms) {
      for (const _ of dueUntil(mono + ms));
    },
    async settle(ms) {
      await settlePromises();
      for (const _ of dueUntil(mono + ms)) await settlePromises();
    },
    setWall(epochMs) {
      wallOffset = epochMs - mono;
    },
    pending: () => entries.size,
  };
}

function settlePromises(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
