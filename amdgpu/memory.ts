/**
 * What a card must remember between passes: the last value of its counters, so that a 32-bit counter that wrapped goes on
 * rising and a torn value is not believed, and when the firmware last took a new sample.
 */
export interface CounterLimits {
  /** Width of the field in bits; a drop from the upper half is a wrap only for narrow ones. */
  width: 32 | 64;
  /** Fastest that it can rise, in its own unit a second. */
  maxRate: number;
}

export interface CounterState {
  /** Last value that was believed. */
  raw: number | bigint;
  at: number;
  wraps: number;
  /** With the wraps; undefined where the newest value is not believed. */
  total: number | bigint | undefined;
  /** A jump that was not believed; believed when the next reading confirms it. */
  doubted: { raw: number | bigint; at: number } | undefined;
}

const HALF_32 = 2 ** 31;

/** Takes the next raw value of a counter. The state is changed in place: one a series lives as long as the card. */
export function follow(
  state: CounterState | undefined,
  raw: number | bigint,
  at: number,
  limits: CounterLimits,
): CounterState {
  if (state === undefined) return { raw, at, wraps: 0, total: raw, doubted: undefined };
  const rise = difference(state.raw, raw);
  if (rise > ceiling(limits.maxRate, at - state.at) && !confirms(state.doubted, raw, at, limits)) {
    state.doubted = { raw, at };
    state.total = undefined;
    return state;
  }
  // Falling from the upper half to the lower one is a wrap; any other fall is a restart, which is legal and begins anew.
  if (rise < 0) state.wraps = limits.width === 32 && state.raw >= HALF_32 && raw < HALF_32 ? state.wraps + 1 : 0;
  state.raw = raw;
  state.at = at;
  state.doubted = undefined;
  state.total = state.wraps === 0 ? raw : Number(raw) + state.wraps * 2 ** 32;
  return state;
}

function difference(before: number | bigint, now: number | bigint): number {
  if (typeof before === 'number' && typeof now === 'number') return now - before;
  return Number(BigInt(now) - BigInt(before));
}

/** A second of slack: the driver may hand out a cached table, and our clock is not the card's. */
function ceiling(maxRate: number, elapsed: number): number {
  return maxRate * (Math.max(0, elapsed) / 1000 + 1);
}

function confirms(
  doubted: { raw: number | bigint; at: number } | undefined,
  raw: number | bigint,
  at: number,
  limits: CounterLimits,
): boolean {
  if (doubted === undefined || raw < doubted.raw) return false;
  return difference(doubted.raw, raw) <= ceiling(limits.maxRate, at - doubted.at);
}

/** Firmware time over which the tick is measured. */
const TICK_WINDOW_S = 10;

export class CardMemory {
  readonly #totals = new Map<string, bigint>();
  #tickStart: { firmware: bigint; ticks: bigint } | undefined;
  #tick: number | undefined;
  #firmwareTicks: bigint | undefined;
  #sampledAt: number | undefined;
  #restarts = 0;

  /** Times that the firmware clock was seen to go backwards: GPU reset or driver reload. */
  get restarts(): number {
    return this.#restarts;
  }

  /** When firmware_timestamp last changed, ms since the epoch; undefined before the first sample. */
  get sampledAt(): number | undefined {
    return this.#sampledAt;
  }

  /** Takes firmware_timestamp (10 ns ticks); true where it ran backwards: a reset, after which every counter begins anew. */
  firmwareClock(ticks: bigint, at: number): boolean {
    const restarted = this.#firmwareTicks !== undefined && ticks < this.#firmwareTicks;
    if (restarted) {
      this.#restarts += 1;
      this.forget();
    }
    if (ticks !== this.#firmwareTicks) this.#sampledAt = at;
    this.#firmwareTicks = ticks;
    return restarted;
  }

  /** The card went away or was reset: what comes next has no history. */
  forget(): void {
    this.#firmwareTicks = undefined;
    this.#tickStart = undefined;
    this.#tick = undefined;
  }

  /**
   * Length of one tick of accumulation_counter in seconds, measured against firmware_timestamp; undefined until enough of
   * both has gone by. Measured once and then kept: a length that went on changing would make counters in seconds fall.
   */
  tick(firmware: bigint, ticks: bigint): number | undefined {
    if (this.#tick !== undefined) return this.#tick;
    const start = this.#tickStart;
    if (start === undefined || ticks < start.ticks || firmware < start.firmware) {
      this.#tickStart = { firmware, ticks };
      return undefined;
    }
    const seconds = Number(firmware - start.firmware) * 1e-8;
    if (seconds < TICK_WINDOW_S || ticks === start.ticks) return undefined;
    const tick = seconds / Number(ticks - start.ticks);
    if (tick < 1e-5 || tick > 0.1) return undefined;
    this.#tick = tick;
    return tick;
  }

  /** A total of events that the driver forgets once it has told them (flags that a read clears). */
  add(key: string, amount: number): bigint {
    const total = (this.#totals.get(key) ?? 0n) + BigInt(amount);
    this.#totals.set(key, total);
    return total;
  }
}
