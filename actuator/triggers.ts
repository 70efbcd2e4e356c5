import type { Book } from '../model/book.ts';
import type { Change } from '../model/decision.ts';
import type { Trigger } from '../model/trigger.ts';
import { isFor } from './decide/match.ts';
import { take } from './intake/take.ts';

/** What makes triggers durable, each on what is known of it; of one that comes twice in a message, the second follows the first. */
export function openTriggers(book: Book, triggers: readonly Trigger[]): Change[] {
  const taken = new Map<string, ReturnType<typeof take>>();
  for (const trigger of triggers) {
    taken.set(trigger.key, take(trigger, taken.get(trigger.key) ?? book.triggers.get(trigger.key)));
  }
  return [...taken.values()].map((trigger) => ({ put: 'trigger', trigger }));
}

/** Splits off what no policy waits for: it is answered and counted, and not kept. What ends an open one is always kept. */
export function wanted(book: Book, triggers: readonly Trigger[]): Trigger[] {
  return triggers.filter(
    (trigger) => book.triggers.has(trigger.key) || book.rules.policies.some((policy) => isFor(policy, trigger)),
  );
}
