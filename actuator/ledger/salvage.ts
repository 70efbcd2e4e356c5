import { existsSync } from 'node:fs';
import { type Knob, knobKey } from '../../model/claim.ts';
import { ledgerError, missingLedger } from './errors.ts';
import { keyText, SEALED_KEY, textOf, unseal } from './seal.ts';
import { openSql, type Row } from './sql.ts';

export interface Salvage {
  /** Whole rows only: each is what was written once, so what it says was found may be given back. */
  knobs: Knob[];
  /** Rows that are damaged; more may be missing than are counted. */
  damaged: number;
  /** The table was read to its end. */
  complete: boolean;
}

/** A damaged tree of pages can lead in a circle. */
const MOST_ROWS = 10_000;

/**
 * What can still be read of a broken ledger of a dead actuator, so that settings can be given back all the same. Changes
 * nothing. Throws LEDGER_MISSING, LEDGER_LOCKED, and LEDGER_BROKEN where nothing of it can be read.
 */
export function salvageKnobs(file: string): Salvage {
  if (!existsSync(file)) throw missingLedger(file);
  const knobs = new Map<string, Knob>();
  let damaged = 0;
  let complete = false;
  let last = '';
  try {
    const sql = openSql(file, true);
    try {
      // Row by row: a page that cannot be read costs what comes after it, not what came before.
      while (knobs.size + damaged < MOST_ROWS && !complete) {
        const [row] = sql.all(`SELECT ${SEALED_KEY} FROM knobs WHERE key > ? ORDER BY key LIMIT 1`, last);
        if (row) {
          last = textOf(row.key);
          const knob = knobOf(last, row);
          if (knob) knobs.set(last, knob);
          else damaged += 1;
        } else complete = true;
      }
    } finally {
      sql.close();
    }
  } catch (error) {
    if (last === '') throw ledgerError(file, error);
  }
  return { knobs: [...knobs.values()], damaged, complete };
}

function knobOf(key: string, row: Row): Knob | undefined {
  const knob = unseal('knobs', key, row)?.value as Knob | undefined;
  return knob && keyText(knobKey(knob.on, knob.knob)) === key ? knob : undefined;
}
