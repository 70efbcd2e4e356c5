import type { Instant } from '../../model/instant.ts';
import { textOf } from './seal.ts';
import type { Row, Sql } from './sql.ts';
import { policyKey, type Shelves } from './state.ts';

const DAY = 86_400_000;

/** How long what is over is kept, ms; what is open is never cut. */
export interface Keep {
  casesMs: number;
  historyMs: number;
  historyRows: number;
  /** Closed triggers: so long a late repeat is known as stale. */
  triggersMs: number;
  actsMs: number;
}

export const DEFAULT_KEEP: Keep = {
  casesMs: 90 * DAY,
  historyMs: 90 * DAY,
  historyRows: 1_000_000,
  triggersMs: 7 * DAY,
  actsMs: DAY / 24,
};

/** Rows cut at most from one table in one call, so that a call does not hold up what must be done now. */
export const PRUNE_BATCH = 2_000;

/** Forgets what is over; the number of rows. Belongs in a transaction. Room in the file is used again, not given back. */
export function pruneRows(sql: Sql, kept: Shelves, now: Instant, keep: Keep): number {
  const cut = (table: string, key: string, condition: string, ...values: number[]): number =>
    sql.run(
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ${PRUNE_BATCH})`,
      ...values,
    );
  return (
    cut('history', 'id', 'at < ?', now - keep.historyMs) +
    cut('history', 'id', 'id <= (SELECT max(id) FROM history) - ?', keep.historyRows) +
    cut('closed_cases', 'key', 'closed_at < ?', now - keep.casesMs) +
    cut('acts', 'id', 'at < ?', now - keep.actsMs) +
    cut('triggers', 'key', "json_extract(body, '$.closedAt') < ?", now - keep.triggersMs) +
    cut('cooldowns', 'key', "json_extract(body, '$.until') < ?", now) +
    prunePolicies(sql, kept, now - keep.casesMs)
  );
}

/** A policy's text is kept as long as a case, open or ended, was begun by it. */
function prunePolicies(sql: Sql, kept: Shelves, before: Instant): number {
  const old = kept.policies.all().filter(({ at }) => at < before);
  if (old.length === 0) return 0;
  const open = kept.cases.all().map(({ policy, version }) => policyKey(policy, version));
  const ended = sql.all(
    'SELECT CAST(policy AS BLOB) AS policy, CAST(version AS BLOB) AS version FROM (SELECT DISTINCT policy, version FROM closed_cases)',
  );
  // Columns hold keys as text of JSON, in which a policy and its version are joined in the same way.
  const used = new Set([...open, ...ended.map((row) => policyKey(fromText(row.policy), fromText(row.version)))]);
  const unused = old.map(({ name, version }) => policyKey(name, version)).filter((key) => !used.has(key));
  for (const key of unused) kept.policies.drop(key);
  return unused.length;
}

const fromText = (text: Row[string] | undefined): string => JSON.parse(`"${textOf(text)}"`) as string;
