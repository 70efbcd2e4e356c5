import type { OfflineResult, OfflineRows } from '../../actuator/settings/offline.ts';
import type { Case } from '../../model/case.ts';
import { knobKey } from '../../model/claim.ts';
import type { Change, HistoryEntry } from '../../model/decision.ts';
import type { Instant } from '../../model/instant.ts';

/** What a ledger is told of its cases when they are given back without their actuator. */

export interface Ends {
  onlyExpired: boolean;
  author: string;
  reason: string;
  now: Instant;
}

/** A case of heat whose sensor is blind outlives its lease: no clock gives back heat that nobody sees. */
function isOver(one: Case, rows: OfflineRows, { onlyExpired, now }: Ends): boolean {
  if (!onlyExpired) return true;
  const isSafety = rows.claims.some((claim) => claim.case === one.id && claim.safety);
  return one.deadline <= now && !(isSafety && one.blindFrom !== undefined);
}

const touched = (one: Case): boolean => one.mode === 'enforce' && one.knobs.length > 0;

/** Their claims go before the first write: an actuator that starts after a crash in between goes on giving back. */
export function beginsToLetGo(rows: OfflineRows, ends: Ends): Change[] {
  return rows.cases
    .filter((one) => isOver(one, rows, ends) && touched(one))
    .flatMap((one): Change[] => {
      const { dwellFrom: _, ...rest } = one;
      return [
        { put: 'case', case: { ...rest, state: 'releasing', reason: reasonOf(one, ends) } },
        { put: 'claims', case: one.id, claims: [] },
        { add: 'history', entry: entry(one, 'released', reasonOf(one, ends), ends) },
      ];
    });
}

const BACK: ReadonlySet<OfflineResult['outcome']> = new Set(['given_back', 'overridden', 'kept']);

/** A case whose knobs are all back is over; one that waits for a card stays `releasing`, and a later start goes on with it. */
export function endsOf(
  rows: OfflineRows,
  results: readonly OfflineResult[],
  ends: Ends,
): { changes: Change[]; ended: string[]; waiting: string[] } {
  const outcomes = new Map(results.map(({ on, knob, outcome }) => [knobKey(on, knob), outcome]));
  const ended: string[] = [];
  const waiting: string[] = [];
  const changes = rows.cases
    .filter((one) => isOver(one, rows, ends))
    .flatMap((one): Change[] => {
      const found = one.knobs.map(({ on, knob }) => outcomes.get(knobKey(on, knob)) ?? 'given_back');
      if (touched(one) && !found.every((outcome) => BACK.has(outcome))) {
        waiting.push(one.id);
        return [];
      }
      ended.push(one.id);
      return endOf(one, found.includes('overridden'), ends);
    });
  return { changes, ended, waiting };
}

function endOf(one: Case, overridden: boolean, ends: Ends): Change[] {
  const reason = reasonOf(one, ends);
  const state =
    one.state === 'pending' ? 'dropped' : overridden ? 'overridden' : ends.onlyExpired ? 'expired' : 'released';
  const outcome = one.state === 'pending' ? 'dropped' : touched(one) ? 'closed' : 'released';
  const { dwellFrom: _, ...rest } = one;
  return [
    { put: 'case', case: { ...rest, state, reason, closedAt: ends.now } },
    { put: 'claims', case: one.id, claims: [] },
    {
      add: 'history',
      entry: entry(one, outcome, outcome === 'closed' ? (overridden ? 'overridden' : 'given_back') : reason, ends),
    },
  ];
}

/** Why it is let go; one that was being given back already keeps its reason. */
function reasonOf(one: Case, { onlyExpired }: Ends): string {
  if (one.state === 'releasing') return one.reason;
  return onlyExpired ? 'lease_expired' : 'reverted';
}

function entry(one: Case, outcome: HistoryEntry['outcome'], why: string, { author, reason, now }: Ends): HistoryEntry {
  const { policy, target, mode, id } = one;
  return {
    at: now,
    outcome,
    reason: why,
    policy,
    target,
    mode,
    case: id,
    detail: { author, because: reason, offline: true },
  };
}
