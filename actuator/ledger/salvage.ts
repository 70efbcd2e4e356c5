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

/** A damaged tree of pages can lead in a circle; no node has so many knobs. */
const MOST_ROWS = 2_000;

/**
 * What can still be read of a broken ledger of a dead actuator, so that settings can be given back all the same. Changes
 * nothing. Throws LEDGER_MISSING, LEDGER_LOCKED, and LEDGER_BROKEN where nothing of it can be read.
 */
export function salvageKnobs(file: string): Salvage {
  if (!existsSync(file)) throw missingLedger(file);
  const knobs = new Map<string, Knob>();
  const found = { damaged: 0, complete: false };
  let rows = 0;
  try {
    const sql = openSql(file, true);
    try {
      // Row by row: a page that cannot be read costs what comes after it, not what came before.
      for (; rows < MOST_ROWS && !found.complete; rows += 1) {
        const [row] = sql.all(`SELECT ${SEALED_KEY} FROM knobs ORDER BY key LIMIT 1 OFFSET ?`, rows);
        const knob = row && knobOf(row);
        if (knob) knobs.set(knobKey(knob.on, knob.knob), knob);
        else if (row) found.damaged += 1;
        else found.complete = true;
      }
    } finally {
      sql.close();
    }
  } catch (error) {
    if (rows === 0) throw ledgerError(file, error);
  }
  return { knobs: [...knobs.values()], ...found };
}

function knobOf(row: Row): Knob | undefined {
  const key = textOf(row.key);
  const knob = unseal('knobs', key, row)?.value as Knob | undefined;
  return knob && keyText(knobKey(knob.on, knob.knob)) === key ? knob : undefined;
}
