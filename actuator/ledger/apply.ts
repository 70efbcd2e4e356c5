import { pairKey } from '../../model/book.ts';
import { type Case, OPEN_STATES } from '../../model/case.ts';
import { knobKey } from '../../model/claim.ts';
import type { Change, HistoryEntry } from '../../model/decision.ts';
import type { Instant } from '../../model/instant.ts';
import { targetKey } from '../../model/target.ts';
import { keyText, seal } from './seal.ts';
import type { Sql } from './sql.ts';
import { policyKey, type Shelves } from './state.ts';

/** Writes one change; belongs in a transaction. `now` dates a policy's text, which carries no time itself. */
export function applyChange(sql: Sql, kept: Shelves, change: Change, now: Instant): void {
  if ('add' in change) addHistory(sql, change.entry);
  else if ('drop' in change) drop(kept, change);
  else put(sql, kept, change, now);
}

function drop(kept: Shelves, change: Extract<Change, { drop: string }>): void {
  switch (change.drop) {
    case 'trigger':
      kept.triggers.drop(change.key);
      break;
    case 'knob':
      kept.knobs.drop(knobKey(change.on, change.knob));
      break;
    case 'pause':
      kept.pauses.drop(change.id);
      break;
    default:
      change satisfies never;
  }
}

function put(sql: Sql, kept: Shelves, change: Extract<Change, { put: string }>, now: Instant): void {
  switch (change.put) {
    case 'trigger':
      kept.triggers.put(change.trigger.key, change.trigger);
      break;
    case 'case':
      putCase(sql, kept, change.case, now);
      break;
    case 'claims':
      if (change.claims.length === 0) kept.claims.drop(change.case);
      else kept.claims.put(change.case, { case: change.case, claims: change.claims });
      break;
    case 'knob':
      kept.knobs.put(knobKey(change.knob.on, change.knob.knob), change.knob);
      break;
    case 'cooldown': {
      const { policy, target, until } = change;
      kept.cooldowns.put(pairKey(policy, target), { policy, target, until });
      break;
    }
    case 'act':
      addAct(sql, { policy: change.policy, target: change.target, at: change.at });
      break;
    case 'pause':
      kept.pauses.put(change.pause.id, change.pause);
      break;
    case 'breaker':
      kept.breaker.put('breaker', change.breaker);
      break;
    case 'policy': {
      const { name, version, source } = change;
      kept.policies.put(policyKey(name, version), { name, version, source, at: now });
      break;
    }
    case 'number': {
      const { gpu, pci, since } = change;
      kept.numbers.put(String(gpu), { gpu, pci, since });
      break;
    }
    default:
      change satisfies never;
  }
}

/** Open cases lie apart from ended ones: what is open is read whole at every start, and no flag can hide one. */
function putCase(sql: Sql, kept: Shelves, entry: Case, now: Instant): void {
  const key = keyText(entry.id);
  sql.run('DELETE FROM closed_cases WHERE key = ?', key);
  if (OPEN_STATES.has(entry.state)) {
    kept.cases.put(entry.id, entry);
    return;
  }
  kept.cases.drop(entry.id);
  const { body, sum } = seal('closed_cases', key, entry);
  sql.run(
    `INSERT INTO closed_cases (key, policy, version, target, state, opened_at, closed_at, body, sum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    key,
    keyText(entry.policy),
    keyText(entry.version),
    keyText(targetKey(entry.target)),
    entry.state,
    entry.openedAt,
    entry.closedAt ?? now,
    body,
    sum,
  );
}

function addAct(sql: Sql, act: { policy: string; target: string; at: Instant }): void {
  const { body, sum } = seal('acts', '', act);
  sql.run('INSERT INTO acts (at, body, sum) VALUES (?, ?, ?)', act.at, body, sum);
}

function addHistory(sql: Sql, entry: HistoryEntry): void {
  const { body, sum } = seal('history', '', entry, 'audit');
  sql.run(
    'INSERT INTO history (at, outcome, policy, target, case_id, body, sum) VALUES (?, ?, ?, ?, ?, ?, ?)',
    entry.at,
    entry.outcome,
    entry.policy === undefined ? undefined : keyText(entry.policy),
    entry.target === undefined ? undefined : keyText(targetKey(entry.target)),
    entry.case === undefined ? undefined : keyText(entry.case),
    body,
    sum,
  );
}
