import { brokenLedger } from './errors.ts';
import { keyText, SEALED_KEY, seal, textOf, unseal } from './seal.ts';
import type { Row, Sql } from './sql.ts';

/** Tables of what holds now, with one row a key; all of it is in memory while the actuator runs. */
export const STATE_TABLES = [
  'triggers',
  'cases',
  'claims',
  'knobs',
  'cooldowns',
  'pauses',
  'breaker',
  'policies',
  'numbers',
] as const;
/** Tables that grow with time and are cut. */
export const GROWING_TABLES = ['acts', 'closed_cases', 'history'] as const;

export type StateTable = (typeof STATE_TABLES)[number];

export interface Shelf<T> {
  put(key: string, value: T): void;
  drop(key: string): void;
  get(key: string): T | undefined;
  all(): T[];
}

/** The values of one table by key. Reading throws LEDGER_BROKEN where a row is not what was written. */
export function shelf<T>(sql: Sql, file: string, table: StateTable): Shelf<T> {
  const read = (row: Row): T => open<T>(file, table, textOf(row.key), row);
  return {
    put(key, value) {
      const text = keyText(key);
      const { body, sum } = seal(table, text, value);
      sql.run(
        `INSERT INTO ${table} (key, body, sum) VALUES (?, ?, ?)
           ON CONFLICT (key) DO UPDATE SET body = excluded.body, sum = excluded.sum`,
        text,
        body,
        sum,
      );
    },
    drop(key) {
      sql.run(`DELETE FROM ${table} WHERE key = ?`, keyText(key));
    },
    get(key) {
      const [row] = sql.all(`SELECT ${SEALED_KEY} FROM ${table} WHERE key = ?`, keyText(key));
      return row && read(row);
    },
    all: () => sql.all(`SELECT ${SEALED_KEY} FROM ${table}`).map(read),
  };
}

/** What was sealed into a row; LEDGER_BROKEN where it is something else by now. */
export function open<T>(file: string, table: string, key: string, row: Row): T {
  const opened = unseal(table, key, row);
  if (!opened)
    throw brokenLedger(file, `holds a row in ${table} that is not what was written (${JSON.stringify(key)})`);
  return opened.value as T;
}
