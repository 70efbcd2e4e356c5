import type { Knob, KnobName, Settings } from '../../model/claim.ts';
import type { Instant } from '../../model/instant.ts';

/**
 * Why a knob is written. `claim`: the wish is new. `retry`: the last write did not take. `drift`: the value is what we found,
 * though we had written. `reset`: the card lost its settings. `foreign`: somebody raised it. `unseen`: the limit does not show.
 */
export type WriteReason = 'claim' | 'retry' | 'drift' | 'reset' | 'foreign' | 'unseen';

interface Common {
  on: string;
  knob: KnobName;
}

/** The card is as restrictive as wanted, or more. `row` is there where the row must change to say so. */
export interface HoldStep extends Common {
  do: 'hold';
  current: number;
  target: number;
  row?: Knob;
}

/** To be written; `row` is the intent, to be committed first. */
export interface WriteStep extends Common {
  do: 'write';
  why: WriteReason;
  from: number;
  target: number;
  to: Settings;
  row: Knob;
  /** Pause after it took, ms. */
  paceMs: number;
  /** What we would have given back, before somebody's hand made it another value. */
  foundBefore?: number;
}

/** To be given back; `row` is the intent. */
export interface RestoreStep extends Common {
  do: 'restore';
  from: number;
  target: number;
  to: Settings;
  row: Knob;
}

/** Not ours to touch. With `restored` the row is dropped; otherwise somebody set it below our wish. */
export interface LeaveStep extends Common {
  do: 'leave';
  current?: number;
  restored?: 'given_back' | 'overridden';
  row?: Knob;
  detail: string;
}

/** Nothing now: a pause runs, or the card did not tell the value. */
export interface WaitStep extends Common {
  do: 'wait';
  until?: Instant;
  /** The pause follows a failure, which was told. */
  failing?: boolean;
  target?: number;
  current?: number;
  row?: Knob;
  detail: string;
}

/** Cannot be set here. */
export interface UnsupportedStep extends Common {
  do: 'unsupported';
  detail: string;
}

export type KnobStep = HoldStep | WriteStep | RestoreStep | LeaveStep | WaitStep | UnsupportedStep;
export type TouchingStep = WriteStep | RestoreStep;

export const isTouching = (step: KnobStep): step is TouchingStep => step.do === 'write' || step.do === 'restore';
