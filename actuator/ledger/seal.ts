import { createHash } from 'node:crypto';
import { unkeepable } from './errors.ts';
import type { Row } from './sql.ts';

/** A row as it lies in the file: the value as JSON, and a sum by which damage and foreign hands are seen. */
export interface Sealed {
  body: string;
  sum: string;
}

/** The columns of a sealed row, byte by byte: damaged text is no text any more. */
export const SEALED = 'CAST(body AS BLOB) AS body, CAST(sum AS BLOB) AS sum';
export const SEALED_KEY = `CAST(key AS BLOB) AS key, ${SEALED}`;

/**
 * SQLite has no checksum of its pages, and one flipped bit in a watt value would be written to a card. The sum holds table,
 * key and value together, so that a row cannot stand for another one either.
 */
const sumOf = (table: string, key: string, body: string | Uint8Array): string =>
  createHash('sha256').update(`${table}\n${key}\n`).update(body).digest('hex').slice(0, 16);

/** JSON has no NaN and no infinity: they would come back as null, so they are refused. */
const strict = (_name: string, value: unknown): unknown => {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${value} is no value`);
  return value;
};

/** For the audit, which must never be why something is not done: what JSON lacks is told as text. */
const lenient = (_name: string, value: unknown): unknown => {
  if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))) return String(value);
  return value;
};

/** Throws LEDGER_VALUE for what would not come back as it went. */
export function seal(table: string, key: string, value: unknown, kind: 'state' | 'audit' = 'state'): Sealed {
  let body: string;
  try {
    body = JSON.stringify(value, kind === 'state' ? strict : lenient);
  } catch (error) {
    throw unkeepable(table, key, error instanceof Error ? error.message : String(error), error);
  }
  return { body, sum: sumOf(table, key, body) };
}

/** The value of a row read by `SEALED`, or undefined where it is not what was sealed under this key. */
export function unseal(table: string, key: string, row: Row): { value: unknown } | undefined {
  const { body, sum } = row;
  if (!(body instanceof ArrayBuffer) || sumOf(table, key, new Uint8Array(body)) !== textOf(sum)) return undefined;
  return { value: JSON.parse(textOf(body)) };
}

/** Text of a column that was read as bytes; what is not UTF-8 in it becomes U+FFFD. */
export const textOf = (column: Row[string] | undefined): string =>
  column instanceof ArrayBuffer ? Buffer.from(column).toString('utf8') : '';

/** A text column ends at the first NUL when it is read, and knows no lone surrogates: both are written as JSON writes them. */
export const keyText = (key: string): string => JSON.stringify(key).slice(1, -1);
