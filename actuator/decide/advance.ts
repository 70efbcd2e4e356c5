import type { Case } from '../../model/case.ts';
import type { Change, Decision } from '../../model/decision.ts';
import type { Policy, Scope, Truth } from '../../model/policy.ts';
import type { OpenTrigger } from '../../model/trigger.ts';
import { claimText, decision, knobsOf, matterOf } from './act.ts';
import { leaseEnd, stampOf, suppressed, tryToAct } from './consider.ts';
import { claimsAnew, isHeld, isMore } from './reclaim.ts';
import { close, release } from './release.ts';
import { nextRungs } from './rungs.ts';
import type { Sitting } from './sitting.ts';
import { isBlind, isUnproven, seesNoHeat } from './witness.ts';

/** A case that is open, as it stands at this moment: what is to be done about it, if anything. */
export function advance(sitting: Sitting, policy: Policy, one: Case, triggers: readonly OpenTrigger[]): Decision[] {
  const made =
    one.state === 'pending'
      ? whilePending(sitting, policy, one, triggers)
      : whileActing(sitting, policy, one, triggers);
  return made === undefined ? [] : [made];
}

function whilePending(
  sitting: Sitting,
  policy: Policy,
  one: Case,
  triggers: readonly OpenTrigger[],
): Decision | undefined {
  const { now } = sitting;
  if (policy.on.length > 0 && triggers.length === 0) return close(sitting, policy, one, 'dropped', 'trigger_closed');
  const truth = policy.when?.evaluate(sitting.scopeFor(policy, one.target, triggers)) ?? true;
  if (truth === false) return close(sitting, policy, one, 'dropped', 'condition_false');
  if (truth === 'unknown') {
    // Without a break, says `for`; and a reading that is not there is one.
    if (one.holdsFrom === undefined)
      return now >= one.deadline ? close(sitting, policy, one, 'dropped', 'lease_expired') : undefined;
    const { holdsFrom: _, ...rest } = one;
    return changed(sitting, policy, { ...rest, reason: 'condition_unknown' }, 'pending', 'condition_unknown', {});
  }
  if (one.holdsFrom === undefined) {
    const { stamp: _, ...rest } = one;
    const stamp = stampOf(sitting, one.target);
    const held: Case = {
      ...rest,
      holdsFrom: now,
      reason: 'condition_holds',
      ...(stamp === undefined ? {} : { stamp }),
    };
    return changed(sitting, policy, held, 'pending', 'condition_holds', { forMs: policy.forMs });
  }
  if (now - one.holdsFrom < policy.forMs) return undefined;
  if (policy.on.length === 0 && one.stamp === stampOf(sitting, one.target)) return undefined;
  // Who proved to have sent the first trigger may have gone since.
  if (isUnproven(policy, triggers, () => sitting.scopeFor(policy, one.target, triggers))) {
    return suppressed(sitting, policy, one.target, { reason: 'untrusted', detail: {} }, triggers.at(-1)?.key);
  }
  const deadline = Math.max(one.deadline, leaseEnd(policy, triggers, now));
  return tryToAct(sitting, policy, { ...one, deadline }, truth);
}

function whileActing(
  sitting: Sitting,
  policy: Policy,
  one: Case,
  triggers: readonly OpenTrigger[],
): Decision | undefined {
  if (one.state === 'releasing') return undefined;
  const { now } = sitting;
  const ended = triggers.length === 0;
  if (policy.on.length > 0 && ended && endsWithItsTrigger(sitting, policy, one)) {
    return release(sitting, policy, one, 'trigger_closed');
  }
  // Evaluated once: whether it may end, whether it still holds and whether anything is seen at all follow from the one truth.
  const condition = policy.until ?? policy.when;
  const scope = sitting.scopeFor(policy, one.target, triggers);
  const seen = condition?.evaluate(scope);
  // Also while its alert still fires: that came from a sensor of a while ago.
  if (seesNothing(policy, scope, seen)) return whileBlind(sitting, policy, one);
  if (one.blindFrom !== undefined) return sees(sitting, policy, one);
  if (now >= one.deadline) return release(sitting, policy, one, 'lease_expired');
  if (mayEnd(policy, seen, ended)) return whileDwelling(sitting, policy, one);
  if (one.dwellFrom !== undefined) {
    const { dwellFrom: _, ...rest } = one;
    return changed(sitting, policy, rest, 'adjusted', 'condition_holds', { dwell: 'begins anew' });
  }
  const climbed = climb(sitting, policy, one);
  if (climbed !== undefined) return climbed;
  const grown = grow(sitting, policy, one);
  if (grown !== undefined) return grown;
  return stillHolds(policy, seen) ? renewed(sitting, policy, one, 'condition_holds') : undefined;
}

/**
 * Whether nobody sees the heat: a reading that is missing leaves the condition unknown, or another value keeps the card as it is
 * while no temperature says anything.
 */
function seesNothing({ thermal, when, until }: Policy, scope: Scope, seen: Truth | undefined): boolean {
  const condition = until ?? when;
  if (!thermal || condition === undefined) return false;
  return seen === 'unknown'
    ? isBlind(condition, scope)
    : seen === false && until !== undefined && seesNoHeat(until, scope);
}

/** Whether it may be given back. Without `until` that is at the end of the trigger and of the condition together. */
function mayEnd(policy: Policy, seen: Truth | undefined, ended: boolean): boolean {
  if (policy.until !== undefined) return seen === true;
  return (ended || policy.on.length === 0) && (seen === false || policy.when === undefined);
}

/** Our own reading says that the reason stands. That a trigger is open alone says nothing new: its notices renew the lease. */
function stillHolds(policy: Policy, seen: Truth | undefined): boolean {
  return policy.until === undefined ? seen === true : seen === false;
}

/**
 * What a window or a person began, a window's end or a person ends; an alert's end is only the occasion to look. Where only a
 * person releases, it takes a person's word: that the time of a call is over is none.
 */
export function endsWithItsTrigger({ book }: Sitting, policy: Policy, one: Case): boolean {
  const triggers = one.triggers.map((key) => book.triggers.get(key));
  const ends = (trigger: OpenTrigger | undefined): boolean =>
    policy.dwellMs === 'manual'
      ? trigger?.source === 'manual' && trigger.closedAt !== undefined
      : trigger?.source === 'manual' || trigger?.source === 'schedule';
  return triggers.length > 0 && triggers.every(ends);
}

function whileDwelling(sitting: Sitting, policy: Policy, one: Case): Decision | undefined {
  const { now } = sitting;
  if (policy.dwellMs === 'manual') return undefined;
  const from = one.dwellFrom ?? now;
  if (now - from >= policy.dwellMs) return release(sitting, policy, one, 'release_condition');
  if (one.dwellFrom !== undefined) return undefined;
  return changed(sitting, policy, { ...one, dwellFrom: now }, 'adjusted', 'release_condition', {
    dwellMs: policy.dwellMs,
  });
}

/**
 * The sensor of a thermal case does not answer. For a while it is left as it is; then its claims go to the floor and stay,
 * lease or no lease: heat that nobody sees is the one thing that must not be given back by a clock.
 */
function whileBlind(sitting: Sitting, policy: Policy, one: Case): Decision | undefined {
  const { now, book } = sitting;
  if (one.blindFrom === undefined) {
    const { dwellFrom: _, ...rest } = one;
    return changed(sitting, policy, { ...rest, blindFrom: now }, 'adjusted', 'condition_unknown', {});
  }
  if (one.blind === true) {
    // A card that could not be judged when it went blind.
    const { claims, isPartial } = claimsAnew(sitting, policy, one);
    if (isPartial || claims.length === 0 || isHeld(sitting, one, claims)) return undefined;
  } else if (now - one.blindFrom < book.options.blindMs) return undefined;
  return reclaimed(sitting, policy, { ...one, blind: true }, 'blind_to_floor', { blindMs: now - one.blindFrom });
}

function sees(sitting: Sitting, policy: Policy, one: Case): Decision | undefined {
  const { blindFrom: _, blind, ...rest } = one;
  // What was blind past its lease gets a whole one: it is now looked at again.
  const seeing = { ...rest, deadline: Math.max(rest.deadline, sitting.now + policy.leaseMs) };
  if (blind !== true) return changed(sitting, policy, seeing, 'adjusted', 'sensor_back', {});
  // At the floor until it is known what else can be set.
  if (claimsAnew(sitting, policy, seeing).isPartial) return undefined;
  return reclaimed(sitting, policy, seeing, 'sensor_back', {});
}

function climb(sitting: Sitting, policy: Policy, one: Case): Decision | undefined {
  const before = one.rungs;
  if (before === undefined) return undefined;
  const { rungs = {} } = nextRungs(policy, sitting.scope(one.target), before);
  if (Object.keys(rungs).every((index) => rungs[index] === before[index])) return undefined;
  const next: Case = { ...one, rungs };
  // The ladder stays where it is until the card can be brought to the other rung.
  if (claimsAnew(sitting, policy, next).isPartial) return undefined;
  return reclaimed(sitting, policy, next, 'rung_changed', { from: before, to: rungs });
}

/** What could not be set when it acted can be now: a card that slept, or one of the node that was not there. */
function grow(sitting: Sitting, policy: Policy, one: Case): Decision | undefined {
  if (one.target.kind === 'gpu' && one.partial !== true) return undefined;
  const { claims } = claimsAnew(sitting, policy, one);
  return isMore(sitting, one, claims) ? reclaimed(sitting, policy, one, 'now_adjustable', {}) : undefined;
}

/** New claims for a case that acts: to be brought to the card, and verified, as the first ones were. */
function reclaimed(
  sitting: Sitting,
  policy: Policy,
  one: Case,
  reason: 'rung_changed' | 'blind_to_floor' | 'sensor_back' | 'now_adjustable',
  detail: Record<string, unknown>,
): Decision {
  const { claims } = claimsAnew(sitting, policy, one);
  const state = one.mode === 'enforce' && claims.length > 0 ? 'applying' : one.state;
  const next: Case = { ...one, state, reason, knobs: knobsOf(one, claims) };
  const changes: Change[] = [
    { put: 'case', case: next },
    { put: 'claims', case: one.id, claims },
  ];
  const told = { ...detail, claims: claims.map(claimText) };
  return decision(matterOf(policy, one), 'adjusted', reason, sitting.now, told, changes);
}

/** Part of a lease that has to pass before a heartbeat is worth a commit. */
const WORTH = 0.1;

/** Most triggers that a case remembers: an alert that flaps for days has a new episode each time. */
const MOST_TRIGGERS = 64;

/** The first, which began it, and the newest. */
function withNewest([first, ...rest]: readonly string[], key: string): string[] {
  return [...(first === undefined ? [] : [first]), ...rest.slice(2 - MOST_TRIGGERS), key];
}

/** A heartbeat: the lease is whole again. Not in the history: it would hold little else. */
export function renewed(
  sitting: Sitting,
  policy: Policy,
  one: Case,
  reason: 'trigger_renewed' | 'condition_holds',
  trigger?: OpenTrigger,
): Decision | undefined {
  const { now } = sitting;
  const known = one.triggers.map((key) => sitting.book.triggers.get(key));
  const news = trigger !== undefined && !one.triggers.includes(trigger.key);
  const deadline = Math.max(one.deadline, leaseEnd(policy, news ? [...known, trigger] : known, now));
  if (!news && deadline - one.deadline < policy.leaseMs * WORTH) return undefined;
  const next: Case = { ...one, deadline, triggers: news ? withNewest(one.triggers, trigger.key) : one.triggers };
  const { target, mode } = one;
  const changes: Change[] = [{ put: 'case', case: next }];
  return { outcome: 'renewed', reason, policy: policy.name, target, mode, case: one.id, detail: {}, changes };
}

function changed(
  sitting: Sitting,
  policy: Policy,
  next: Case,
  outcome: 'pending' | 'adjusted',
  reason: Decision['reason'],
  detail: Record<string, unknown>,
): Decision {
  return decision(matterOf(policy, next), outcome, reason, sitting.now, detail, [{ put: 'case', case: next }]);
}
