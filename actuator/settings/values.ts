import type { Knob, KnobName } from '../../model/claim.ts';
import type { Instant } from '../../model/instant.ts';

/** Values and times of one knob: what counts as the same value, whose it is, and when it may be written again. */

/**
 * How far a value may lie from another and still be it. Drivers keep caps in whole watts and clocks in whole MHz; a cgroup
 * keeps whole pages.
 */
const ROUNDING: Readonly<Record<KnobName, number>> = { power_cap: 0.5, gfx_clock: 1, mem_clock: 1, dmem: 4096 };

/** Failed writes in a row after which a knob is reported as failed. */
export const MAX_ATTEMPTS = 3;
const FIRST_MS = 1_000;
/** Longest pause between two writes to one knob, ms. */
export const LONGEST_MS = 60_000;

export function isSame(knob: KnobName, a: number | undefined, b: number | undefined): boolean {
  return a !== undefined && b !== undefined && Math.abs(a - b) <= ROUNDING[knob];
}

/** At the limit or below it. */
export function isWithin(knob: KnobName, value: number, limit: number): boolean {
  return value <= limit + ROUNDING[knob];
}

export const isClock = (knob: KnobName): boolean => knob === 'gfx_clock' || knob === 'mem_clock';

/** Something was written, or was about to be: there may be something to give back. */
export function isMarked(row: Knob): boolean {
  return row.writing !== undefined || row.wrote !== undefined;
}

/** What was about to be written and what was written are both ours: after a crash nobody knows which of them the card has. */
export function isOurs(row: Knob, value: number): boolean {
  return isSame(row.knob, value, row.wrote) || isSame(row.knob, value, row.writing);
}

/** Pause after so many failures in a row: 1 s, doubling to 60 s. */
export function backoffMs(attempts: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(Math.max(0, attempts - 1), 16));
}

/** Until when the row's pause lasts. One that no pause of ours can be comes from a clock that was set back, and is none. */
export function pausedUntil(row: Knob, now: Instant): Instant {
  return row.notBefore - now > LONGEST_MS ? now : row.notBefore;
}

/**
 * Pause that follows a re-application: 1 s, doubling to 60 s while somebody keeps undoing it, and 1 s again after a quiet
 * while. The last pause stands in the row: `at` is when it was last written to.
 */
export function paceMs(row: Knob, now: Instant): number {
  const last = row.attempts > 0 ? 0 : Math.max(0, row.notBefore - row.at);
  return last === 0 || now - row.notBefore > LONGEST_MS ? FIRST_MS : Math.min(LONGEST_MS, 2 * last);
}
