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

/** Fields wider than 32 bits keep every bit; narrower ones get their wraps added. */
export interface CounterRule {
  width: 32 | 64;
  /** Fastest rise, raw units a second. */
  maxRate: number;
}

/** A counter of the table after wraps and torn values; undefined where absent or not to be believed. */
export function counter(
  { memory, out }: Context,
  quantity: Quantity,
  key: string,
  raw: bigint | undefined,
  rule: CounterRule,
): number | bigint | undefined {
  if (raw === undefined) return undefined;
  const value = memory.counter(key, raw, out.at, rule);
  if (value === undefined) out.miss(quantity, 'implausible', 'gpu_metrics', ...key.split('|').slice(1));
  return value;
}

/** One 0/1 series a state. A state that we do not know by name becomes one more series. */
export function states(
  out: Readings,
  quantity: Quantity,
  known: readonly string[],
  current: string | undefined,
  source: string,
  ...before: string[]
): void {
  if (current === undefined) return;
  for (const state of known) out.put(quantity, state === current ? 1 : 0, source, ...before, state);
  if (!known.includes(current)) out.put(quantity, 1, source, ...before, current);
}

/** First of several sources that has a value. */
export function firstOf(...candidates: [value: Value | undefined, source: string][]): [Value | undefined, string] {
  return candidates.find(([value]) => value !== undefined) ?? [undefined, ''];
}
