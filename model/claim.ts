import type { Instant } from './instant.ts';

/** `power_cap` in W, clocks in MHz, `dmem` (a device-memory limit on a cgroup) in bytes. */
export const KNOBS = ['power_cap', 'gfx_clock', 'mem_clock', 'dmem'] as const;
export type KnobName = (typeof KNOBS)[number];

/** A case's wish on a knob. The most restrictive wish on a knob is what the card gets. */
export interface Claim {
  case: string;
  /** PCI address of the function that carries the knob (the package's primary die), or a cgroup. */
  on: string;
  knob: KnobName;
  /** W, MHz or bytes. */
  atMost: number;
  /** Made because of heat: when its sensor goes blind it goes to the floor and stays. */
  safety: boolean;
}

/**
 * `settled`: read back as wanted. `unsettled`: written or about to be, not (yet) as wanted. `foreign`: somebody else set it
 * below our wish, or changed it as we let go: left alone. `unsupported`: cannot be set here.
 */
export const KNOB_STATES = ['settled', 'unsettled', 'foreign', 'unsupported'] as const;
export type KnobState = (typeof KNOB_STATES)[number];

/**
 * What we did to one knob of one card. `writing` is committed before the write, `wrote` (as read back) after; either value
 * is ours, anything else on the card is a foreign hand. The row lives from the first write until the value is given back.
 */
export interface Knob {
  on: string;
  knob: KnobName;
  /** The value before our first write: what is given back. */
  found: number;
  /** Performance level before our first write, for clocks: `auto` gives the range back by itself. */
  foundLevel?: string;
  /** Lower graphics limit before our first write, MHz: an upper one that we set under it pushes it down. */
  foundLow?: number;
  writing?: number;
  wrote?: number;
  state: KnobState;
  /** Failed writes in a row. */
  attempts: number;
  /** Of these, those that were refused or did nothing: a card that was busy refuses nothing. */
  refusals?: number;
  /** No earlier than this: writes to one knob are at a bounded rate. */
  notBefore: Instant;
  /** Words for people: what the last write met. */
  detail?: string;
  at: Instant;
}

export const knobKey = (on: string, knob: KnobName): string => `${on} ${knob}`;

/** The settings of one card as read from it. A value that could not be read is not there. */
export interface Settings {
  /** W */
  power_cap?: number;
  /** Upper limit, MHz. */
  gfx_clock?: number;
  /**
   * Lower limit of the graphics clock, MHz; told in `manual` alone. One that we pushed down is told as it was before, for as long
   * as the process that pushed it remembers.
   */
  gfx_low?: number;
  /** Upper limit, MHz. */
  mem_clock?: number;
  /** power_dpm_force_performance_level. */
  level?: string;
}

/** What can be set on one knob of one card. */
export interface KnobFacts {
  knob: KnobName;
  /** PCI address of the function to write to; another than the card's own for the secondary die of a package. */
  on: string;
  adjustable: boolean;
  /** Why not, as a stable word (`virtual_function`, `fixed_range`, `read_only`, `no_file`, `asleep` …). */
  why?: string;
  /** W or MHz; the driver's range, its default, and the floor of our own that no policy goes below. */
  min?: number;
  max?: number;
  default?: number;
  floor?: number;
  /** MHz, rising: all that it can be, on a part that knows levels only. A wish is rounded down to one. */
  levels?: readonly number[];
}
