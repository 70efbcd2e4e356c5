import { isPassing } from '../../amdgpu/knobs/probe.ts';
import type { Decision, DecisionReason } from '../../model/decision.ts';
import type { Policy, Scope, Truth } from '../../model/policy.ts';
import type { Target } from '../../model/target.ts';
import type { OpenTrigger } from '../../model/trigger.ts';
import { act, claimsFor, decision, matterOf, newCase, setsKnobs } from './act.ts';
import { firstRefusal } from './guards.ts';
import { firstRungs } from './rungs.ts';
import type { Sitting } from './sitting.ts';
import { isUnproven } from './witness.ts';

/** Why a policy does nothing about a target yet; `detail` holds what it saw. */
export interface Refusal {
  reason: DecisionReason;
  detail: Record<string, unknown>;
}

/**
 * A policy and a target without an open case: whether there is reason to begin one. Its triggers are one witness, the
 * condition on our own fresh reading the second; without triggers two readings of different firmware time are needed, so
 * the first one opens a pending case only.
 */
export function consider(
  sitting: Sitting,
  policy: Policy,
  target: Target,
  triggers: readonly OpenTrigger[],
): Decision | undefined {
  const refusal = refusalOf(sitting, policy, target, triggers);
  if (refusal !== undefined) return suppressed(sitting, policy, target, refusal, triggers.at(-1)?.key);
  const keys = triggers.map((trigger) => trigger.key);
  const one = { ...newCase(sitting, policy, target, keys), deadline: leaseEnd(policy, triggers, sitting.now) };
  if (policy.forMs > 0 || policy.on.length === 0) {
    const stamp = stampOf(sitting, target);
    const pending = { ...one, holdsFrom: sitting.now, ...(stamp === undefined ? {} : { stamp }) };
    return decision(matterOf(policy, one), 'pending', 'condition_holds', sitting.now, { forMs: policy.forMs }, [
      { put: 'case', case: pending },
    ]);
  }
  return tryToAct(sitting, policy, one, true);
}

/** Asks the guards; acts, or says which of them stood in the way. */
export function tryToAct(
  sitting: Sitting,
  policy: Policy,
  before: Parameters<typeof act>[2],
  truth: Truth,
): Decision | undefined {
  const { target } = before;
  const refused = firstRefusal(sitting, policy, target);
  const trigger = before.triggers.at(-1);
  if (refused !== undefined) {
    return suppressed(sitting, policy, target, { reason: refused.guard, detail: refused.detail }, trigger);
  }
  const one = { ...before, ...firstRungs(policy, sitting.scope(target)) };
  const would = claimsFor(sitting, policy, one);
  const { claims, notAdjustable } = would;
  const reason = whyNothing(policy, would);
  if (reason !== undefined) {
    return suppressed(sitting, policy, target, { reason, detail: { knobs: notAdjustable } }, trigger);
  }
  const isPartial = notAdjustable.some(({ why }) => isPassing(why));
  return act(sitting, policy, isPartial ? { ...one, partial: true } : one, claims, truth);
}

/** Why nothing of what the policy sets can be set; undefined where something can, or it sets nothing anyway. */
export function whyNothing(
  policy: Policy,
  { claims, notAdjustable }: ReturnType<typeof claimsFor>,
): 'card_not_ok' | 'not_adjustable' | undefined {
  if (claims.length > 0 || !setsKnobs(policy) || notAdjustable.length === 0) return undefined;
  return notAdjustable.every(({ why }) => isPassing(why)) ? 'card_not_ok' : 'not_adjustable';
}

/** Why the condition side says no; undefined where the policy would act if no guard stood in the way. */
export function refusalOf(
  sitting: Sitting,
  policy: Policy,
  target: Target,
  triggers: readonly OpenTrigger[],
): Refusal | undefined {
  if (policy.mode === 'off') return { reason: 'policy_off', detail: {} };
  if (target.kind === 'workload') return { reason: 'workload_unknown', detail: {} };
  const scope = (): Scope => sitting.scopeFor(policy, target, triggers);
  if (policy.when === undefined && isUnproven(policy, triggers, scope)) return { reason: 'untrusted', detail: {} };
  if (target.kind === 'gpu') {
    const card = sitting.facts.cards.get(target.pci);
    if (card === undefined) return { reason: 'card_gone', detail: {} };
    if (card.protected) return { reason: 'protected', detail: {} };
    if (setsKnobs(policy) && card.health !== 'ok') return { reason: 'card_not_ok', detail: { health: card.health } };
  }
  const truth = policy.when?.evaluate(scope()) ?? true;
  if (truth === true) return isUnproven(policy, triggers, scope) ? { reason: 'untrusted', detail: {} } : undefined;
  return { reason: truth === 'unknown' ? 'condition_unknown' : 'condition_false', detail: {} };
}

export function stampOf({ facts }: Sitting, target: Target): string | undefined {
  return target.kind === 'gpu' ? facts.cards.get(target.pci)?.stamp : String(facts.at);
}

/** What a window or a call opens ends with it, and a moment later by itself if nobody is there to end it. */
export function leaseEnd(policy: Policy, triggers: readonly (OpenTrigger | undefined)[], now: number): number {
  const ends = triggers.map((trigger) => trigger?.until).filter((until) => until !== undefined);
  if (ends.length === 0 || ends.length < triggers.length) return now + policy.leaseMs;
  return Math.max(...ends) + (policy.dwellMs === 'manual' ? 0 : policy.dwellMs);
}

/** Told once as long as its reason stands; that an untriggered policy has nothing to do is no news at all. */
export function suppressed(
  sitting: Sitting,
  policy: Policy,
  target: Target,
  refusal: Refusal,
  trigger?: string,
): Decision | undefined {
  if (policy.on.length === 0 && refusal.reason === 'condition_false') return undefined;
  const before = sitting.book.considered.get(policy.name)?.get(sitting.keyOf(target));
  if (before?.reason === refusal.reason && before.trigger === trigger) return undefined;
  const matter = { policy, target, mode: sitting.modeOf(policy) };
  const detail = trigger === undefined ? refusal.detail : { ...refusal.detail, trigger };
  return decision(matter, 'suppressed', refusal.reason, sitting.now, detail);
}
