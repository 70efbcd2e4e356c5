import type { Book } from '../../model/book.ts';
import type { Case } from '../../model/case.ts';
import type { Decision, DecisionReason } from '../../model/decision.ts';
import type { Facts } from '../../model/facts.ts';
import type { Policy } from '../../model/policy.ts';
import { type Target, targetKey } from '../../model/target.ts';
import type { OpenTrigger, Trigger } from '../../model/trigger.ts';
import { advance, renewed } from './advance.ts';
import { consider, suppressed } from './consider.ts';
import type { Event } from './event.ts';
import { aimOf, isFor, openFor } from './match.ts';
import { close, isOutdated, release, supersede } from './release.ts';
import { hear, settle } from './settle.ts';
import { type Look, Sitting } from './sitting.ts';
import { hasProof } from './witness.ts';

/**
 * What follows from an event, given the book and the facts; nothing is changed and nothing is asked beyond the arguments.
 * The live loop, `nightshift test` and `explain` call this one function.
 */
export function decide(book: Book, event: Event, facts: Facts): Decision[] {
  const sitting = new Sitting(book, facts);
  switch (event.type) {
    case 'triggers':
      return onTriggers(sitting, event.triggers);
    case 'tick':
      return onTick(sitting);
    case 'knob':
      return hear(sitting, (one) => policyOf(book, one), event.report);
    case 'pause': {
      const { policy: only } = event.pause;
      const cases = [...book.cases.values()].filter((one) => only === undefined || one.policy === only);
      return event.revert ? giveBack(sitting, cases, 'reverted', event.pause) : [];
    }
    case 'revert': {
      const cases = [...book.cases.values()].filter((one) => event.case === undefined || one.id === event.case);
      const reason = event.case === undefined ? 'reverted' : 'released_by_person';
      return giveBack(sitting, cases, reason, { author: event.author, reason: event.reason });
    }
  }
}

/** The version of the policy that began the case, also when the file has moved on. */
export function policyOf(book: Book, one: Case): Policy | undefined {
  const held = book.versions.get(one.policy)?.get(one.version);
  return held ?? book.rules.policies.find((policy) => policy.name === one.policy && policy.version === one.version);
}

/** Each pair of policy and target is looked at once, with all its open triggers, however many of them came together. */
function onTriggers(sitting: Sitting, triggers: readonly Trigger[]): Decision[] {
  const decisions: Decision[] = [];
  for (const policy of sitting.book.rules.policies) {
    const own = triggers.filter((trigger) => isFor(policy, trigger));
    if (own.length === 0) continue;
    const looks = looksOf(sitting, policy, []);
    const seen = new Set<string>();
    for (const trigger of own) {
      for (const target of targetsOf(sitting, policy, trigger, decisions)) {
        const key = sitting.keyOf(target);
        if (seen.has(key)) continue;
        seen.add(key);
        decisions.push(...onNews(sitting, policy, looks.get(key) ?? { target, triggers: [] }, trigger));
      }
    }
  }
  return decisions;
}

function onNews(sitting: Sitting, policy: Policy, { target, triggers }: Look, trigger: Trigger): Decision[] {
  const one = openCase(sitting, policy, target);
  if (one === undefined) {
    // Begun and ended in one breath, there is nothing left to act upon.
    const over = trigger.phase === 'close' || triggers.length === 0;
    const made = over ? undefined : consider(sitting, policy, target, triggers);
    return made === undefined ? [] : [made];
  }
  const own = policyOf(sitting.book, one);
  if (own === undefined || isOutdated(sitting, one)) return [];
  if (trigger.phase === 'close') return advance(sitting, own, one, triggers);
  // Of a sender who proved nothing the word alone renews nothing; our own reading does, at every tick.
  if (one.state === 'releasing' || !hasProof(triggers)) return [];
  const made = renewed(sitting, own, one, 'trigger_renewed', triggers.at(-1));
  return made === undefined ? [] : [made];
}

function onTick(sitting: Sitting): Decision[] {
  const { book } = sitting;
  const decisions: Decision[] = [];
  const aims = new Map<string, ReadonlyMap<string, Look>>();
  for (const policy of book.rules.policies) {
    const looks = looksOf(sitting, policy, decisions);
    // Those of all policies at once would be most of the garbage of a tick.
    if ((book.caseOf.get(policy.name)?.size ?? 0) > 0) aims.set(policy.name, looks);
    for (const { target, triggers } of looks.values()) {
      if (openCase(sitting, policy, target) === undefined) push(decisions, consider(sitting, policy, target, triggers));
    }
  }
  for (const one of book.cases.values()) {
    if (isOutdated(sitting, one)) {
      decisions.push(supersede(sitting, one));
      continue;
    }
    const policy = policyOf(book, one);
    if (policy === undefined) continue;
    const settled = settle(sitting, policy, one);
    if (settled !== undefined) {
      decisions.push(settled);
      continue;
    }
    const look = aims.get(one.policy)?.get(sitting.keyOf(one.target));
    decisions.push(...advance(sitting, policy, one, look?.triggers ?? stillOpen(sitting, policy, one)));
  }
  return decisions;
}

/** For a case whose policy has left the rules: its own version still says which triggers it listens to. */
function stillOpen(sitting: Sitting, policy: Policy, one: Case): OpenTrigger[] {
  return openFor(sitting.book, policy, sitting.now).filter((trigger) => {
    const aim = aimOf(policy, trigger, sitting.facts);
    return 'targets' in aim && aim.targets.some((target) => targetKey(target) === targetKey(one.target));
  });
}

const NODE: Target = { kind: 'node' };

/** Targets that a policy has reason to look at now, each with the open triggers that lead there. */
export function looksOf(sitting: Sitting, policy: Policy, refused: Decision[]): ReadonlyMap<string, Look> {
  if (policy.on.length === 0) return sitting.looksEverywhere(policy);
  const looks = new Map<string, { target: Target; triggers: OpenTrigger[] }>();
  const add = (target: Target, trigger: OpenTrigger): void => {
    const key = sitting.keyOf(target);
    const look = looks.get(key);
    if (look === undefined) looks.set(key, { target, triggers: [trigger] });
    else look.triggers.push(trigger);
  };
  const lost: { reason: DecisionReason; trigger: string }[] = [];
  for (const trigger of openFor(sitting.book, policy, sitting.now)) {
    const aim = sitting.aim(policy, trigger);
    if ('targets' in aim) for (const target of aim.targets) add(target, trigger);
    else lost.push({ reason: aim.nowhere, trigger: trigger.key });
  }
  const last = lost.at(-1);
  const known = sitting.book.considered.get(policy.name)?.get(sitting.keyOf(NODE));
  // Each was told when it came; at a tick one of them stands for all, or every tick would tell each of them after the other.
  if (
    last !== undefined &&
    !lost.some(({ reason, trigger }) => reason === known?.reason && trigger === known.trigger)
  ) {
    push(refused, suppressed(sitting, policy, NODE, { reason: last.reason, detail: {} }, last.trigger));
  }
  return looks;
}

function targetsOf(sitting: Sitting, policy: Policy, trigger: Trigger, refused: Decision[]): readonly Target[] {
  const aim = aimOf(policy, trigger, sitting.facts);
  if ('targets' in aim) return aim.targets;
  push(refused, suppressed(sitting, policy, NODE, { reason: aim.nowhere, detail: {} }, trigger.key));
  return [];
}

function openCase({ book, keyOf }: Sitting, policy: Policy, target: Target): Case | undefined {
  return book.caseOf.get(policy.name)?.get(keyOf(target));
}

function giveBack(
  sitting: Sitting,
  cases: readonly Case[],
  reason: 'reverted' | 'released_by_person',
  { author, reason: because }: { author: string; reason: string },
): Decision[] {
  const decisions: Decision[] = [];
  for (const one of cases) {
    if (isOutdated(sitting, one)) {
      decisions.push(supersede(sitting, one));
      continue;
    }
    const policy = policyOf(sitting.book, one);
    if (policy === undefined || one.state === 'releasing') continue;
    const detail = { author, because };
    if (one.state === 'pending') decisions.push(close(sitting, policy, one, 'dropped', reason, detail));
    else decisions.push(release(sitting, policy, one, reason, detail));
  }
  return decisions;
}

function push(decisions: Decision[], made: Decision | undefined): void {
  if (made !== undefined) decisions.push(made);
}
