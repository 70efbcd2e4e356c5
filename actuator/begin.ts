import { describe } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Book, BookOptions } from '../model/book.ts';
import { putIn } from '../model/book.ts';
import type { Case } from '../model/case.ts';
import type { Change } from '../model/decision.ts';
import type { RuleSet } from '../model/policy.ts';
import { targetKey } from '../model/target.ts';
import { revivePolicy } from '../rules/language/version.ts';
import { emptyBook, putTrigger } from './decide/apply.ts';
import { policyOf } from './decide/decide.ts';
import type { LedgerState } from './ledger/state.ts';

/** The book as the ledger left it, under the rules of now. `orphans` are cases whose policy nobody knows any more. */
export function beginBook(
  rules: RuleSet,
  options: BookOptions,
  state: LedgerState,
  log: Log,
): { book: Book; orphans: Case[] } {
  const book = emptyBook(rules, options);
  const { breaker } = state;
  Object.assign(book, {
    cases: state.cases,
    claims: state.claims,
    knobs: state.knobs,
    cooldowns: state.cooldowns,
    acts: state.acts,
    pauses: state.pauses,
    numbers: state.numbers,
    ...(breaker === undefined ? {} : { breaker }),
  });
  for (const trigger of state.triggers.values()) putTrigger(book, trigger);
  for (const one of book.cases.values()) putIn(book.caseOf, one.policy, targetKey(one.target), one);
  for (const { name, version, source } of state.policies) {
    try {
      putIn(book.versions, name, version, revivePolicy(source));
    } catch (error) {
      log.warn({ policy: name }, `the version that began a case cannot be read any more: ${describe(error)}`);
    }
  }
  const orphans = [...book.cases.values()].filter((one) => policyOf(book, one) === undefined);
  return { book, orphans };
}

/** Cards whose number is new here, or means another card than it did. */
export function newNumbers(book: Book, cards: Iterable<{ gpu: number; pci: string }>, now: number): Change[] {
  const changes: Change[] = [];
  for (const { gpu, pci } of cards) {
    if (gpu < 0) continue;
    const known = book.numbers.get(gpu);
    if (known?.pci === pci) continue;
    // A number that is seen for the first time has, as far as anybody knows, always meant this card.
    changes.push({ put: 'number', gpu, pci, since: known === undefined ? 0 : now });
  }
  return changes;
}
