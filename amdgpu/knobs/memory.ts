import type { Settings } from '../../model/claim.ts';
import type { Step } from './plan.ts';
import { highestLevel } from './plan-levels.ts';
import { type ClockRange, LEVELS, type Shown } from './shown.ts';

/** MHz between which the hardware can clock, and MI100's levels, as far as known. */
export interface Hardware {
  gfx?: ClockRange;
  mem?: ClockRange;
  levels?: readonly number[];
}

/** How long the live clock may still be above a limit that was just set, ms: the firmware averages and the driver caches. */
const SETTLING_MS = 1000;
/** A level's live clock is shown up to this far off its nominal one, MHz. */
const SAME_LEVEL = 25;

/**
 * What one card's files do not say at every moment and later decisions need: the hardware's ranges, which are seen only while
 * nothing is limited; the lower limit that we pushed down; and the limit of MI100, which no file shows.
 *
 * MI100's limit is vouched for by three things together: the driver took the mask, the level has been `manual` ever since we
 * looked, and the live clock has not been seen above it. When one of them fails, or after a restart of ours, the limit is not
 * known and is not told. Another hand's mask below ours shows in nothing and stays unseen.
 */
export class KnobMemory {
  #hardware: Hardware = {};
  /** Highest clocks by the topology, which knows them whatever is set. */
  #topology: { gfx?: number; mem?: number } = {};
  #low: { now: number; kept: number } | undefined;
  #vouched: { mhz: number; at: number } | undefined;

  /** What the hardware can do: as seen while nothing was limited, else as far as what is in force and the topology tell. */
  hardware(shown: Shown): Hardware {
    const { gfx, mem } = { ...shown.hardware, ...this.#hardware };
    // In `manual` it is what somebody set, and in a level that pins the clock it is the pin.
    const low = ['perf_determinism', 'auto'].includes(shown.settings.level ?? '') ? shown.low : undefined;
    const known: Hardware = {};
    const [gfxTop, memTop] = [gfx?.max ?? this.#topology.gfx, mem?.max ?? this.#topology.mem];
    const gfxMin = gfx?.min ?? low;
    if (gfxTop !== undefined) known.gfx = { max: gfxTop, ...(gfxMin !== undefined && { min: gfxMin }) };
    const memMin = mem?.min ?? shown.memLow;
    if (memTop !== undefined) known.mem = { max: memTop, ...(memMin !== undefined && { min: memMin }) };
    const levels = this.#hardware.levels ?? shown.levels;
    return levels === undefined ? known : { ...known, levels };
  }

  seeTopology(gfx: number | undefined, mem: number | undefined): void {
    this.#topology = { ...(gfx && { gfx }), ...(mem && { mem }) };
  }

  /** Takes in what was read at `now` (ms, steady), and returns the settings that can be vouched for. */
  see(shown: Shown, now: number): Settings {
    const { settings, hardware, levels, low } = shown;
    const { level } = settings;
    this.#hardware = { ...this.#hardware, ...hardware };
    if (levels !== undefined) this.#hardware.levels = common(this.#hardware.levels, levels);
    if (level !== 'manual' || low === undefined) this.#low = undefined;
    else this.#low = { now: low, kept: this.#low?.now === low ? this.#low.kept : low };
    if (level !== 'manual') this.#vouched = undefined;
    if (this.#low !== undefined) return { ...settings, gfx_low: this.#low.kept };
    const vouched = this.#vouched;
    if (vouched === undefined || settings.gfx_clock !== undefined) return settings;
    const isAbove = shown.clock !== undefined && shown.clock > vouched.mhz + SAME_LEVEL;
    if (isAbove && now - vouched.at > SETTLING_MS) {
      this.#vouched = undefined;
      return settings;
    }
    return { ...settings, gfx_clock: vouched.mhz };
  }

  /** Every step of a plan was taken, upon which `shown` was read. */
  wrote(steps: readonly Step[], to: Settings, shown: Shown, now: number): void {
    const before = this.#low;
    const pushed = /^s 0 (\d+)$/;
    const low = steps.map(({ text }) => pushed.exec(text)?.[1]).find((mhz) => mhz !== undefined);
    if (low !== undefined && shown.settings.level === 'manual' && shown.low === Number(low)) {
      // Entered from another level there was no lower limit of anybody's; what we staged is the hardware's, or as low as needed.
      const kept = to.gfx_low ?? before?.kept ?? this.#hardware.gfx?.min ?? Number(low);
      this.#low = { now: shown.low, kept };
    }
    const levels = this.#hardware.levels ?? shown.levels;
    if (levels === undefined || to.gfx_clock === undefined || !steps.some(({ file }) => file === LEVELS)) return;
    const mhz = levels[highestLevel(levels, to.gfx_clock) ?? -1];
    this.#vouched = mhz === undefined ? undefined : { mhz, at: now };
  }

  /** The card was reset, reloaded or away. The hardware is the same. */
  forget(): void {
    this.#low = undefined;
    this.#vouched = undefined;
  }
}

/** A clock between two levels can be shown on a line of its own, which is no level: what every look has in common is. */
function common(known: readonly number[] | undefined, seen: readonly number[]): readonly number[] {
  return known === undefined ? seen : known.filter((mhz) => seen.includes(mhz));
}
