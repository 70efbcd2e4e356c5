import { tableFirst } from '../../../amdgpu/chips.ts';
import type { KfdNode, Properties } from '../../../amdgpu/kfd.ts';
import { CardMemory } from '../../../amdgpu/memory.ts';
import { RawFiles } from '../../../amdgpu/raw.ts';
import { Readings } from '../../../amdgpu/readings.ts';
import type { Context, Resolver } from '../../../amdgpu/resolve/context.ts';
import { decodeTable, type Table, type TableKind } from '../../../amdgpu/tables/decode.ts';
import { type EncodeOptions, encodeTable, type TableValues } from '../../../amdgpu/tables/encode.ts';
import type { Card, Family } from '../../../model/card.ts';
import type { Quantity } from '../../../model/quantities/quantity.ts';

export interface Given {
  family: Family;
  /** Texts by name below the device directory. */
  files?: Readonly<Record<string, string>>;
  table?: Table;
  xcpTables?: ReadonlyMap<number, Table>;
  partitions?: number;
  kfd?: readonly KfdNode[];
  gpu?: number;
}

export function table(
  version: string,
  values: TableValues,
  options?: EncodeOptions,
  kind: TableKind = 'gpu_metrics',
): Table {
  const result = decodeTable(kind, encodeTable(kind, version, values, options));
  if (!result.ok) throw new Error(`${kind} ${version}: ${result.fault}`);
  return result.table;
}

export function kfdNode(
  node: number,
  properties: Readonly<Record<string, bigint | number>>,
  more: Partial<KfdNode> = {},
): KfdNode {
  return {
    node,
    gpuId: 1000 + node,
    name: '',
    props: props(properties),
    gfx: '',
    partition: 0,
    memBanks: [],
    ioLinks: [],
    p2pLinks: [],
    caches: [],
    ...more,
  };
}

export function props(values: Readonly<Record<string, bigint | number>>): Properties {
  return new Map(Object.entries(values).map(([key, value]) => [key, BigInt(value)]));
}

/** One card over several passes, as the exporter has it: what it remembers stays. */
export class Bench {
  readonly memory = new CardMemory();
  readonly dropped: string[] = [];
  readonly out = new Readings((source) => void this.dropped.push(source));
  at = 1_700_000_000_000;

  pass(resolver: Resolver, given: Given, afterMs = 1000): this {
    this.at += afterMs;
    this.out.begin(this.at);
    resolver(this.context(given));
    return this;
  }

  context({ family, files = {}, table, xcpTables = new Map(), partitions = 1, kfd = [], gpu = 0 }: Given): Context {
    const raw = new RawFiles();
    for (const [name, text] of Object.entries(files)) raw.set(name, Buffer.from(text));
    const card: Card = {
      pci: '0000:03:00.0',
      gpu,
      package: '0000:03:00.0',
      model: { name: '', family, deviceId: '', gfx: '' },
      virtual: false,
      partitions: Array.from({ length: partitions }, (_, number) => ({ number })),
      generation: 1,
    };
    return { card, tableFirst: tableFirst(family), raw, table, xcpTables, kfd, memory: this.memory, out: this.out };
  }

  value(quantity: Quantity, ...labels: string[]): number | bigint | string | undefined {
    return this.out.get(quantity, ...labels)?.value;
  }

  source(quantity: Quantity, ...labels: string[]): string | undefined {
    return this.out.get(quantity, ...labels)?.source;
  }

  absent(quantity: Quantity, ...labels: string[]): string | undefined {
    return this.out.get(quantity, ...labels)?.absent;
  }

  /** Labels of the series that have a value. */
  labels(quantity: Quantity): string[] {
    return this.out.of(quantity).map((slot) => slot.labels.join('.'));
  }
}

export function once(resolver: Resolver, given: Given): Bench {
  return new Bench().pass(resolver, given);
}
