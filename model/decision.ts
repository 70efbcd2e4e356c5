import type { Case } from './case.ts';
import type { Claim, Knob, KnobName } from './claim.ts';
import type { Instant } from './instant.ts';
import type { Moment } from './policy.ts';
import type { Target } from './target.ts';
import type { OpenTrigger } from './trigger.ts';

/**
 * What became of a policy's look at a target, and why: the same words in metrics, log, history and explain; `docs/actuator.md`
 * explains each. What can go together exists in the metrics at 0 from the start.
 */
const REASONS_OF = {
  pending: ['condition_holds', 'condition_unknown'],
  acted: ['condition_true'],
  renewed: ['trigger_renewed', 'condition_holds'],
  suppressed: [
    'condition_false',
    'condition_unknown',
    'policy_off',
    'paused',
    'breaker_open',
    'frozen',
    'cooldown',
    'rate',
    'limit_gpus',
    'limit_percent',
    'protected',
    'card_not_ok',
    'card_gone',
    'not_adjustable',
    'no_target',
    'number_moved',
    'untrusted',
    'workload_unknown',
  ],
  adjusted: [
    'rung_changed',
    'blind_to_floor',
    'sensor_back',
    'now_adjustable',
    'condition_holds',
    'condition_unknown',
    'release_condition',
  ],
  verified: ['settled'],
  failed: ['write_failed'],
  released: ['release_condition', 'trigger_closed', 'lease_expired', 'released_by_person', 'reverted', 'policy_gone'],
  closed: ['given_back', 'overridden', 'card_gone'],
  dropped: ['trigger_closed', 'condition_false', 'lease_expired', 'reverted', 'released_by_person', 'policy_gone'],
} as const;
export type Outcome = keyof typeof REASONS_OF;
export type DecisionReason = (typeof REASONS_OF)[Outcome][number];

export const OUTCOMES = Object.keys(REASONS_OF) as [Outcome, ...Outcome[]];
/** Every outcome with every reason that it can have. */
export const DECIDED: readonly (readonly [Outcome, DecisionReason])[] = OUTCOMES.flatMap((outcome) =>
  REASONS_OF[outcome].map((reason) => [outcome, reason] as const),
);
export const DECISION_REASONS = [...new Set(DECIDED.map(([, reason]) => reason))] as [
  DecisionReason,
  ...DecisionReason[],
];

/** Stops new acts until lifted; `revert` also gives everything back. */
export interface Pause {
  id: string;
  reason: string;
  author: string;
  since: Instant;
  /** Ends by itself. */
  until?: Instant;
  /** Of one policy only. */
  policy?: string;
}

/** Latch that stops new acts after failures in a row; a person closes it. Never stops release. */
export interface Breaker {
  open: boolean;
  reason: string;
  since: Instant;
  /** Times of recent failed acts. */
  failures: Instant[];
}

/** One line of the audit. */
export interface HistoryEntry {
  at: Instant;
  outcome: Outcome | 'write' | 'foreign' | 'pause' | 'resume' | 'reload' | 'start' | 'notice';
  reason: string;
  policy?: string;
  target?: Target;
  case?: string;
  mode?: 'dry_run' | 'enforce';
  /** Numbers and words that explain it: values, limits, steps. */
  detail: Record<string, unknown>;
}

/** What the ledger can be told; a commit is a list of these, all or none. */
export type Change =
  | { put: 'trigger'; trigger: OpenTrigger }
  | { drop: 'trigger'; key: string }
  | { put: 'case'; case: Case }
  /** All claims of this case; an empty list takes them away. */
  | { put: 'claims'; case: string; claims: readonly Claim[] }
  | { put: 'knob'; knob: Knob }
  | { drop: 'knob'; on: string; knob: KnobName }
  | { put: 'cooldown'; policy: string; target: string; until: Instant }
  | { put: 'act'; policy: string; target: string; at: Instant }
  | { put: 'pause'; pause: Pause }
  | { drop: 'pause'; id: string }
  | { put: 'breaker'; breaker: Breaker }
  /** The loaded form of a policy version, so that a case outlives the file it came from. */
  | { put: 'policy'; name: string; version: string; source: string }
  | { put: 'number'; gpu: number; pci: string; since: Instant }
  | { add: 'history'; entry: HistoryEntry };

/** A word to people. */
export interface Notice {
  policy: string;
  moment: Moment | 'notify';
  target: Target;
  text: string;
}

/** One decision with its reason, and what it changes in the book. */
export interface Decision {
  outcome: Outcome;
  reason: DecisionReason;
  policy: string;
  target: Target;
  mode: 'dry_run' | 'enforce';
  case?: string;
  detail: Record<string, unknown>;
  changes: readonly Change[];
  notices?: readonly Notice[];
}
