import { existsSync, statSync } from 'node:fs';
import type { Log } from '../../base/log.ts';
import type { Case } from '../../model/case.ts';
import type { Change } from '../../model/decision.ts';
import type { Instant } from '../../model/instant.ts';
import { applyChange } from './apply.ts';
import { brokenLedger, closedLedger, isFull, ledgerError, readOnlyLedger, unwritableLedger } from './errors.ts';
import { type CaseQuery, checkPast, type HistoryLine, type HistoryQuery, lookAtCases, lookAtHistory } from './look.ts';
import { openFile } from './open.ts';
import { DEFAULT_KEEP, type Keep, pruneRows } from './prune.ts';
import { type LedgerState, loadState, policyKey, shelves } from './state.ts';

export interface LedgerOptions {
  now: () => Instant;
  log?: Log;
  /** Of a dead actuator only: a living one holds its ledger for itself. */
  readOnly?: boolean;
  /** How long another process may take to let go of the file, ms. */
  waitMs?: number;
}

/** The truth of the actuator, in one SQLite file. All calls are synchronous; every one can throw LEDGER_*. */
export interface Ledger {
  readonly file: string;
  load(): LedgerState;
  /** All of the changes or none; on the disk when it returns. After an error the ledger can be used as before. */
  commit(changes: readonly Change[]): void;
  /** Newest first. */
  history(query?: HistoryQuery): HistoryLine[];
  /** Open and ended, the one opened last first. */
  cases(query?: CaseQuery): Case[];
  policySource(name: string, version: string): string | undefined;
  /** Looks at every page, index and row; throws LEDGER_BROKEN. Takes long on a long history. */
  checkIntegrity(): void;
  /** Forgets a batch of what is over, and says how many rows; call it again soon where that is at least PRUNE_BATCH. */
  prune(now: Instant, keep?: Partial<Keep>): number;
  /** Of the file and its log, bytes. */
  size(): number;
  close(): void;
}

/**
 * Opens the ledger, or makes it (mode 0600, in a folder that exists), and holds it against every other process until `close`
 * or death. Throws LEDGER_LOCKED, LEDGER_BROKEN, LEDGER_NEWER, LEDGER_UNWRITABLE, LEDGER_FULL; reading only: LEDGER_MISSING.
 */
export function openLedger(file: string, options: LedgerOptions): Ledger {
  const { now, log, readOnly = false, waitMs = 1_000 } = options;
  const sql = openFile(file, { readOnly, waitMs, ...(log && { log }) });
  const kept = shelves(sql, file);
  const { ino, dev } = statSync(file);
  let isClosed = false;

  function use<T>(work: () => T): T {
    if (isClosed) throw closedLedger(file);
    try {
      return work();
    } catch (error) {
      throw ledgerError(file, error);
    }
  }

  function change<T>(what: string, work: () => T): T {
    if (readOnly) throw readOnlyLedger(file, `${what} would change it`);
    const named = statSync(file, { throwIfNoEntry: false });
    // SQLite goes on in a file that has lost its name, and nobody would find there what it keeps.
    if (named?.ino !== ino || named.dev !== dev)
      throw unwritableLedger(file, 'it was removed or replaced while in use');
    return use(() => {
      try {
        return sql.transaction(work);
      } catch (error) {
        // The log may be what fills the disk: folded into the file, its room can be used once more.
        if (!isFull(error) || !folded()) throw error;
        return sql.transaction(work);
      }
    });
  }

  const folded = (): boolean => {
    try {
      return sql.value('PRAGMA wal_checkpoint(TRUNCATE)') === 0;
    } catch {
      return false;
    }
  };

  return {
    file,
    load: () => use(() => loadState(sql, file, kept)),
    commit(changes) {
      if (changes.length === 0) return;
      change('a commit', () => {
        for (const one of changes) applyChange(sql, kept, one, now());
      });
    },
    history: (query = {}) => use(() => lookAtHistory(sql, file, query)),
    cases: (query = {}) => use(() => lookAtCases(sql, file, kept, query)),
    policySource: (name, version) => use(() => kept.policies.get(policyKey(name, version))?.source),
    checkIntegrity: () =>
      use(() => {
        const verdict = sql.value('PRAGMA integrity_check(1)');
        if (verdict !== 'ok') throw brokenLedger(file, `is damaged: ${verdict}`);
        for (const { all } of Object.values(kept)) all();
        loadState(sql, file, kept);
        checkPast(sql, file);
      }),
    prune: (at, keep = {}) => change('pruning', () => pruneRows(sql, kept, at, { ...DEFAULT_KEEP, ...keep })),
    size: () =>
      [file, `${file}-wal`].filter((path) => existsSync(path)).reduce((bytes, path) => bytes + statSync(path).size, 0),
    close() {
      if (isClosed) return;
      isClosed = true;
      try {
        if (!readOnly) sql.fold();
      } catch (error) {
        // Nothing is lost: the log is read again when the file is opened next.
        log?.warn({ err: ledgerError(file, error) }, 'the ledger was closed with its log beside it');
      }
      try {
        sql.close();
      } catch (error) {
        log?.warn({ err: ledgerError(file, error) }, 'the ledger is held until this process ends');
      }
    },
  };
}
