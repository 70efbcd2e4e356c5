import { bugError, environmentError, errnoOf, type NightshiftError } from '../../base/errors.ts';

/** Primary result codes of SQLite, https://www.sqlite.org/rescode.html; extended codes carry them in their low byte. */
const SQLITE = {
  ERROR: 1,
  PERM: 3,
  BUSY: 5,
  LOCKED: 6,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  NOTADB: 26,
} as const;
/** SQLITE_IOERR_SHORT_READ and SQLITE_IOERR_CORRUPTFS: the file is shorter than it says, or the file system is damaged. */
const DAMAGED_READS: readonly number[] = [522, 8458];

export const brokenLedger = (file: string, what: string, cause?: unknown): NightshiftError =>
  environmentError(
    'LEDGER_BROKEN',
    `ledger ${file} ${what}`,
    'Keep a copy of it, give the settings back with `nightshift revert --offline`, then move it away and start again.',
    { cause },
  );

export const newerLedger = (file: string, version: number, known: number): NightshiftError =>
  environmentError(
    'LEDGER_NEWER',
    `ledger ${file} is of version ${version}, and this program knows versions up to ${known}`,
    'Run the newer program again; it was left as it is.',
  );

export const missingLedger = (file: string): NightshiftError =>
  environmentError('LEDGER_MISSING', `there is no ledger ${file}`, 'No actuator has kept one there: check the path.');

export const lockedLedger = (file: string, cause?: unknown): NightshiftError =>
  environmentError(
    'LEDGER_LOCKED',
    `another process holds the ledger ${file}`,
    'Ask the running actuator instead, or stop it first; a program that reads the file (sqlite3) holds it too.',
    { cause },
  );

export const unwritableLedger = (file: string, why: string, cause?: unknown): NightshiftError =>
  environmentError(
    'LEDGER_UNWRITABLE',
    `ledger ${file} cannot be written: ${why}`,
    'It needs an existing folder on a healthy disk in which this user may create and write files.',
    { cause },
  );

export const readOnlyLedger = (file: string, what: string): NightshiftError =>
  environmentError(
    'LEDGER_READ_ONLY',
    `ledger ${file} is open for reading only, and ${what}`,
    'Do it with the program that keeps the ledger.',
  );

export const closedLedger = (file: string): NightshiftError =>
  bugError('LEDGER_CLOSED', `ledger ${file} was used after it was closed`, 'Please report it together with the log.');

/** What cannot be kept would come back as something else: it is refused before it is written. */
export const unkeepable = (table: string, key: string, why: string, cause?: unknown): NightshiftError =>
  bugError('LEDGER_VALUE', `${table} ${key} cannot be kept: ${why}`, 'Please report it together with the log.', {
    cause,
  });

/** The result code of SQLite in an error of the library; opening tells it at the end of a sentence only. */
function resultCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const raw = (thrown as { rawCode?: unknown }).rawCode;
  if (typeof raw === 'number') return raw;
  const told = /^ConnectionFailed\(.*: (\d+)"\)$/s.exec(thrown.message);
  return told ? Number(told[1]) : undefined;
}

export const isFull = (thrown: unknown): boolean =>
  ((resultCode(thrown) ?? 0) & 0xff) === SQLITE.FULL || errnoOf(thrown) === 'ENOSPC';

/** An error of SQLite as one of ours; what it cannot name (a wrong value) is our own bug and comes back as it is. */
export function ledgerError(file: string, thrown: unknown): unknown {
  const code = resultCode(thrown);
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  if (isFull(thrown)) {
    const hint = 'Free some space; nothing of this step was kept, and the next one is tried anew.';
    return environmentError('LEDGER_FULL', `no space is left for the ledger ${file}`, hint, { cause: thrown });
  }
  if (code === undefined) return thrown;
  if (DAMAGED_READS.includes(code)) return brokenLedger(file, 'is damaged', thrown);
  switch (code & 0xff) {
    // Our statements are constants: one that cannot be prepared has not met the tables that we make.
    case SQLITE.ERROR:
      return brokenLedger(file, `has other tables than it should: ${reason}`, thrown);
    case SQLITE.BUSY:
    case SQLITE.LOCKED:
      return lockedLedger(file, thrown);
    case SQLITE.NOTADB:
      return brokenLedger(file, 'is no database', thrown);
    case SQLITE.CORRUPT:
      return brokenLedger(file, 'is damaged', thrown);
    case SQLITE.PERM:
    case SQLITE.READONLY:
    case SQLITE.IOERR:
    case SQLITE.CANTOPEN:
      return unwritableLedger(file, reason, thrown);
    default:
      return thrown;
  }
}
