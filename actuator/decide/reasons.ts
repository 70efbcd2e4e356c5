import type { DecisionReason, Outcome } from '../../model/decision.ts';

/** Which reasons each outcome can have: what exists in the metrics at 0 from the start. */
const BY_OUTCOME: Readonly<Record<Outcome, readonly DecisionReason[]>> = {
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
    'condition_holds',
    'condition_unknown',
    'release_condition',
  ],
  verified: ['settled'],
  failed: ['write_failed'],
  released: ['release_condition', 'trigger_closed', 'lease_expired', 'released_by_person', 'reverted', 'policy_gone'],
  closed: ['given_back', 'overridden', 'card_gone'],
  dropped: ['trigger_closed', 'condition_false', 'lease_expired', 'reverted', 'released_by_person', 'policy_gone'],
};

export const DECIDED: readonly (readonly [Outcome, DecisionReason])[] = (Object.keys(BY_OUTCOME) as Outcome[]).flatMap(
  (outcome) => BY_OUTCOME[outcome].map((reason) => [outcome, reason] as const),
);
