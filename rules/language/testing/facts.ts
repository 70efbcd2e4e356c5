import type { Reading } from '../../../model/reading.ts';
import { isPlain, quantityOf } from '../quantities.ts';
import { exampleHint, nameOf, parseQuantity } from '../units.ts';
import type { FactValue } from './schema.ts';

/** A fact of a test, in the base unit of its quantity, or what is wrong with it. */
export type ReadFact = { value: number | string | null } | { message: string; hint: string };

/** `temperature.junction` with `90°C` → 90. */
export function readFact(key: string, written: FactValue): ReadFact {
  const quantity = quantityOf('gpu', key);
  if (quantity === undefined) {
    return { message: `no card has a reading ${JSON.stringify(key)}`, hint: 'Name it as conditions do, without gpu.' };
  }
  if (written === null || typeof written === 'number') return { value: written };
  if (typeof written === 'boolean') return { value: Number(written) };
  const parsed = parseQuantity(written);
  if (!('value' in parsed)) return parsed;
  const { unit } = quantity;
  if (parsed.unit === unit && !isPlain(unit)) return { value: parsed.value };
  const message = `${JSON.stringify(written)} is in ${nameOf(parsed.unit)}, and ${key} is not`;
  return { message, hint: exampleHint(unit) };
}

/** The reading that a card would give: none where the test says so, or where a card would not be believed. */
export function readingOf(key: string, value: number | string | null, at: number): Reading<unknown> {
  const source = 'test';
  const [lowest, highest] = quantityOf('gpu', key)?.plausible ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  if (value === null) return { at, source, absent: 'absent' };
  if (typeof value === 'number' && (value < lowest || value > highest)) return { at, source, absent: 'implausible' };
  return { at, source, value };
}
