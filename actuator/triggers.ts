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

/** Triggers that are remembered at most, open and ended. */
const MOST_KEPT = 100_000;
/** So many more than needed are forgotten at once, for to look through all of them takes its time. */
const AT_ONCE = 1_000;

/**
 * What is to be forgotten so that these triggers have room; undefined where there is none. Those go that were not heard of for
 * longest, and only what nobody proved to have sent: anybody on this machine can tell such alerts, and must not shut out the
 * others. One that still fires is told again, and then is a new one.
 */
export function roomFor(book: Book, triggers: readonly Trigger[], most = MOST_KEPT): Change[] | undefined {
  if (book.triggers.size + triggers.length <= most) return [];
  const fresh = new Set(triggers.filter(({ key }) => !book.triggers.has(key)).map(({ key }) => key)).size;
  const missing = fresh === 0 ? 0 : book.triggers.size + fresh - most;
  if (missing <= 0) return [];
  const heard = new Set(triggers.map(({ key }) => key));
  const forgotten: Change[] = [];
  // In the order in which they were last heard of: whoever puts one puts it at the end.
  for (const { key, trusted } of book.triggers.values()) {
    if (forgotten.length >= missing + AT_ONCE) break;
    if (!trusted && !heard.has(key)) forgotten.push({ drop: 'trigger', key });
  }
  return forgotten.length >= missing ? forgotten : undefined;
}
