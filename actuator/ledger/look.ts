import type { Case, CaseState } from '../../model/case.ts';
import type { HistoryEntry } from '../../model/decision.ts';
import type { Instant } from '../../model/instant.ts';
import { type Target, targetKey } from '../../model/target.ts';
import { brokenLedger } from './errors.ts';
import { keyText, SEALED, SEALED_KEY, textOf } from './seal.ts';
import { open } from './shelf.ts';
import type { Sql, SqlValue } from './sql.ts';
import type { Shelves } from './state.ts';

/** Rows of one answer, where the question names no limit. */
export const DEFAULT_LIMIT = 1_000;

export interface HistoryQuery {
  since?: Instant;
  until?: Instant;
  policy?: string;
  target?: Target;
  case?: string;
  outcome?: HistoryEntry['outcome'];
  /** Goes on below this `seq`: the next page. */
  before?: number;
  limit?: number;
}

/** A line of the audit with its place: later lines have higher numbers. */
export interface HistoryLine extends HistoryEntry {
  seq: number;
}

export interface CaseQuery {
  state?: CaseState | readonly CaseState[];
  policy?: string;
  target?: Target;
  /** Open now, or ended no earlier than this. */
  since?: Instant;
  limit?: number;
}

/** Newest first. Throws LEDGER_BROKEN where a row is not what was written. */
export function lookAtHistory(sql: Sql, file: string, query: HistoryQuery): HistoryLine[] {
  const where = conditions([
    ['at >= ?', query.since],
    ['at < ?', query.until],
    ['policy = ?', key(query.policy)],
    ['target = ?', key(query.target && targetKey(query.target))],
    ['case_id = ?', key(query.case)],
    ['outcome = ?', query.outcome],
    ['id < ?', query.before],
  ]);
  const text = `SELECT id, ${SEALED} FROM history ${where.text} ORDER BY id DESC LIMIT ?`;
  return sql
    .all(text, ...where.values, query.limit ?? DEFAULT_LIMIT)
    .map((row) => ({ seq: row.id as number, ...open<HistoryEntry>(file, 'history', '', row) }));
}

/** Open and ended cases, the one opened last first. Throws LEDGER_BROKEN where a row is not what was written. */
export function lookAtCases(sql: Sql, file: string, kept: Shelves, query: CaseQuery): Case[] {
  const limit = query.limit ?? DEFAULT_LIMIT;
  const states = query.state === undefined ? undefined : [query.state].flat();
  const target = query.target && targetKey(query.target);
  const fits = (entry: Case): boolean =>
    (states === undefined || states.includes(entry.state)) &&
    (query.policy === undefined || entry.policy === query.policy) &&
    (target === undefined || targetKey(entry.target) === target);
  const where = conditions([
    ['closed_at >= ?', query.since],
    ['policy = ?', key(query.policy)],
    ['target = ?', key(target)],
    // A list in JSON keeps the text of the statement the same for any number of states.
    ['state IN (SELECT value FROM json_each(?))', states && JSON.stringify(states)],
  ]);
  const text = `SELECT ${SEALED_KEY} FROM closed_cases ${where.text} ORDER BY opened_at DESC, key LIMIT ?`;
  const ended = sql
    .all(text, ...where.values, limit)
    .map((row) => open<Case>(file, 'closed_cases', textOf(row.key), row));
  return [...kept.cases.all().filter(fits), ...ended].sort((a, b) => b.openedAt - a.openedAt).slice(0, limit);
}

/** Reads every ended case and every line of the audit. Throws LEDGER_BROKEN where a row is not what was written. */
export function checkPast(sql: Sql, file: string): void {
  for (const [table, key] of [
    ['closed_cases', 'CAST(key AS BLOB)'],
    ['history', "CAST('' AS BLOB)"],
  ]) {
    const page = `SELECT rowid AS place, ${key} AS key, ${SEALED} FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT 1000`;
    let last = 0;
    for (let rows = sql.all(page, last); rows.length > 0; rows = sql.all(page, last)) {
      for (const row of rows) open(file, table!, textOf(row.key), row);
      const place = rows.at(-1)!.place as number;
      if (place <= last) throw brokenLedger(file, `is damaged in ${table}: its rows are out of order`);
      last = place;
    }
  }
}

const key = (text: string | undefined): string | undefined => (text === undefined ? undefined : keyText(text));

function conditions(wanted: readonly (readonly [string, SqlValue])[]): { text: string; values: SqlValue[] } {
  const asked = wanted.filter(([, value]) => value !== undefined);
  const text = asked.length === 0 ? '' : `WHERE ${asked.map(([condition]) => condition).join(' AND ')}`;
  return { text, values: asked.map(([, value]) => value) };
}
