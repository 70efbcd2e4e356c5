import type { Case, CaseState } from '../../model/case.ts';
import { knobKey } from '../../model/claim.ts';
import type { Change, Decision, DecisionReason } from '../../model/decision.ts';
import type { Policy } from '../../model/policy.ts';
import { targetKey } from '../../model/target.ts';
import { claimsInForce } from '../settings/in-force.ts';
import { decision, matterOf } from './act.ts';
import type { Sitting } from './sitting.ts';

/** How a case ends, by why it was let go. */
const END: Partial<Record<DecisionReason, CaseState>> = {
  lease_expired: 'expired',
  write_failed: 'failed',
  overridden: 'overridden',
};

/**
 * The claims go, and the card is given back. Nothing stands in the way of it: no guard is asked. What was a dry run, or never
 * touched a knob, is over at once.
 */
export function release(
  sitting: Sitting,
  policy: Policy,
  one: Case,
  reason: DecisionReason,
  detail: Record<string, unknown> = {},
): Decision {
  sitting.stopped(one);
  if (one.mode === 'dry_run' || one.knobs.length === 0) {
    return close(sitting, policy, one, END[reason] ?? 'released', reason, detail);
  }
  const { dwellFrom: _, ...rest } = one;
  const next: Case = { ...rest, state: 'releasing', reason };
  const outcome = reason === 'write_failed' ? 'failed' : 'released';
  return decision(matterOf(policy, one), outcome, reason, sitting.now, detail, [
    { put: 'case', case: next },
    { put: 'claims', case: one.id, claims: [] },
  ]);
}

/** The end of a case. From here its cooldown runs; a case that never acted has none. */
export function close(
  sitting: Sitting,
  policy: Policy,
  one: Case,
  state: CaseState,
  reason: DecisionReason,
  detail: Record<string, unknown> = {},
): Decision {
  const { now } = sitting;
  const acted = one.state !== 'pending';
  const changes: Change[] = [
    { put: 'case', case: { ...one, state, reason, closedAt: now } },
    { put: 'claims', case: one.id, claims: [] },
  ];
  if (acted) {
    changes.push({
      put: 'cooldown',
      policy: policy.name,
      target: targetKey(one.target),
      until: now + policy.cooldownMs,
    });
  }
  const outcome = !acted
    ? 'dropped'
    : one.state === 'releasing'
      ? 'closed'
      : state === 'failed'
        ? 'failed'
        : 'released';
  return decision(matterOf(policy, one), outcome, reason, now, detail, changes);
}

/**
 * A case that holds nothing of a card (it is pending, or a dry run), of a policy that meanwhile says something else, acts in another
 * mode, or is gone. There is nothing to give back, and what is in the files now would not be looked at as long as it stands.
 */
export function isOutdated(sitting: Sitting, one: Case): boolean {
  if (one.state !== 'pending' && one.mode !== 'dry_run') return false;
  const policy = sitting.policyNamed(one.policy);
  return policy === undefined || policy.version !== one.version || sitting.modeOf(policy) !== one.mode;
}

/** Ends it, without a cooldown: the present version is to be looked at anew. */
export function supersede(sitting: Sitting, one: Case): Decision {
  sitting.stopped(one);
  const { policy, target, mode, id } = one;
  const outcome = one.state === 'pending' ? 'dropped' : 'released';
  const changes = endWithoutPolicy(one, outcome, sitting.now);
  return { outcome, reason: POLICY_GONE, policy, target, mode, case: id, detail: {}, changes };
}

const POLICY_GONE = 'policy_gone';

/** What ends a case that no policy judges any more: its claims go, and the reconciler gives back what it set. */
export function endWithoutPolicy(one: Case, outcome: 'dropped' | 'released', now: number): Change[] {
  const { policy, target, mode, id } = one;
  return [
    { put: 'case', case: { ...one, state: outcome, reason: POLICY_GONE, closedAt: now } },
    { put: 'claims', case: id, claims: [] },
    { add: 'history', entry: { at: now, outcome, reason: POLICY_GONE, policy, target, mode, case: id, detail: {} } },
  ];
}

/** Whether all that a releasing case ever claimed is given back, held for another case, or gone with its card. */
export function isGivenBack(sitting: Sitting, one: Case): boolean {
  const { book } = sitting;
  return one.knobs.every(({ on, knob }) => {
    const row = book.knobs.get(knobKey(on, knob));
    if (row === undefined || sitting.isGone(on)) return true;
    const heldForAnother = claimsInForce(book, on).some((claim) => claim.case !== one.id && claim.knob === knob);
    return heldForAnother && row.state !== 'unsettled';
  });
}

/** The end state of a case that was releasing. */
export function endOf(one: Case, overridden: boolean): CaseState {
  if (overridden) return 'overridden';
  return END[one.reason as DecisionReason] ?? 'released';
}
