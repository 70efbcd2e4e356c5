import { POWER_FLOOR_SHARE } from '../../model/envelope.ts';
import type { Action, Policy, TriggerPattern, Wish } from '../../model/policy.ts';
import type { RuleCode } from './codes.ts';
import { intersect, isWithin, touch } from './intervals.ts';
import { unknownLabel } from './quantities.ts';
import { type Allowed, allowedBy, impossibility } from './regions.ts';
import type { Sheet } from './sheet.ts';
import type { Vocabulary } from './vocabulary.ts';

/** What is no mistake of writing and yet not what somebody can have meant. */

type Path = readonly (string | number)[];

/** A policy with the place it was read from. */
export interface Placed {
  policy: Policy;
  sheet: Sheet;
  path: Path;
  vocabulary: Vocabulary;
}

/** Three times the repeat_interval that the alerting route has. */
const THREE_HEARTBEATS_MS = 360_000;

export function lintPolicy({ policy, sheet, path, vocabulary }: Placed): void {
  const add = (code: RuleCode, key: string, message: string, hint: string): void =>
    sheet.addAtKey(code, key === '' ? [...path, 'name'] : [...path, key], message, hint);
  const limits = policy.do.some(({ kind }) => kind !== 'notify');
  if (policy.mode === 'off') {
    add('RULE_POLICY_OFF', 'mode', `${policy.name} is off`, 'Set mode to dry_run to see what it would do.');
  }
  if (limits && policy.until === undefined && !endsByItself(policy)) {
    const hint = 'Add until: where is it safe to give the card back?';
    add('RULE_NO_RELEASE', '', `${policy.name} has no until`, hint);
  }
  if (policy.on.some(({ source }) => source === 'alert') && policy.leaseMs < THREE_HEARTBEATS_MS) {
    const hint = 'Write lease: 6m, or more where the route repeats more slowly than every 2m.';
    add('RULE_LEASE_SHORT', 'lease', 'the lease is under three heartbeats of the alert (3 × 2m)', hint);
  }
  if (limits && policy.limits.gpus === undefined && policy.limits.percent === undefined) {
    const hint = 'Add limits: { gpus: 4, percent: 50 }, or gpus as many as the node has.';
    add('RULE_NO_LIMITS', '', `${policy.name} may limit all cards at once`, hint);
  }
  for (const [i, action] of policy.do.entries()) {
    if (!wishesOf(action).some(({ powerCap }) => isBelowFloor(powerCap))) continue;
    const message = `${policy.name} asks for less than ${FLOOR} of the default power cap`;
    sheet.addAtKey(
      'RULE_WISH_BELOW_FLOOR',
      [...path, 'do', i],
      message,
      `No policy goes below ${FLOOR}: that is what it gets.`,
    );
  }
  lintVariables({ policy, sheet, path, vocabulary });
  lintConditions({ policy, sheet, path, vocabulary });
}

const FLOOR = `${POWER_FLOOR_SHARE * 100} %`;

const isBelowFloor = (cap: Wish['powerCap']): boolean =>
  cap !== undefined && 'share' in cap && cap.share < POWER_FLOOR_SHARE;

function lintVariables({ policy, sheet, path }: Placed): void {
  const ladders = policy.do.flatMap((action) => (action.kind === 'ladder' ? [action.variable] : []));
  const named = { when: policy.when?.variables ?? [], until: policy.until?.variables ?? [], do: ladders };
  for (const [key, variables] of Object.entries(named)) {
    for (const variable of variables) {
      if (policy.target === 'node' && /^(?:gpu|partition)\./.test(variable)) {
        const hint = 'Use target: gpu, which looks at each of them, or node.* and labels of the alert.';
        sheet.addAtKey('RULE_VARIABLE_OF_GPU', [...path, key], `the node as a whole has no ${variable}`, hint);
        continue;
      }
      const odd = unknownLabel(variable);
      if (odd === undefined) continue;
      const message = `no card known here has ${odd.label} in ${variable}: it would stay unknown`;
      sheet.addAtKey('RULE_LABEL_UNKNOWN', [...path, key], message, `Known are ${odd.known.join(', ')}.`);
    }
  }
}

/** What a window or a person opened ends with it. */
function endsByItself({ on }: Policy): boolean {
  return on.length > 0 && on.every(({ source }) => source === 'schedule' || source === 'manual');
}

function lintConditions({ policy, sheet, path, vocabulary }: Placed): void {
  const look = (key: 'when' | 'until'): Allowed | undefined => {
    const condition = policy[key];
    if (condition === undefined) return undefined;
    const allowed = allowedBy(condition.source, vocabulary);
    const reason = impossibility(allowed, vocabulary);
    if (reason === undefined) return allowed;
    const message = `${key} is never true${reason === 'false' ? '' : `: no value of ${reason} is possible for it`}`;
    const hint = key === 'when' ? 'The policy can never act.' : 'The policy never releases by it.';
    sheet.addAtKey('RULE_NEVER_TRUE', [...path, key], message, hint);
    return undefined;
  };
  const when = look('when');
  const until = look('until');
  if (when !== undefined && until !== undefined) lintRelease(sheet, path, when, until);
}

function lintRelease(sheet: Sheet, path: Path, when: Allowed, until: Allowed): void {
  const at = [...path, 'until'];
  const shared = [...until.possible].filter(([variable]) => when.possible.has(variable));
  const compared = shared.map(([variable, release]) => {
    const act = when.possible.get(variable) as typeof release;
    return { variable, release, act, apart: intersect(act, release).length === 0 };
  });
  // One variable that keeps them apart is enough.
  const apart = compared.filter((one) => one.apart);
  if (apart.length > 0) {
    if (!apart.every(({ act, release }) => touch(act, release))) return;
    const hint = 'Leave a gap between them, as act from 85°C and release below 75°C.';
    const message = `until begins exactly where when ends (${apart[0]?.variable})`;
    sheet.addAtKey('RULE_RELEASE_TOUCHES', at, message, hint);
    return;
  }
  const [first] = compared;
  if (first === undefined) return;
  const sure = when.exact !== undefined && until.exact !== undefined;
  const code = sure ? 'RULE_RELEASE_OVERLAPS' : 'RULE_RELEASE_MAY_OVERLAP';
  const message = `until ${sure ? 'is' : 'may be'} true where when is true as well (${first.variable})`;
  sheet.addAtKey(code, at, message, 'Release on the safe side of where it acts, with a gap between.');
}

/** Pairs of policies that limit one knob of one card for one reason. */
export function lintPairs(placed: readonly Placed[]): void {
  for (const [i, one] of placed.entries()) {
    for (const other of placed.slice(i + 1)) lintPair(one, other);
  }
}

function lintPair(one: Placed, other: Placed): void {
  if (one.policy.mode === 'off' || other.policy.mode === 'off' || one.policy.target !== other.policy.target) return;
  const trigger = sharedTrigger(one.policy, other.policy);
  const knobs = knobsOf(one.policy).filter((knob) => knobsOf(other.policy).includes(knob));
  if (trigger === undefined || knobs.length === 0) return;
  if (!canMeet(one, other)) return;
  const [loser, winner] = isShadowed(other, one) ? [other, one] : isShadowed(one, other) ? [one, other] : [];
  if (loser !== undefined && winner !== undefined) {
    const message = `${loser.policy.name} never changes anything: ${winner.policy.name} holds the same limits at least as low`;
    const hint = `See ${winner.sheet.file}:${winner.sheet.lineOf(winner.path)}; remove one of them.`;
    loser.sheet.addAtKey('RULE_SHADOWED', [...loser.path, 'name'], message, hint);
    return;
  }
  const message = `${other.policy.name} and ${one.policy.name} both limit ${knobs.join(', ')} for ${trigger}`;
  const hint = `The lower limit counts; see ${one.sheet.file}:${one.sheet.lineOf(one.path)}.`;
  other.sheet.addAtKey('RULE_KNOB_SHARED', [...other.path, 'name'], message, hint);
}

function sharedTrigger(a: Policy, b: Policy): string | undefined {
  if (a.on.length === 0 && b.on.length === 0) return 'every reading';
  const shared = a.on.find((x) => b.on.some((y) => meet(x, y)));
  return shared && `${shared.source} ${shared.name}`;
}

/** One trigger can match both: no label that they ask to be different. */
function meet(x: TriggerPattern, y: TriggerPattern): boolean {
  if (x.source !== y.source || x.name !== y.name) return false;
  return Object.entries(x.labels ?? {}).every(([name, value]) => (y.labels?.[name] ?? value) === value);
}

/** Their conditions can be true at once, as far as can be seen. */
function canMeet(one: Placed, other: Placed): boolean {
  const [a, b] = [one, other].map(({ policy, vocabulary }) => allowedBy(policy.when?.source ?? true, vocabulary));
  return [...(a?.possible ?? [])].every(([variable, region]) => {
    const others = b?.possible.get(variable);
    return others === undefined || intersect(region, others).length > 0;
  });
}

/** Wherever `loser` acts, `winner` acts, and holds all that it holds at least as low. */
function isShadowed({ policy: loser, vocabulary }: Placed, { policy: winner }: Placed): boolean {
  const [mine] = loser.do;
  const [its] = winner.do;
  if (loser.do.length !== 1 || mine?.kind !== 'throttle' || its?.kind !== 'throttle') return false;
  const triggered =
    winner.on.length === 0 || (loser.on.length > 0 && loser.on.every((x) => winner.on.some((y) => isWider(y, x))));
  return triggered && !isModeHigher(loser, winner) && isTighter(its, mine) && isWhenWider(loser, winner, vocabulary);
}

function isWider(wide: TriggerPattern, narrow: TriggerPattern): boolean {
  if (wide.source !== narrow.source || wide.name !== narrow.name) return false;
  return Object.entries(wide.labels ?? {}).every(([name, value]) => narrow.labels?.[name] === value);
}

/** A dry run holds nothing. */
const isModeHigher = (loser: Policy, winner: Policy): boolean => loser.mode === 'enforce' && winner.mode !== 'enforce';

function isTighter(winner: Wish, loser: Wish): boolean {
  const clocks = (['clockMax', 'memClockMax'] as const).every(
    (key) => loser[key] === undefined || (winner[key] !== undefined && winner[key] <= loser[key]),
  );
  const [his, hers] = [winner.powerCap, loser.powerCap];
  if (hers === undefined) return clocks;
  if (his === undefined) return false;
  if ('watts' in his && 'watts' in hers) return clocks && his.watts <= hers.watts;
  return clocks && 'share' in his && 'share' in hers && his.share <= hers.share;
}

function isWhenWider(loser: Policy, winner: Policy, vocabulary: Vocabulary): boolean {
  if (winner.forMs > loser.forMs) return false;
  if (winner.when === undefined) return true;
  const { exact } = allowedBy(winner.when.source, vocabulary);
  const narrow = allowedBy(loser.when?.source ?? true, vocabulary).possible;
  const region = exact && narrow.get(exact.variable);
  return exact !== undefined && region !== undefined && isWithin(region, exact.region);
}

function knobsOf(policy: Policy): string[] {
  const knobs = new Set<string>();
  for (const wish of policy.do.flatMap(wishesOf)) {
    if (wish.powerCap !== undefined) knobs.add('power_cap');
    if (wish.clockMax !== undefined) knobs.add('clock_max');
    if (wish.memClockMax !== undefined) knobs.add('memory_clock_max');
  }
  return [...knobs];
}

function wishesOf(action: Action): readonly Wish[] {
  switch (action.kind) {
    case 'throttle':
      return [action];
    case 'ladder':
      return action.rungs;
    case 'mode':
      return [...(action.any === undefined ? [] : [action.any]), ...Object.values(action.byModel)];
    case 'notify':
      return [];
  }
}
