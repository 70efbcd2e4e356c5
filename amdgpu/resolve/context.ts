import type { Card } from '../../model/card.ts';
import type { Quantity } from '../../model/quantities/quantity.ts';
import type { Value } from '../../model/reading.ts';
import { parseInt10, parseUint } from '../formats/scalar.ts';
import type { KfdNode } from '../kfd.ts';
import type { CardMemory } from '../memory.ts';
import type { RawFiles } from '../raw.ts';
import type { Readings } from '../readings.ts';
import type { Table } from '../tables/decode.ts';

/** All that is known of one card in one pass; resolvers read it and write `out`. */
export interface Context {
  card: Card;
  /** Shares driver code with Instinct since MI100: the table comes first. */
  tableFirst: boolean;
  raw: RawFiles;
  /** gpu_metrics of this pass; undefined where there is none that we understand. */
  table: Table | undefined;
  /** xcp/xcp_metrics by partition number. */
  xcpTables: ReadonlyMap<number, Table>;
  kfd: readonly KfdNode[];
  memory: CardMemory;
  out: Readings;
}

export type Resolver = (context: Context) => void;

/** First element that is reported, of an array field or a scalar. */
export function first(table: Table | undefined, field: string): number | undefined {
  if (table === undefined) return undefined;
  return table.num(field) ?? table.nums(field)?.find((element) => element !== undefined);
}

export function scaled(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}

/** Division keeps decimals: 8175 / 1000 is 8.175. */
export function divided(value: number | undefined, by: number): number | undefined {
  return value === undefined ? undefined : value / by;
}

export const percent = (value: number | undefined): number | undefined => divided(value, 100);
export const megahertz = (value: number | undefined): number | undefined => scaled(value, 1e6);

export function uint(raw: RawFiles, name: string): number | undefined {
  return raw.parse(name, parseUint);
}

export function int(raw: RawFiles, name: string): number | undefined {
  return raw.parse(name, parseInt10);
}

/** A counter field as a number while it is exact, as a bigint beyond 2^53: every bit is kept and garbage is not made. */
export function rawCounter(table: Table | undefined, field: string): number | bigint | undefined {
  return table?.num(field) ?? table?.big(field);
}

/** The elements of a counter array, as rawCounter. */
export function rawCounters(
  nums: readonly (number | undefined)[] | undefined,
  bigs: () => readonly (bigint | undefined)[] | undefined,
): readonly (number | bigint | undefined)[] | undefined {
  if (nums === undefined) return bigs();
  if (!nums.includes(undefined)) return nums;
  const wide = bigs();
  return nums.map((value, i) => value ?? wide?.[i]);
}

const INDEX: readonly string[] = Array.from({ length: 64 }, (_, i) => String(i));

/** Label text of a small index, without making a string each time. */
export function indexLabel(i: number): string {
  return INDEX[i] ?? String(i);
}

/** One 0/1 series a state. A state that we do not know by name becomes one more series. */
export function states(
  out: Readings,
  quantity: Quantity,
  known: readonly string[],
  current: string | undefined,
  source: string,
  of?: string,
): void {
  if (current === undefined) return;
  const put = (state: string, value: number): void => {
    if (of === undefined) out.put(quantity, value, source, state);
    else out.put(quantity, value, source, of, state);
  };
  for (const state of known) put(state, state === current ? 1 : 0);
  if (!known.includes(current)) put(current, 1);
}

/** First of several sources that has a value. */
export function firstOf(...candidates: [value: Value | undefined, source: string][]): [Value | undefined, string] {
  return candidates.find(([value]) => value !== undefined) ?? [undefined, ''];
}
