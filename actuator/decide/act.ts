import type { Case } from '../../model/case.ts';
import type { Claim } from '../../model/claim.ts';
import type { Change, Decision, DecisionReason, HistoryEntry, Notice, Outcome } from '../../model/decision.ts';
import type { Moment, Policy, Truth } from '../../model/policy.ts';
import { type Target, targetKey } from '../../model/target.ts';
import { serializePolicy } from '../../rules/language/version.ts';
import { claimsOf } from '../settings/claims.ts';
import type { Sitting } from './sitting.ts';

/** What all decisions about one policy and target have in common. */
export interface Matter {
  policy: Policy;
  target: Target;
  mode: 'dry_run' | 'enforce';
  case?: string;
}

export function matterOf(policy: Policy, one: Case): Matter {
  return { policy, target: one.target, mode: one.mode, case: one.id };
}

export function decision(
  matter: Matter,
  outcome: Outcome,
  reason: DecisionReason,
  at: number,
  detail: Record<string, unknown>,
  changes: readonly Change[] = [],
): Decision {
  const { policy, target, mode } = matter;
  const entry: HistoryEntry = { at, outcome, reason, policy: policy.name, target, mode, detail };
  if (matter.case !== undefined) entry.case = matter.case;
  const notices = noticesOf(policy, target, outcome, reason, detail);
  return {
    outcome,
    reason,
    policy: policy.name,
    target,
    mode,
    ...(matter.case === undefined ? {} : { case: matter.case }),
    detail,
    changes: [...changes, { add: 'history', entry }],
    ...(notices.length === 0 ? {} : { notices }),
  };
}

const MOMENT_OF: Partial<Record<Outcome, Moment>> = {
  acted: 'acted',
  released: 'released',
  failed: 'failed',
  suppressed: 'suppressed',
};

function noticesOf(
  policy: Policy,
  target: Target,
  outcome: Outcome,
  reason: DecisionReason,
  detail: Record<string, unknown>,
): Notice[] {
  const notices: Notice[] = [];
  const moment = reason === 'blind_to_floor' ? 'blind' : MOMENT_OF[outcome];
  if (moment !== undefined && policy.notify.includes(moment)) {
    notices.push({ policy: policy.name, moment, target, text: `${outcome}: ${reason} ${JSON.stringify(detail)}` });
  }
  if (outcome !== 'acted') return notices;
  for (const action of policy.do) {
    if (action.kind === 'notify') notices.push({ policy: policy.name, moment: 'notify', target, text: action.text });
  }
  return notices;
}

/** A case that begins now. Its name says what and where, and is its own: one pair has one open case at a time. */
export function newCase(sitting: Sitting, policy: Policy, target: Target, triggers: readonly string[]): Case {
  const { now } = sitting;
  const place = target.kind === 'gpu' ? target.pci.replace(/^0000:/, '') : target.kind;
  return {
    id: `${policy.name}.${place}.${now.toString(36)}`,
    policy: policy.name,
    version: policy.version,
    target,
    state: 'pending',
    mode: sitting.modeOf(policy),
    triggers: [...triggers],
    openedAt: now,
    deadline: now + policy.leaseMs,
    knobs: [],
    attempts: 0,
    reason: 'condition_true',
  };
}

/** What the case's actions want of the cards, with its rungs and blindness as they stand. */
export function claimsFor(sitting: Sitting, policy: Policy, one: Case): ReturnType<typeof claimsOf> {
  const { target } = one;
  const { cards } = sitting.facts;
  const meant = target.kind === 'gpu' ? [cards.get(target.pci)] : [...cards.values()];
  const here = meant.filter((card) => card !== undefined);
  return claimsOf(
    policy,
    one,
    here.filter((card) => !card.protected),
  );
}

/** Whether the policy sets anything, or only tells people. */
export function setsKnobs(policy: Policy): boolean {
  return policy.do.some((action) => action.kind !== 'notify');
}

/**
 * The case acts: claims are made with it, in one commit, before anything is written. A dry run takes the same way, and ends
 * where the writing would begin.
 */
export function act(sitting: Sitting, policy: Policy, before: Case, claims: readonly Claim[], truth: Truth): Decision {
  const { now } = sitting;
  const written = before.mode === 'enforce' && claims.length > 0;
  const one: Case = {
    ...before,
    state: written ? 'applying' : 'active',
    knobs: knobsOf(before, claims),
    reason: 'condition_true',
  };
  sitting.acted(one);
  const target = targetKey(one.target);
  const changes: Change[] = [
    { put: 'policy', name: policy.name, version: policy.version, source: serializePolicy(policy) },
    { put: 'case', case: one },
    { put: 'claims', case: one.id, claims },
    { put: 'act', policy: policy.name, target, at: now },
  ];
  const detail = { when: truth, claims: claims.map(claimText), triggers: one.triggers };
  return decision(matterOf(policy, one), 'acted', 'condition_true', now, detail, changes);
}

/** A case keeps the knobs that it ever claimed: all of them are given back at its end. */
export function knobsOf(one: Case, claims: readonly Claim[]): Case['knobs'] {
  const known = [...one.knobs];
  for (const { on, knob } of claims) {
    if (!known.some((other) => other.on === on && other.knob === knob)) known.push({ on, knob });
  }
  return known;
}

export function claimText({ on, knob, atMost }: Claim): string {
  return `${on} ${knob} <= ${atMost}${knob === 'power_cap' ? ' W' : knob === 'dmem' ? ' B' : ' MHz'}`;
}
