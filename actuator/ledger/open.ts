import { chmodSync, closeSync, existsSync, fsyncSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, NightshiftError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import { brokenLedger, ledgerError, missingLedger, newerLedger, readOnlyLedger, unwritableLedger } from './errors.ts';
import { MIGRATIONS } from './migrations/all.ts';
import { APPLICATION_ID, type Migration, migrate } from './migrations/migration.ts';
import { GROWING_TABLES, STATE_TABLES } from './shelf.ts';
import { openSql, type Sql } from './sql.ts';

/** The log is folded into the file at this many pages of 4 KiB, and cut to this many bytes. */
const LOG_PAGES = 1_000;
const LOG_BYTES = 4 << 20;
const SMALLEST_PAGE = 512;

export interface OpenOptions {
  readOnly: boolean;
  waitMs: number;
  log?: Log;
  /** Steps of the schema; other ones in tests. */
  steps?: readonly Migration[];
}

/** The file of the ledger, locked, sound and of the newest version. Throws LEDGER_*. */
export function openFile(file: string, options: OpenOptions): Sql {
  const { readOnly, log, steps = MIGRATIONS } = options;
  const isNew = !existsSync(file);
  if (readOnly && isNew) throw missingLedger(file);
  if (!readOnly) checkFolder(file);
  checkLength(file, isNew);
  let sql: Sql | undefined;
  try {
    sql = openSql(file, readOnly);
    const taken = prepare(sql, file, options, steps);
    if (!readOnly) {
      chmodSync(file, 0o600);
      if (isNew) syncFolder(file);
      else if (taken > 0)
        log?.info({ file, version: steps.at(-1)?.version }, 'the ledger was brought to a newer version');
    }
    return sql;
  } catch (error) {
    try {
      sql?.close();
    } catch {
      // The first error says what is wrong; the lock ends with this process at the latest.
    }
    throw error instanceof NightshiftError ? error : wrongFile(file, error);
  }
}

function prepare(sql: Sql, file: string, options: OpenOptions, steps: readonly Migration[]): number {
  if (options.readOnly) sql.run(`PRAGMA busy_timeout=${options.waitMs}`);
  else sql.lock(options.waitMs);
  const known = steps.at(-1)?.version ?? 0;
  const version = versionOf(sql, file);
  if (version > known) throw newerLedger(file, version, known);
  // Before anything is written: a damaged file stays as it was found.
  checkState(sql, file, version === known && steps === MIGRATIONS);
  if (options.readOnly) {
    if (version < known) throw readOnlyLedger(file, `must be brought from version ${version} to ${known} first`);
    return 0;
  }
  const mode = sql.value('PRAGMA journal_mode=WAL');
  if (mode !== 'wal') throw unwritableLedger(file, `the journal stays in mode ${mode}`);
  sql.run('PRAGMA synchronous=FULL');
  sql.value(`PRAGMA wal_autocheckpoint=${LOG_PAGES}`);
  sql.value(`PRAGMA journal_size_limit=${LOG_BYTES}`);
  try {
    return migrate(sql, steps, version);
  } catch (error) {
    // Without it the lock would last as long as this process.
    sql.fold();
    throw error;
  }
}

/** 0 for an empty file; a database that is not a ledger is not touched. */
function versionOf(sql: Sql, file: string): number {
  const application = sql.value('PRAGMA application_id');
  const version = Number(sql.value('PRAGMA user_version'));
  if (application === APPLICATION_ID) return version;
  const isEmpty = application === 0 && version === 0 && sql.value('SELECT count(*) FROM sqlite_schema') === 0;
  if (!isEmpty) throw brokenLedger(file, 'is a database of another program');
  return 0;
}

/** The tables that are small and that everything hangs on; the long ones are for `checkIntegrity`. */
function checkState(sql: Sql, file: string, isCurrent: boolean): void {
  const isThere = (table: string): boolean =>
    sql.value("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", table) === 1;
  const missing = [...STATE_TABLES, ...GROWING_TABLES].filter((table) => !isThere(table));
  if (isCurrent && missing.length > 0) throw brokenLedger(file, `lacks tables: ${missing.join(', ')}`);
  for (const table of STATE_TABLES) {
    if (!isThere(table)) continue;
    const verdict = sql.value(`PRAGMA quick_check('${table}')`);
    if (verdict !== 'ok') throw brokenLedger(file, `is damaged in ${table}: ${verdict}`);
  }
}

function checkFolder(file: string): void {
  const folder = dirname(file);
  try {
    if (!statSync(folder).isDirectory()) throw unwritableLedger(file, `${folder} is no folder`);
    if (existsSync(file) && !statSync(file).isFile())
      throw unwritableLedger(file, 'something else than a file is there');
  } catch (error) {
    if (error instanceof NightshiftError) throw error;
    const why = errnoOf(error) === 'ENOENT' ? `its folder ${folder} does not exist` : `its folder: ${errnoOf(error)}`;
    throw unwritableLedger(file, why, error);
  }
}

/** SQLite takes a file shorter than its smallest page for a new one, and would write over what is left of it. */
function checkLength(file: string, isNew: boolean): void {
  const { size } = isNew ? { size: 0 } : statSync(file);
  if (size > 0 && size < SMALLEST_PAGE) throw brokenLedger(file, `has ${size} bytes, which is no database`);
}

/** Of the file system, or of SQLite. */
function wrongFile(file: string, error: unknown): unknown {
  if (errnoOf(error) === 'EPERM' || errnoOf(error) === 'EROFS') return unwritableLedger(file, errnoOf(error)!, error);
  return ledgerError(file, error);
}

/** A new name survives a power cut only once its folder is written. */
function syncFolder(file: string): void {
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
