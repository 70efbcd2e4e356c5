import type { Sql } from '../sql.ts';

/** One step of the schema. What was released is never edited: a change is a new step. */
export interface Migration {
  /** `user_version` of the file after it; steps are numbered from 1 without a gap. */
  version: number;
  /** Runs in a transaction, together with all steps after it. */
  up(sql: Sql): void;
}

/** Brings the file to the newest step, all or nothing; how many steps it took. */
export function migrate(sql: Sql, steps: readonly Migration[], from: number): number {
  const missing = steps.filter(({ version }) => version > from);
  if (missing.length === 0) return 0;
  sql.transaction(() => {
    for (const step of missing) step.up(sql);
    sql.run(`PRAGMA application_id = ${APPLICATION_ID}`);
    sql.run(`PRAGMA user_version = ${missing.at(-1)!.version}`);
  });
  return missing.length;
}

/** `nslg`: which program a SQLite file belongs to, https://www.sqlite.org/fileformat2.html#application_id */
export const APPLICATION_ID = 0x6e736c67;
