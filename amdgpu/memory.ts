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

interface CounterState {
  raw: number | bigint;
  wraps: bigint;
  at: number;
  /** A jump that was not believed; believed when the next reading confirms it. */
  doubted?: { raw: number | bigint; at: number };
}

/** Firmware time over which the tick is measured. */
const TICK_WINDOW_S = 10;

export class CardMemory {
  readonly #counters = new Map<string, CounterState>();
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

  /** Takes firmware_timestamp (10 ns ticks). A clock that ran backwards is a reset: every counter begins anew. */
  firmwareClock(ticks: bigint, at: number): void {
    if (this.#firmwareTicks !== undefined && ticks < this.#firmwareTicks) {
      this.#restarts += 1;
      this.forget();
    }
    if (ticks !== this.#firmwareTicks) this.#sampledAt = at;
    this.#firmwareTicks = ticks;
  }

  /** The card went away or was reset: what comes next has no history. */
  forget(): void {
    this.#counters.clear();
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

  /**
   * The counter's value with its wraps added, or undefined where the reading cannot be true (a torn 64-bit value, a rise
   * faster than the hardware can).
   */
  counter(key: string, raw: number | bigint, at: number, limits: CounterLimits): number | bigint | undefined {
    const known = this.#counters.get(key);
    if (known === undefined) {
      this.#counters.set(key, { raw, wraps: 0n, at });
      return raw;
    }
    const step = stepOf(known.raw, raw, limits.width);
    if (step.rise > ceiling(limits.maxRate, at - known.at) && !confirms(known.doubted, raw, at, limits)) {
      known.doubted = { raw, at };
      return undefined;
    }
    if (step.wrapped) known.wraps += 1n;
    known.raw = raw;
    known.at = at;
    delete known.doubted;
    return known.wraps === 0n ? raw : BigInt(raw) + (known.wraps << BigInt(limits.width));
  }
}

/** A second of slack: the driver may hand out a cached table, and our clock is not the card's. */
function ceiling(maxRate: number, elapsed: number): number {
  return maxRate * (Math.max(0, elapsed) / 1000 + 1);
}

function stepOf(before: number | bigint, now: number | bigint, width: 32 | 64): { rise: number; wrapped: boolean } {
  const rise = Number(BigInt(now) - BigInt(before));
  if (rise >= 0) return { rise, wrapped: false };
  // Falling from the upper half to the lower one is a wrap; any other fall is a restart, which is legal and begins anew.
  if (width === 32 && Number(before) >= 2 ** 31 && Number(now) < 2 ** 31) {
    return { rise: 0, wrapped: true };
  }
  return { rise: 0, wrapped: false };
}

function confirms(
  doubted: { raw: number | bigint; at: number } | undefined,
  raw: number | bigint,
  at: number,
  limits: CounterLimits,
): boolean {
  if (doubted === undefined) return false;
  const { rise } = stepOf(doubted.raw, raw, limits.width);
  return raw >= doubted.raw && rise <= ceiling(limits.maxRate, at - doubted.at);
}
