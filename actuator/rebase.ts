import type { Case } from '../model/case.ts';
import type { Instant } from '../model/instant.ts';
import type { LedgerState } from './ledger/state.ts';

/**
 * The ledger's times as they are to be read by this process. Each process reckons in steady time of its own, which began with the
 * wall clock of its start. Where that clock has been set back since, all that the ledger tells lies ahead: leases and cooldowns
 * would last longer by as much, and a trigger that nobody renews would pass for one that was just heard. So everything is moved back
 * until its newest time is now.
 *
 * What had to hold without a break was not watched meanwhile, and begins anew.
 */
export function rebase(state: LedgerState, now: Instant): LedgerState {
  const by = Math.max(0, newestOf(state) - now);
  const cases = new Map([...state.cases].map(([id, one]) => [id, unwatched(by === 0 ? one : moved(one, by))]));
  if (by === 0) return { ...state, cases };
  const { breaker } = state;
  return {
    ...state,
    cases,
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

/** Of all times that were the present when they were written. */
function newestOf({ cases, triggers, knobs, acts, pauses }: LedgerState): Instant {
  let newest = 0;
  const see = (at: Instant): void => {
    newest = Math.max(newest, at);
  };
  for (const { openedAt, holdsFrom = 0, dwellFrom = 0, blindFrom = 0 } of cases.values()) {
    for (const at of [openedAt, holdsFrom, dwellFrom, blindFrom]) see(at);
  }
  for (const { at, seenAt } of triggers.values()) see(Math.max(at, seenAt));
  for (const { at } of knobs.values()) see(at);
  for (const { at } of acts) see(at);
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

const mapValues = <V>(map: ReadonlyMap<string, V>, change: (value: V) => V): Map<string, V> =>
  new Map([...map].map(([key, value]) => [key, change(value)]));
