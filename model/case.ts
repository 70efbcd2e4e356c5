import type { KnobName } from './claim.ts';
import type { Instant } from './instant.ts';
import type { Target } from './target.ts';

/**
 * pending: the condition holds, its `for` is not over. applying: claims are made, the card is not verified yet.
 * active: verified. releasing: claims are gone, the card is being given back. The rest is the end.
 */
export const CASE_STATES = [
  'pending',
  'applying',
  'active',
  'releasing',
  'released',
  'expired',
  'overridden',
  'failed',
  'dropped',
] as const;
export type CaseState = (typeof CASE_STATES)[number];

/** States in which a case holds, or still gives back, something. */
export const OPEN_STATES: ReadonlySet<CaseState> = new Set(['pending', 'applying', 'active', 'releasing']);

/** What one policy does about one target, from the first doubt to the value given back. */
export interface Case {
  id: string;
  policy: string;
  /** Fingerprint of the policy's text: an open case keeps the version that began it. */
  version: string;
  target: Target;
  state: CaseState;
  mode: 'dry_run' | 'enforce';
  /** Keys of the triggers that opened or renewed it. */
  triggers: string[];
  openedAt: Instant;
  /** End of the lease. */
  deadline: Instant;
  /** Since when the condition holds without a break (`for`). */
  holdsFrom?: Instant;
  /** Since when the release condition holds without a break (`dwell`). */
  dwellFrom?: Instant;
  /** Since when the release condition cannot be evaluated. */
  blindFrom?: Instant;
  /** Goes to the floor: a thermal case whose sensor went blind. */
  blind?: boolean;
  /** Knobs that it claimed; they are what `releasing` waits for. */
  knobs: { on: string; knob: KnobName }[];
  /** Rung of each ladder action in force, by index of the action; -1 is none. */
  rungs?: Record<string, number>;
  /** The firmware's timestamp of the first reading under which the condition held, for policies without trigger. */
  stamp?: string;
  /** Something that it wants could not be set when it acted, for a reason that passes. */
  partial?: boolean;
  /** All that it claimed was read back once: what fails from then on is the change of a limit that holds. */
  verified?: boolean;
  attempts: number;
  /** Why it is in this state. */
  reason: string;
  closedAt?: Instant;
}
