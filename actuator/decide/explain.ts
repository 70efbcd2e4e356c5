import type { Book } from '../../model/book.ts';
import type { Case } from '../../model/case.ts';
import type { Claim, Knob } from '../../model/claim.ts';
import { knobKey } from '../../model/claim.ts';
import type { Facts } from '../../model/facts.ts';
import type { Condition, Policy, Scope, TraceEntry, Truth } from '../../model/policy.ts';
import { type Target, targetKey } from '../../model/target.ts';
import type { OpenTrigger } from '../../model/trigger.ts';
import { claimsFor, newCase } from './act.ts';
import { endsWithItsTrigger } from './advance.ts';
import { refusalOf, whyNothing } from './consider.ts';
import { looksOf, policyOf } from './decide.ts';
import { guardText, lasting } from './guard-text.ts';
import { type Verdict, verdicts } from './guards.ts';
import { everyTarget } from './match.ts';
import { firstRungs } from './rungs.ts';
import { Sitting } from './sitting.ts';

export interface Evaluated {
  result: Truth;
  trace: TraceEntry[];
}

/** Why a policy does, or does not do, something about a target now. */
export interface Explanation {
  policy: string;
  version: string;
  mode: 'off' | 'dry_run' | 'enforce';
  target: Target;
  /** Open triggers that lead the policy here. */
  triggers: { source: string; name: string; key: string; since: number; seenAt: number; trusted: boolean }[];
  case?: Case;
  claims: readonly Claim[];
  /** What would be claimed if it acted now; absent where a case holds claims. */
  wouldClaim?: readonly Claim[];
  notAdjustable: readonly unknown[];
  knobs: readonly Knob[];
  when?: Evaluated;
  until?: Evaluated;
  guards: Verdict[];
  /** One word of the decision reasons. */
  reason: string;
  /** What would have to change, a sentence each; empty where it acts. */
  change: string[];
}

export interface Question {
  policy?: string;
  /** PCI address. */
  pci?: string;
  case?: string;
}

/** Asks the parts of `decide` what they would say now, with the values they see. */
export function explain(book: Book, facts: Facts, question: Question): Explanation[] {
  const sitting = new Sitting(book, facts);
  const asked = question.case === undefined ? undefined : book.cases.get(question.case);
  if (question.case !== undefined && asked === undefined) return [];
  const explanations: Explanation[] = [];
  for (const policy of policiesOf(book, question, asked)) {
    const looks = looksOf(sitting, policy, []);
    for (const target of targetsOf(policy, facts, question, asked)) {
      explanations.push(explainOne(sitting, policy, target, looks.get(targetKey(target))?.triggers ?? []));
    }
  }
  return explanations;
}

function policiesOf(book: Book, question: Question, asked: Case | undefined): Policy[] {
  if (asked !== undefined) {
    const own = policyOf(book, asked);
    return own === undefined ? [] : [own];
  }
  return book.rules.policies.filter((policy) => question.policy === undefined || policy.name === question.policy);
}

function targetsOf(policy: Policy, facts: Facts, question: Question, asked: Case | undefined): Target[] {
  if (asked !== undefined) return [asked.target];
  return everyTarget(policy, facts).filter(
    (target) => question.pci === undefined || target.kind !== 'gpu' || target.pci === question.pci,
  );
}

function explainOne(sitting: Sitting, policy: Policy, target: Target, triggers: readonly OpenTrigger[]): Explanation {
  const { book } = sitting;
  const one = book.caseOf.get(policy.name)?.get(targetKey(target));
  // A pending case holds nothing: what stands in its way is asked as if there were none.
  const acting = one?.state === 'pending' ? undefined : one;
  const claims = one === undefined ? [] : (book.claims.get(one.id) ?? []);
  const scope = sitting.scopeFor(policy, target, triggers);
  const when = evaluated(policy.when, scope);
  const until = evaluated(policy.until, scope);
  const imagined = acting ?? { ...newCase(sitting, policy, target, []), ...firstRungs(policy, sitting.scope(target)) };
  const would = claimsFor(sitting, policy, imagined);
  const guards = verdicts(sitting, policy, target);
  const refusal = refusalOf(sitting, policy, target, triggers);
  const standing = reasonOf(policy, triggers, refusal?.reason, guards, would);
  const waiting = one !== undefined && standing === 'condition_true' ? 'condition_holds' : standing;
  return {
    policy: policy.name,
    version: policy.version,
    mode: policy.mode === 'off' ? 'off' : sitting.modeOf(policy),
    target,
    triggers: triggers.map(({ source, name, key, since, seenAt, trusted }) => ({
      source,
      name,
      key,
      since,
      seenAt,
      trusted,
    })),
    ...(one === undefined ? {} : { case: one }),
    ...(acting === undefined ? { wouldClaim: would.claims } : {}),
    claims,
    notAdjustable: would.notAdjustable,
    knobs: (one?.knobs ?? [])
      .map(({ on, knob }) => book.knobs.get(knobKey(on, knob)))
      .filter((row) => row !== undefined),
    ...(when === undefined ? {} : { when }),
    ...(until === undefined ? {} : { until }),
    guards,
    reason: acting?.reason ?? waiting,
    change:
      acting === undefined
        ? [...toAct(policy, triggers, refusal, guards, when, would, sitting.now), ...toHold(sitting, policy, one)]
        : toEnd(sitting, policy, acting, until),
  };
}

function evaluated(condition: Condition | undefined, scope: Scope): Evaluated | undefined {
  if (condition === undefined) return undefined;
  const trace: TraceEntry[] = [];
  return { result: condition.evaluate(scope, trace), trace };
}

type Would = ReturnType<typeof claimsFor>;

function reasonOf(
  policy: Policy,
  triggers: readonly OpenTrigger[],
  refusal: string | undefined,
  guards: readonly Verdict[],
  would: Would,
): string {
  if (refusal === 'policy_off') return refusal;
  if (policy.on.length > 0 && triggers.length === 0) return 'no_trigger';
  const guard = guards.find((verdict) => !verdict.passes)?.guard;
  return refusal ?? guard ?? whyNothing(policy, would) ?? 'condition_true';
}

/** What stands between the policy and its acting. */
function toAct(
  policy: Policy,
  triggers: readonly OpenTrigger[],
  refusal: { reason: string; detail: Record<string, unknown> } | undefined,
  guards: readonly Verdict[],
  when: Evaluated | undefined,
  would: Would,
  now: number,
): string[] {
  const change: string[] = [];
  if (policy.mode === 'off') change.push('The policy has mode: off; give it dry_run or enforce.');
  if (policy.on.length > 0 && triggers.length === 0) {
    const wanted = policy.on.map((pattern) => `${pattern.source} ${pattern.name}`).join(', or ');
    change.push(`One of its triggers has to be open for this target: ${wanted}.`);
  }
  if (when !== undefined && when.result !== true) {
    const state = when.result === 'unknown' ? 'cannot be known' : 'is false';
    change.push(`Its condition ${state}: ${leaves(when.trace)}.`);
  }
  if (refusal !== undefined && !['policy_off', 'condition_false', 'condition_unknown'].includes(refusal.reason)) {
    change.push(`It is held back by ${refusal.reason}${told(refusal.detail)}.`);
  }
  for (const verdict of guards) if (!verdict.passes) change.push(guardText(verdict, now));
  if (whyNothing(policy, would) !== undefined) {
    const why = would.notAdjustable.map(({ pci, knob, why }) => `${knob} of ${pci} is ${why}`).join(', ');
    change.push(`Nothing that it sets can be set on this card: ${why}.`);
  }
  return change;
}

/** What a pending case still waits for, though its condition is true. */
function toHold({ now }: Sitting, policy: Policy, one: Case | undefined): string[] {
  const left = one?.holdsFrom === undefined ? 0 : one.holdsFrom + policy.forMs - now;
  return left > 0 ? [`Its condition has to hold ${lasting(left)} longer.`] : [];
}

/** What ends a case that acts. */
function toEnd(sitting: Sitting, policy: Policy, one: Case, until: Evaluated | undefined): string[] {
  const change: string[] = [];
  const left = lasting(one.deadline - sitting.now);
  if (one.state === 'releasing') return ['It is being given back; the card has to confirm it.'];
  if (until !== undefined && until.result !== true) {
    const state = until.result === 'unknown' ? 'cannot be known' : 'is false';
    change.push(`Its release condition ${state}: ${leaves(until.trace)}.`);
  } else if (one.dwellFrom !== undefined && policy.dwellMs !== 'manual') {
    change.push(`Its release condition has to hold ${lasting(one.dwellFrom + policy.dwellMs - sitting.now)} longer.`);
  }
  if (policy.dwellMs === 'manual') change.push('Only a person releases it: nightshift revert --case.');
  if (one.blind === true) return [...change, 'Its sensor is blind: it stays until the sensor answers.'];
  const ends = one.triggers.map((key) => sitting.book.triggers.get(key)?.until ?? 0);
  change.push(
    endsWithItsTrigger(sitting, policy, one) && policy.dwellMs !== 'manual'
      ? `It ends with its window or its call, in ${lasting(Math.max(...ends) - sitting.now)}.`
      : `Its lease ends in ${left} unless it is renewed.`,
  );
  return change;
}

/** Comparisons of a trace that are not true, with what they saw; what only connects them says nothing more. */
function leaves(trace: readonly TraceEntry[]): string {
  const texts = trace
    .filter(({ result, pointer }) => result !== true && !trace.some((other) => isInside(other.pointer, pointer)))
    .map(({ operator, operands, result }) => `${comparison(operator, operands.map(operand))} is ${result}`);
  return texts.join('; ') || 'no part of it was evaluated';
}

function isInside(pointer: string, outer: string): boolean {
  return pointer !== outer && pointer.startsWith(`${outer}/`);
}

function comparison(operator: string, [first = '', ...others]: string[]): string {
  if (operator === 'in') return `${first} in ${others.join(', ')}`;
  return others.length === 0 ? `${operator} ${first}` : `${first} ${operator} ${others.join(` ${operator} `)}`;
}

/** As written, and what it was; a constant only as what it was. */
function operand({ text, value, unknown }: TraceEntry['operands'][number]): string {
  if (unknown !== undefined) return `${text} (${unknown})`;
  if (value === undefined || value === null || /^["\d]/.test(text)) return value === undefined ? text : String(value);
  return `${text} (${String(value)})`;
}

function told(detail: Record<string, unknown>): string {
  const known = Object.entries(detail).filter(([, value]) => value !== undefined);
  return known.length === 0 ? '' : ` (${known.map(([name, value]) => `${name} ${String(value)}`).join(', ')})`;
}
