import { type Book, openKey } from '../../model/book.ts';
import type { DecisionReason } from '../../model/decision.ts';
import type { Facts } from '../../model/facts.ts';
import type { Policy, TriggerPattern } from '../../model/policy.ts';
import type { Target } from '../../model/target.ts';
import type { OpenTrigger, Trigger } from '../../model/trigger.ts';

/** Where a trigger leads a policy: to targets, or nowhere for a reason. */
export type Aim = { targets: readonly Target[] } | { nowhere: DecisionReason };

export function matches(pattern: TriggerPattern, trigger: Trigger): boolean {
  return pattern.source === trigger.source && pattern.name === trigger.name && saysSo(trigger, pattern.labels);
}

/** The trigger carries these labels. */
function saysSo({ values }: Trigger, labels: TriggerPattern['labels']): boolean {
  if (labels === undefined) return true;
  return Object.entries(labels).every(([name, value]) => Object.hasOwn(values, name) && String(values[name]) === value);
}

export function isFor(policy: Policy, trigger: Trigger): boolean {
  return policy.on.some((pattern) => matches(pattern, trigger));
}

/** Everything that a policy of this kind of target can be about on this node. */
export function everyTarget(policy: Policy, facts: Facts): readonly Target[] {
  if (policy.target === 'node') return [{ kind: 'node' }];
  if (policy.target === 'workload') return [];
  return [...facts.cards.keys()].map((pci) => ({ kind: 'gpu', pci }));
}

/**
 * What a trigger is about, for this policy. An alert must name its card; by number only where that number has meant the same
 * card since the alert began. Schedules, signals and people that name none mean every card.
 */
export function aimOf(policy: Policy, trigger: Trigger, facts: Facts): Aim {
  if (policy.target === 'workload') return { nowhere: 'workload_unknown' };
  if (policy.target === 'node') return { targets: [{ kind: 'node' }] };
  if (trigger.target?.kind === 'gpu') {
    return facts.cards.has(trigger.target.pci) ? { targets: [trigger.target] } : { nowhere: 'card_gone' };
  }
  if (trigger.gpu !== undefined) {
    const card = [...facts.cards.values()].find((one) => one.number === trigger.gpu);
    if (card === undefined) return { nowhere: 'no_target' };
    if (card.numberSince > trigger.since) return { nowhere: 'number_moved' };
    return { targets: [{ kind: 'gpu', pci: card.card.pci }] };
  }
  return trigger.source === 'alert' ? { nowhere: 'no_target' } : { targets: everyTarget(policy, facts) };
}

/**
 * Open triggers that a policy waits for. Of one whose sender has not spoken of it for a whole lease nobody knows whether it
 * still stands.
 */
export function openFor(book: Book, policy: Policy, now: number): OpenTrigger[] {
  const found: OpenTrigger[] = [];
  for (const pattern of policy.on) {
    const open = book.open.get(openKey(pattern.source, pattern.name));
    if (open === undefined) continue;
    for (const trigger of open.values()) {
      const heard = trigger.until === undefined ? now - trigger.seenAt <= policy.leaseMs : now < trigger.until;
      if (heard && saysSo(trigger, pattern.labels)) found.push(trigger);
    }
  }
  return found;
}
