import type { Family } from '../../model/card.ts';
import type { Settings } from '../../model/claim.ts';
import { parseLevels } from '../formats/levels.ts';
import { type OverdriveClocks, parseOverdriveClocks } from '../formats/odclk.ts';
import { parsePerfLevel } from '../formats/perf.ts';
import { parseUint } from '../formats/scalar.ts';

/**
 * What the control files of one PCI function say at one moment.
 *
 * Sources: torvalds/linux drivers/gpu/drm/amd/pm/amdgpu_pm.c, swsmu/smu11/arcturus_ppt.c, swsmu/smu13/{aldebaran,smu_v13_0_6}_ppt.c.
 */

export const CAP = 'hwmon/power1_cap';
export const LEVEL = 'power_dpm_force_performance_level';
export const OVERDRIVE = 'pp_od_clk_voltage';
export const LEVELS = 'pp_dpm_sclk';
/** Names below the device directory, in the order in which they are read. */
export const CONTROL_FILES: readonly string[] = [CAP, LEVEL, OVERDRIVE, LEVELS];

/** The text of a file; undefined where it is not there or did not answer. */
export type TextOf = (name: string) => string | undefined;

/** MHz. The lower end is absent where nothing vouches for it. */
export interface ClockRange {
  min?: number;
  max: number;
}

export interface Shown {
  settings: Settings;
  /** Lower limit of the graphics clock in force, MHz. */
  low?: number;
  /** Lower end of the memory clock, MHz, which nobody can set. */
  memLow?: number;
  /** Live graphics clock, MHz, where the file stars one. */
  clock?: number;
  /** What the hardware can do, where the files say it: while nothing is limited, or in a section of their own. */
  hardware: { gfx?: ClockRange; mem?: ClockRange };
  /** MI100: the clock of every level, MHz, by its number. */
  levels?: readonly number[];
}

/** Parts whose graphics clock is a range in pp_od_clk_voltage. */
export function hasRange(family: Family): boolean {
  return family === 'mi200' || family === 'mi300' || family === 'mi350';
}

/** Parts whose memory clock has an upper limit there. */
export function hasMemoryLimit(family: Family): boolean {
  return family === 'mi300' || family === 'mi350';
}

/** Whole watts of a file in µW. A secondary die shows 0: it has no limit of its own. */
export function watts(text: string | undefined): number | undefined {
  const microwatts = text === undefined ? undefined : parseUint(text);
  return microwatts === undefined ? undefined : Math.floor(microwatts / 1e6);
}

export function shown(family: Family, text: TextOf): Shown {
  const cap = watts(text(CAP));
  const word = text(LEVEL);
  const level = word === undefined ? undefined : parsePerfLevel(word);
  const clocks = hasRange(family) ? rangeOf(family, text, level) : family === 'mi100' ? levelsOf(text, level) : {};
  const { gfx, mem, ...rest } = clocks;
  return {
    settings: {
      ...(cap && { power_cap: cap }),
      ...(gfx !== undefined && { gfx_clock: gfx }),
      ...(mem !== undefined && { mem_clock: mem }),
      ...(level && { level }),
    },
    hardware: {},
    ...rest,
  };
}

type Clocks = { gfx?: number; mem?: number } & Partial<Omit<Shown, 'settings'>>;

/** Drivers before Linux 6.7 print no range of MI200 there, but the level list shows the ends that are set. */
function rangeOf(family: Family, text: TextOf, level: string | undefined): Clocks {
  const od = parsed(text(OVERDRIVE), parseOverdriveClocks);
  const list = parsed(text(LEVELS), parseLevels);
  const gfx = inMegahertz(od?.sclk?.max ?? list?.max);
  const low = inMegahertz(od?.sclk?.min ?? list?.min);
  const clock = inMegahertz(list?.current?.hertz);
  const mem = hasMemoryLimit(family) ? inMegahertz(od?.mclk?.max) : undefined;
  // The lower end of the memory clock cannot be set: what is shown is the hardware's.
  const memLow = hasMemoryLimit(family) ? inMegahertz(od?.mclk?.min) : undefined;
  const isOpen = level === 'auto';
  const gfxRange = limitsOf(od, 'sclk') ?? (isOpen ? range(low, gfx) : undefined);
  const memRange = limitsOf(od, 'mclk') ?? (isOpen ? range(memLow, mem) : undefined);
  return {
    ...(gfx !== undefined && { gfx }),
    ...(mem !== undefined && { mem }),
    ...(low !== undefined && { low }),
    ...(memLow !== undefined && { memLow }),
    ...(clock !== undefined && { clock }),
    hardware: { ...(gfxRange && { gfx: gfxRange }), ...(memRange && { mem: memRange }) },
  };
}

/**
 * MI100 shows its levels and never which of them are masked off: the limit is known from the performance level alone, and not
 * known in `manual` nor in the profiles, which pin a level of the firmware's choice.
 */
function levelsOf(text: TextOf, level: string | undefined): Clocks {
  const list = parsed(text(LEVELS), parseLevels);
  const numbered = list?.levels.filter(({ label }) => /^\d+$/.test(label)) ?? [];
  const levels = numbered.map(({ hertz }) => hertz / 1e6);
  const [lowest, highest] = [levels[0], levels.at(-1)];
  if (lowest === undefined || highest === undefined) return {};
  const clock = inMegahertz(list?.current?.hertz);
  const gfx = level === 'auto' || level === 'high' ? highest : level === 'low' ? lowest : undefined;
  return {
    ...(gfx !== undefined && { gfx }),
    ...(clock !== undefined && { clock }),
    hardware: { gfx: { min: lowest, max: highest } },
    levels,
  };
}

function limitsOf(od: OverdriveClocks | undefined, clock: 'sclk' | 'mclk'): ClockRange | undefined {
  const limits = od?.limits[clock];
  return range(inMegahertz(limits?.min), inMegahertz(limits?.max));
}

function range(min: number | undefined, max: number | undefined): ClockRange | undefined {
  return max === undefined ? undefined : { max, ...(min !== undefined && { min }) };
}

/** A limit of 0 MHz is a file that has nothing to say. */
function inMegahertz(hertz: number | undefined): number | undefined {
  return hertz ? hertz / 1e6 : undefined;
}

function parsed<T>(text: string | undefined, parser: (text: string) => T): T | undefined {
  return text === undefined ? undefined : parser(text);
}
