import { existsSync } from 'node:fs';
import { hostLockHolder, takeHostLock } from '../../actuator/host-lock.ts';
import { missingLedger } from '../../actuator/ledger/errors.ts';
import { type Ledger, openLedger } from '../../actuator/ledger/ledger.ts';
import { salvageKnobs } from '../../actuator/ledger/salvage.ts';
import { type OfflineResult, type OfflineRows, revertOffline } from '../../actuator/settings/offline.ts';
import { CardKnobs } from '../../amdgpu/knobs/device.ts';
import { LanePool } from '../../amdgpu/lanes/pool.ts';
import { AmdNode } from '../../amdgpu/node.ts';
import type { Paths } from '../../amdgpu/paths.ts';
import { cadenceOf } from '../../amdgpu/plan.ts';
import type { Clock } from '../../base/clock.ts';
import { describe, environmentError, NightshiftError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { Change } from '../../model/decision.ts';
import { beginsToLetGo, endsOf } from './ends.ts';

/** Gives back what a dead actuator left on its cards, and writes that into its ledger. */

export interface OfflineWork {
  ledger: string;
  paths: Paths;
  onlyExpired: boolean;
  author: string;
  reason: string;
  laneDeadlineMs: number;
  clock: Clock;
  log: Log;
}

export interface OfflineReport {
  ledger: string;
  results: OfflineResult[];
  /** Cases that are over now, and those that still wait for a card. */
  ended: string[];
  waiting: string[];
  /** What does not stand in the ledger, and why: a later start would not know of it. */
  untold?: string;
  /** Of a broken ledger: rows that could not be read. Their settings are still on the cards. */
  lost?: { damaged: number; complete: boolean };
  /** Addresses by number, as people call them. */
  numbers: { gpu: number; pci: string }[];
}

/**
 * Throws HOST_LOCK_HELD and LEDGER_LOCKED where an actuator lives, LEDGER_MISSING, LEDGER_NEWER, and LEDGER_BROKEN where nothing
 * of the ledger can be read. The cards are locked meanwhile, so that no actuator begins in the middle.
 */
export async function revertLedger(work: OfflineWork): Promise<OfflineReport> {
  const lock = await takeHostLock(work.paths.sysfs, { pid: process.pid, ledger: work.ledger }).catch(async (error) => {
    throw await askTheLiving(error, work);
  });
  try {
    return await revertLocked(work);
  } catch (error) {
    throw await askTheLiving(error, work);
  } finally {
    await lock.release();
  }
}

/** Who lives does it better: it knows its rules, and goes on afterwards. */
async function askTheLiving(error: unknown, { paths, ledger }: OfflineWork): Promise<unknown> {
  if (!(error instanceof NightshiftError)) return error;
  if (error.code !== 'HOST_LOCK_HELD' && error.code !== 'LEDGER_LOCKED') return error;
  const holder = await hostLockHolder(paths.sysfs).catch(() => undefined);
  const whose = typeof holder === 'object' && holder.pid !== process.pid ? holder.ledger : ledger;
  const hint = `Ask the running actuator: nightshift revert --ledger ${whose} --reason "...", or stop it first.`;
  return environmentError(error.code, error.message, hint, { cause: error });
}

async function revertLocked(work: OfflineWork): Promise<OfflineReport> {
  const opened = openAnyhow(work);
  try {
    const { rows, ledger } = opened;
    const now = work.clock.now();
    const ends = { ...work, now };
    let untold = opened.untold;
    const commit = (changes: readonly Change[]): void => {
      if (changes.length === 0) return;
      if (ledger === undefined) throw new Error(untold);
      try {
        ledger.commit(changes);
        untold = undefined;
      } catch (error) {
        untold = describe(error);
        throw error;
      }
    };
    let unsaved: readonly Change[] = [];
    /** The cards do not wait for the ledger: what it does not take now goes with what it is told next. */
    const tell = (changes: readonly Change[]): void => {
      unsaved = [...unsaved, ...changes];
      try {
        commit(unsaved);
        unsaved = [];
      } catch {
        // `untold` has it.
      }
    };
    // First of all: whoever starts after a crash in the middle of this goes on giving back.
    tell(beginsToLetGo(rows, ends));
    const { results, numbers } = await onCards(rows, work, commit);
    const { changes, ended, waiting } = endsOf(rows, results, ends);
    tell(changes);
    const { lost } = opened;
    return {
      ledger: work.ledger,
      ...{ results, ended, waiting, numbers },
      ...(untold === undefined ? {} : { untold }),
      ...(lost === undefined ? {} : { lost }),
    };
  } finally {
    opened.ledger?.close();
  }
}

interface Opened {
  rows: OfflineRows;
  ledger?: Ledger;
  untold?: string;
  lost?: { damaged: number; complete: boolean };
}

/** As well as it can be: to be written, else to be read, else what whole rows are left of it. */
function openAnyhow({ ledger: file, clock, log, onlyExpired }: OfflineWork): Opened {
  if (!existsSync(file)) throw missingLedger(file);
  const options = { now: () => clock.now(), log, waitMs: 1_000 };
  try {
    return readOrClose(openLedger(file, options));
  } catch (error) {
    if (!(error instanceof NightshiftError)) throw error;
    if (error.code === 'LEDGER_BROKEN') return salvaged(file, error, onlyExpired);
    if (error.code !== 'LEDGER_FULL' && error.code !== 'LEDGER_UNWRITABLE') throw error;
    const reader = openLedger(file, { ...options, readOnly: true });
    try {
      return { rows: rowsOf(reader), untold: describe(error) };
    } finally {
      reader.close();
    }
  }
}

/** A broken row is found only now; whoever salvages the rest must find the file free. */
function readOrClose(ledger: Ledger): Opened {
  try {
    return { ledger, rows: rowsOf(ledger) };
  } catch (error) {
    ledger.close();
    throw error;
  }
}

function rowsOf(ledger: Ledger): OfflineRows {
  const { knobs, cases, claims } = ledger.load();
  return { knobs: [...knobs.values()], cases: [...cases.values()], claims: [...claims.values()].flat() };
}

function salvaged(file: string, error: NightshiftError, onlyExpired: boolean): Opened {
  if (onlyExpired) {
    throw environmentError(
      error.code,
      `${error.message}, so no lease can be read`,
      `Give everything back instead: nightshift revert --offline --ledger ${file}.`,
      { cause: error },
    );
  }
  const { knobs, damaged, complete } = salvagedKnobs(file);
  return { rows: { knobs, cases: [], claims: [] }, untold: error.message, lost: { damaged, complete } };
}

/** Where no row is left, only people can tell what was ours. */
function salvagedKnobs(file: string): ReturnType<typeof salvageKnobs> {
  try {
    return salvageKnobs(file);
  } catch (error) {
    if (!(error instanceof NightshiftError) || error.code !== 'LEDGER_BROKEN') throw error;
    const hint =
      'No row of it can be read: put back a copy of it, or compare power1_cap with power1_cap_default, and the clock limits, of each card and set them by hand.';
    throw environmentError(error.code, error.message, hint, { cause: error });
  }
}

/** Nobody waits for anything else here: a busy machine has its time. */
const LOOK_MS = 10_000;

async function onCards(
  rows: OfflineRows,
  { paths, clock, log, laneDeadlineMs, onlyExpired }: OfflineWork,
  commit: (changes: readonly Change[]) => void,
): Promise<Pick<OfflineReport, 'results' | 'numbers'>> {
  if (rows.knobs.length === 0) return { results: [], numbers: [] };
  const pool = new LanePool({ clock, itemDeadline: laneDeadlineMs, writable: true });
  const skip = (name: string): boolean => cadenceOf(name) === 'costly';
  const node = new AmdNode({ paths, pool, clock, log, skip });
  const port = new CardKnobs({ node, pool, clock, deadlineMs: LOOK_MS });
  try {
    await node.start();
    await node.collect(LOOK_MS);
    await port.look();
    const now = (): number => clock.now();
    const results = await revertOffline(rows, port, { now, onlyExpired, commit });
    return { results, numbers: node.cards.map(({ pci, found }) => ({ gpu: found.card.gpu, pci })) };
  } finally {
    node.close();
    pool.close();
  }
}
