import { type KnobName, knobKey } from '../../model/claim.ts';
import type { Instant } from '../../model/instant.ts';
import type { Reading } from '../../model/reading.ts';

/** Whether a limit that was lowered shows in the card's own readings. Clock limits are soft, and a cap takes its time. */

/** How long a card is given to come under a limit. */
export const EFFECT_MS = 10_000;
/** Above the limit by so much is still at it. */
const TOLERANCE = 1.05;

/** Which reading shows a knob's effect, and how much of the knob's unit one of its units is. */
const SHOWS: Partial<Record<KnobName, { key: string; unit: number }>> = {
  power_cap: { key: 'power', unit: 1 },
  gfx_clock: { key: 'clock.gfx', unit: 1e-6 },
  mem_clock: { key: 'clock.mem', unit: 1e-6 },
};

/** The newest reading of one card under a key as in `CardFacts.readings`. */
export type ReadingOf = (on: string, key: string) => Reading<unknown> | undefined;

type Verdict = 'ok' | 'none' | 'unknown';

interface Watch {
  on: string;
  knob: KnobName;
  limit: number;
  until: Instant;
  /** Time of the reading that was newest at the write; it shows nothing of it. */
  stale: Instant | undefined;
  /** Fresh readings were seen, all above the limit. */
  above: boolean;
  verdict?: Verdict;
}

/** One look at a watch; the verdict stays, so that a later peak is not told as a limit that failed. */
function judge(watch: Watch, reading: ReadingOf, now: Instant): Verdict | 'pending' {
  if (watch.verdict !== undefined) return watch.verdict;
  const shows = SHOWS[watch.knob];
  const seen = shows === undefined ? undefined : reading(watch.on, shows.key);
  if (shows !== undefined && seen !== undefined && 'value' in seen && seen.at !== watch.stale) {
    const value = Number(seen.value) * shows.unit;
    if (value <= watch.limit * TOLERANCE) watch.verdict = 'ok';
    else if (!Number.isNaN(value)) watch.above = true;
  }
  if (watch.verdict === undefined && now >= watch.until) watch.verdict = watch.above ? 'none' : 'unknown';
  return watch.verdict ?? 'pending';
}

/** The limits whose effect is being looked for, or was found. */
export class Effects {
  readonly #watches = new Map<string, Watch>();
  readonly #reading: ReadingOf | undefined;
  readonly #effectMs: number;

  /** Without readings no effect is ever told. */
  constructor(reading: ReadingOf | undefined, effectMs: number = EFFECT_MS) {
    this.#reading = reading;
    this.#effectMs = effectMs;
  }

  /** A limit was lowered just now. */
  begin(on: string, knob: KnobName, limit: number, now: Instant): void {
    const shows = SHOWS[knob];
    if (shows === undefined || this.#reading === undefined) return;
    const stale = this.#reading(on, shows.key)?.at;
    this.#watches.set(knobKey(on, knob), { on, knob, limit, until: now + this.#effectMs, stale, above: false });
  }

  end(on: string, knob: KnobName): void {
    this.#watches.delete(knobKey(on, knob));
  }

  /** Undefined: nothing was lowered, or nothing fresh was there to tell. */
  of(on: string, knob: KnobName, now: Instant): 'ok' | 'none' | 'pending' | undefined {
    const watch = this.#watches.get(knobKey(on, knob));
    if (watch === undefined || this.#reading === undefined) return undefined;
    const verdict = judge(watch, this.#reading, now);
    return verdict === 'unknown' ? undefined : verdict;
  }
}
