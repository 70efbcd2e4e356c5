import { resolve } from 'node:path';
import Database from 'libsql';
import { withFileMode } from '../../base/unix-socket.ts';

export type SqlValue = string | number | undefined;
/** Text that may be damaged is read with `CAST(… AS BLOB)`: the library ends the whole process at text that is no UTF-8. */
export type Row = Readonly<Record<string, string | number | ArrayBuffer | null>>;

/** One connection. Texts of statements are constants of ours: each is prepared once and kept. */
export interface Sql {
  run(text: string, ...values: SqlValue[]): number;
  all(text: string, ...values: SqlValue[]): Row[];
  /** The first column of the first row. */
  value(text: string, ...values: SqlValue[]): string | number | ArrayBuffer | null | undefined;
  /** All or none of what `work` does; an open transaction that an earlier failure left is ended before. */
  transaction<T>(work: () => T): T;
  /** Takes the lock for as long as the file is open; another process is waited for so long, ms. */
  lock(waitMs: number): void;
  /** One file afterwards, without log. */
  fold(): void;
  close(): void;
}

/**
 * Opens a SQLite file (created with mode 0600 unless `readOnly`). Throws what the library throws.
 *
 * The library keeps a connection open until its last statement is garbage, and statements go on working after `close`:
 * whoever closes must let go of the lock itself (`close` here), and hold no statement.
 */
export function openSql(file: string, readOnly: boolean): Sql {
  const path = resolve(file);
  const open = () => new Database(readOnly ? `file:${uriPath(path)}?mode=ro` : path);
  let db: Database.Database | undefined;
  if (readOnly) db = open();
  else {
    withFileMode(0o600, () => {
      db = open();
    });
  }
  const database = db as Database.Database;
  const statements = new Map<string, Database.Statement>();
  const prepare = (text: string): Database.Statement => {
    const kept = statements.get(text);
    if (kept) return kept;
    const made = database.prepare(text);
    statements.set(text, made);
    return made;
  };
  // `get` of the library adds a property `_metadata` to its row; `all` does not, so rows come by it alone.
  const all = (text: string, values: readonly SqlValue[]): Row[] => prepare(text).all([...values]) as Row[];
  const value = (text: string, values: readonly SqlValue[] = []) => {
    const row = all(text, values)[0];
    return row === undefined ? undefined : Object.values(row)[0];
  };
  const rollback = (): void => {
    if (database.inTransaction) database.exec('ROLLBACK');
  };

  return {
    run: (text, ...values) => prepare(text).run([...values]).changes,
    all: (text, ...values) => all(text, values),
    value: (text, ...values) => value(text, values),
    transaction(work) {
      rollback();
      prepare('BEGIN IMMEDIATE').run([]);
      try {
        const result = work();
        prepare('COMMIT').run([]);
        return result;
      } catch (error) {
        try {
          rollback();
        } catch {
          // The first error says more; the next transaction tries again.
        }
        throw error;
      }
    },
    lock(waitMs) {
      database.exec(`PRAGMA busy_timeout=${Math.round(waitMs)}`);
      // Before the first access: the index of the log is then kept in memory, and no file of shared memory is made.
      database.exec('PRAGMA locking_mode=EXCLUSIVE');
    },
    fold() {
      value('PRAGMA journal_mode=DELETE');
    },
    close() {
      try {
        rollback();
        value('PRAGMA locking_mode=NORMAL');
        // The lock is let go at the end of the next access.
        value('SELECT count(*) FROM sqlite_schema');
      } finally {
        statements.clear();
        database.close();
      }
    },
  };
}

/** As https://www.sqlite.org/uri.html wants it. */
const uriPath = (path: string): string => encodeURI(path).replace(/[?#]/g, encodeURIComponent);
