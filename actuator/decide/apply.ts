import { type Book, type BookOptions, dropFrom, openKey, pairKey, putIn } from '../../model/book.ts';
import { OPEN_STATES } from '../../model/case.ts';
import { knobKey } from '../../model/claim.ts';
import type { Change, Decision } from '../../model/decision.ts';
import type { RuleSet } from '../../model/policy.ts';
import { targetKey } from '../../model/target.ts';
import type { OpenTrigger } from '../../model/trigger.ts';

export function emptyBook(rules: RuleSet, options: BookOptions): Book {
  return {
    rules,
    versions: new Map(),
    triggers: new Map(),
    open: new Map(),
    cases: new Map(),
    caseOf: new Map(),
    claims: new Map(),
    knobs: new Map(),
    cooldowns: new Map(),
    acts: [],
    pauses: new Map(),
    breaker: { open: false, reason: '', since: 0, failures: [] },
    numbers: new Map(),
    considered: new Map(),
    options,
  };
}

/** Brings the book to what was committed. Nothing else changes it. */
export function applyChanges(book: Book, changes: readonly Change[]): void {
  for (const change of changes) {
    if ('add' in change) continue;
    if ('put' in change) put(book, change);
    else if (change.drop === 'trigger') dropTrigger(book, change.key);
    else if (change.drop === 'knob') book.knobs.delete(knobKey(change.on, change.knob));
    else book.pauses.delete(change.id);
  }
}

/** As applyChanges, and remembers what was suppressed, so that it is told once. */
export function applyDecisions(book: Book, decisions: readonly Decision[]): void {
  for (const decision of decisions) {
    applyChanges(book, decision.changes);
    const target = targetKey(decision.target);
    if (decision.outcome !== 'suppressed') dropFrom(book.considered, decision.policy, target);
    else {
      const { trigger } = decision.detail;
      const now = { reason: decision.reason, ...(typeof trigger === 'string' ? { trigger } : {}) };
      putIn(book.considered, decision.policy, target, now);
    }
  }
}

function put(book: Book, change: Extract<Change, { put: string }>): void {
  switch (change.put) {
    case 'trigger':
      putTrigger(book, change.trigger);
      break;
    case 'case': {
      const { case: one } = change;
      const target = targetKey(one.target);
      if (OPEN_STATES.has(one.state)) {
        book.cases.set(one.id, one);
        putIn(book.caseOf, one.policy, target, one);
        break;
      }
      book.cases.delete(one.id);
      book.claims.delete(one.id);
      if (book.caseOf.get(one.policy)?.get(target)?.id === one.id) dropFrom(book.caseOf, one.policy, target);
      forgetVersion(book, one.policy, one.version);
      break;
    }
    case 'claims':
      if (change.claims.length === 0) book.claims.delete(change.case);
      else book.claims.set(change.case, change.claims);
      break;
    case 'knob':
      book.knobs.set(knobKey(change.knob.on, change.knob.knob), change.knob);
      break;
    case 'cooldown':
      book.cooldowns.set(pairKey(change.policy, change.target), change.until);
      break;
    case 'act': {
      const { policy, target, at } = change;
      // Older than any window in which acts are counted.
      while ((book.acts[0]?.at ?? at) < at - book.options.rate.perMs) book.acts.shift();
      book.acts.push({ policy, target, at });
      break;
    }
    case 'pause':
      book.pauses.set(change.pause.id, change.pause);
      break;
    case 'breaker':
      book.breaker = change.breaker;
      break;
    case 'policy': {
      const policy = book.rules.policies.find((one) => one.name === change.name && one.version === change.version);
      if (policy !== undefined) putIn(book.versions, change.name, change.version, policy);
      break;
    }
    case 'number':
      book.numbers.set(change.gpu, { pci: change.pci, since: change.since });
      break;
  }
}

/** Of a trigger that has ended only that it did is still asked: its labels would be most of what we remember. */
export function putTrigger(book: Book, trigger: OpenTrigger): void {
  const { key, closedAt } = trigger;
  dropTrigger(book, key);
  if (closedAt !== undefined) {
    book.triggers.set(key, { ...trigger, values: {} });
    return;
  }
  book.triggers.set(key, trigger);
  putIn(book.open, openKey(trigger.source, trigger.name), key, trigger);
}

export function dropTrigger(book: Book, key: string): void {
  const known = book.triggers.get(key);
  if (known === undefined) return;
  book.triggers.delete(key);
  dropFrom(book.open, openKey(known.source, known.name), key);
}

function forgetVersion(book: Book, name: string, version: string): void {
  for (const one of book.caseOf.get(name)?.values() ?? []) if (one.version === version) return;
  dropFrom(book.versions, name, version);
}
