import type { Migration } from './migration.ts';

const keyed = (table: string): string =>
  `CREATE TABLE ${table} (key TEXT PRIMARY KEY, body TEXT NOT NULL, sum TEXT NOT NULL) STRICT, WITHOUT ROWID`;

/** What holds now, one table each; acts, ended cases and the audit, which grow and are cut. Times in ms since the epoch. */
export const tables: Migration = {
  version: 1,
  up(sql) {
    for (const table of [
      'triggers',
      'cases',
      'claims',
      'knobs',
      'cooldowns',
      'pauses',
      'breaker',
      'policies',
      'numbers',
    ]) {
      sql.run(keyed(table));
    }
    sql.run(
      'CREATE TABLE acts (id INTEGER PRIMARY KEY, at REAL NOT NULL, body TEXT NOT NULL, sum TEXT NOT NULL) STRICT',
    );
    sql.run(`CREATE TABLE closed_cases (key TEXT PRIMARY KEY, policy TEXT NOT NULL, version TEXT NOT NULL, target TEXT NOT NULL,
      state TEXT NOT NULL, opened_at REAL NOT NULL, closed_at REAL NOT NULL, body TEXT NOT NULL, sum TEXT NOT NULL) STRICT`);
    sql.run('CREATE INDEX closed_cases_by_opening ON closed_cases (opened_at)');
    sql.run('CREATE INDEX closed_cases_by_closing ON closed_cases (closed_at)');
    sql.run('CREATE INDEX closed_cases_by_policy ON closed_cases (policy, version)');
    sql.run(`CREATE TABLE history (id INTEGER PRIMARY KEY, at REAL NOT NULL, outcome TEXT NOT NULL, policy TEXT, target TEXT,
      case_id TEXT, body TEXT NOT NULL, sum TEXT NOT NULL) STRICT`);
    sql.run('CREATE INDEX history_by_time ON history (at)');
    sql.run('CREATE INDEX history_by_case ON history (case_id) WHERE case_id IS NOT NULL');
    sql.run('CREATE INDEX history_by_target ON history (target) WHERE target IS NOT NULL');
  },
};
