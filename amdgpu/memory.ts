/**
 * What a card must remember between passes: the last value of its counters, so that a 32-bit counter that wrapped goes on
 * rising and a torn value is not believed, and when the firmware last took a new sample.
 */
export interface CounterLimits {
  /** Width of the field in bits; only narrow ones are taken to wrap. */
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
  /** A jump or fall that was not believed; believed when the next reading confirms it. */
  doubted: { raw: number | bigint; at: number } | undefined;
}

const TWO_32 = 2 ** 32;

/** Takes the next raw value of a counter. The state is changed in place: one a series lives as long as the card. */
export function follow(
  state: CounterState | undefined,
  raw: number | bigint,
  at: number,
  limits: CounterLimits,
): CounterState {
  if (state === undefined) return { raw, at, wraps: 0, total: raw, doubted: undefined };
  const most = ceiling(limits.maxRate, at - state.at);
  const step = difference(state.raw, raw);
  // A narrow field that fell has wrapped if that is a rise it can have made; every other fall is a restart or a torn value.
  const wrapped = step < 0 && limits.width === 32 && step + TWO_32 <= most;
  const believed = wrapped || (step >= 0 && step <= most);
  if (!believed && !confirms(state.doubted, raw, at, limits)) {
    state.doubted = { raw, at };
    state.total = undefined;
    return state;
  }
  if (wrapped) state.wraps += 1;
  else if (step < 0) state.wraps = 0;
  state.raw = raw;
  state.at = at;
  state.doubted = undefined;
  state.total = state.wraps === 0 ? raw : Number(raw) + state.wraps * TWO_32;
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

export type ClockVerdict = 'believed' | 'restarted' | 'doubted';

/** Ticks of firmware_timestamp a second, and how far from that our two clocks may make it seem. */
const FIRMWARE_RATE = 1e8;
const CLOCK_TOLERANCE = 1.1;

function follows(before: bigint, now: bigint, elapsedMs: number): boolean {
  return now >= before && Number(now - before) <= ceiling(FIRMWARE_RATE * CLOCK_TOLERANCE, elapsedMs);
}

/** Firmware time over which the tick is measured. */
const TICK_WINDOW_S = 10;

export class CardMemory {
  readonly #totals = new Map<string, bigint>();
  #tickStart: { firmware: bigint; ticks: bigint } | undefined;
  #tick: number | undefined;
  #firmwareTicks: bigint | undefined;
  #firmwareAt = 0;
  #doubtedClock: bigint | undefined;
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

  /**
   * Takes firmware_timestamp (10 ns ticks). A clock that ran backwards is a reset, after which every counter begins anew; one
   * that ran ahead cannot be. Neither is believed before the next reading goes on from there: half of a 64-bit value that is
   * read while it is written is 43 seconds off.
   */
  firmwareClock(ticks: bigint, at: number): ClockVerdict {
    const last = this.#firmwareTicks;
    if (last !== undefined && !follows(last, ticks, at - this.#firmwareAt)) {
      const doubted = this.#doubtedClock;
      if (doubted === undefined || !follows(doubted, ticks, at - this.#firmwareAt)) {
        this.#doubtedClock = ticks;
        return 'doubted';
      }
      if (ticks < last) {
        this.#restarts += 1;
        this.forget();
        this.#setClock(ticks, at);
        return 'restarted';
      }
    }
    this.#setClock(ticks, at);
    return 'believed';
  }

  #setClock(ticks: bigint, at: number): void {
    if (ticks !== this.#firmwareTicks) this.#sampledAt = at;
    this.#firmwareTicks = ticks;
    this.#firmwareAt = at;
    this.#doubtedClock = undefined;
  }

  /** The card went away or was reset: what comes next has no history. */
  forget(): void {
    this.#firmwareTicks = undefined;
    this.#doubtedClock = undefined;
    this.#tickStart = undefined;
    this.#tick = undefined;
  }

  /**
   * Length of one tick of accumulation_counter in seconds, measured against firmware_timestamp; undefined until enough of
   * both has gone by. Measured once and then kept: a length that went on changing would make counters in seconds fall.
   */
  tick(firmware: bigint | undefined, ticks: bigint): number | undefined {
    if (this.#tick !== undefined || firmware === undefined) return this.#tick;
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
