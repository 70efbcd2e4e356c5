import type { Case } from '../model/case.ts';
import type { Change } from '../model/decision.ts';
import type { Instant } from '../model/instant.ts';
import type { LedgerState } from './ledger/state.ts';

/**
 * The ledger's times as they are to be read by this process. Each process reckons in steady time of its own, which began with the
 * wall clock of its start. Where that clock has been set back since, all that the ledger tells lies ahead: leases and cooldowns
 * would last longer by as much, and a trigger that nobody renews would pass for one that was just heard. So everything is moved back
 * until its newest time is now.
 *
 * `changes` say the same to the ledger: rows that kept their times there would be moved again at the next start, and with them what
 * was written by the right clock. Acts stay as they are, for they count for a minute only; those that lie ahead count no more.
 *
 * What had to hold without a break was not watched meanwhile, and begins anew.
 */
export function rebase(state: LedgerState, now: Instant): { state: LedgerState; changes: readonly Change[] } {
  const by = Math.max(0, newestOf(state) - now);
  const present = by === 0 ? state : movedBack(state, by);
  const cases = mapValues(present.cases, unwatched);
  const begun = { ...present, cases, acts: present.acts.filter(({ at }) => at <= now) };
  return { state: begun, changes: by === 0 ? [] : [...rowsOf(begun)] };
}

function movedBack(state: LedgerState, by: number): LedgerState {
  const { breaker } = state;
  return {
    ...state,
    cases: mapValues(state.cases, (one) => moved(one, by)),
    triggers: mapValues(state.triggers, (one) => ({
      ...one,
      at: one.at - by,
      seenAt: one.seenAt - by,
      ...(one.closedAt === undefined ? {} : { closedAt: one.closedAt - by }),
      ...(one.until === undefined ? {} : { until: one.until - by }),
    })),
    knobs: mapValues(state.knobs, (row) => ({ ...row, at: row.at - by, notBefore: row.notBefore - by })),
    cooldowns: mapValues(state.cooldowns, (until) => until - by),
    acts: state.acts.map((act) => ({ ...act, at: act.at - by })),
    // 0: as far as anybody knows, it has always meant this card.
    numbers: mapValues(state.numbers, (one) => ({ ...one, since: Math.max(0, one.since - by) })),
    pauses: mapValues(state.pauses, (pause) => ({
      ...pause,
      since: pause.since - by,
      ...(pause.until === undefined ? {} : { until: pause.until - by }),
    })),
    ...(breaker && {
      breaker: { ...breaker, since: breaker.since - by, failures: breaker.failures.map((at) => at - by) },
    }),
  };
}

function* rowsOf({ triggers, cases, knobs, cooldowns, pauses, numbers, breaker }: LedgerState): Iterable<Change> {
  for (const trigger of triggers.values()) yield { put: 'trigger', trigger };
  for (const one of cases.values()) yield { put: 'case', case: one };
  for (const knob of knobs.values()) yield { put: 'knob', knob };
  for (const [pair, until] of cooldowns) {
    const [policy = '', ...target] = pair.split(' ');
    yield { put: 'cooldown', policy, target: target.join(' '), until };
  }
  for (const pause of pauses.values()) yield { put: 'pause', pause };
  for (const [gpu, { pci, since }] of numbers) yield { put: 'number', gpu, pci, since };
  if (breaker !== undefined) yield { put: 'breaker', breaker };
}

/** Of all times that were the present when they were written. */
function newestOf({ cases, triggers, knobs, pauses }: LedgerState): Instant {
  let newest = 0;
  const see = (at: Instant): void => {
    newest = Math.max(newest, at);
  };
  for (const { openedAt, holdsFrom = 0, dwellFrom = 0, blindFrom = 0 } of cases.values()) {
    for (const at of [openedAt, holdsFrom, dwellFrom, blindFrom]) see(at);
  }
  for (const { at, seenAt } of triggers.values()) see(Math.max(at, seenAt));
  for (const { at } of knobs.values()) see(at);
  for (const { since } of pauses.values()) see(since);
  return newest;
}

function moved(one: Case, by: number): Case {
  const { blindFrom } = one;
  return {
    ...one,
    openedAt: one.openedAt - by,
    deadline: one.deadline - by,
    ...(blindFrom === undefined ? {} : { blindFrom: blindFrom - by }),
  };
}

function unwatched({ holdsFrom: _, dwellFrom: __, stamp: ___, ...rest }: Case): Case {
  return rest;
}

const mapValues = <K, V>(map: ReadonlyMap<K, V>, change: (value: V) => V): Map<K, V> =>
  new Map([...map].map(([key, value]) => [key, change(value)]));
