import type { Case } from '../../model/case.ts';
import type { Policy, Scope } from '../../model/policy.ts';
import { ladderRung } from '../settings/controllers/ladder.ts';

/** Rungs that the ladders of a policy stand on when its case begins. */
export function firstRungs(policy: Policy, scope: Scope): Pick<Case, 'rungs'> {
  return nextRungs(policy, scope, {});
}

/** Rungs after this reading, by index of the action. A variable that is not known leaves its ladder where it stands. */
export function nextRungs(policy: Policy, scope: Scope, before: Readonly<Record<string, number>>): Pick<Case, 'rungs'> {
  const rungs: Record<string, number> = {};
  for (const [index, action] of policy.do.entries()) {
    if (action.kind !== 'ladder') continue;
    const current = before[index] ?? -1;
    const fact = scope.get(action.variable);
    const value = 'value' in fact && typeof fact.value === 'number' ? fact.value : undefined;
    rungs[index] = value === undefined ? current : ladderRung(action.rungs, action.hysteresis, value, current);
  }
  return Object.keys(rungs).length === 0 ? {} : { rungs };
}
