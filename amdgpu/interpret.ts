import type { OnceLog } from '../base/log.ts';
import { tableFirst } from './chips.ts';
import type { Readings } from './readings.ts';
import type { CardRecord } from './record.ts';
import type { Context } from './resolve/context.ts';
import { decodeTable, type Table } from './tables/decode.ts';

/** gpu_metrics as it was read last; undefined where there is none that we understand. */
export function tableOf(record: CardRecord): Table | undefined {
  const result = decoded(record);
  return result?.ok === true ? result.table : undefined;
}

/** As tableOf, and counts and reports what is wrong with it: once a pass. */
export function judgedTable(record: CardRecord, once: OnceLog): Table | undefined {
  const result = decoded(record);
  const key = `gpu_metrics of ${record.pci}`;
  if (result === undefined) return undefined;
  if (result.ok) {
    once.report(key, undefined);
    return result.table;
  }
  const instead = 'the single files are read instead';
  if (result.fault === 'unknown_version') {
    record.count('gpu_metrics', 'unsupported');
    once.report(`gpu_metrics version ${result.version}`, `table version is not known; ${instead}`);
  } else {
    record.count('gpu_metrics', 'implausible');
    once.report(key, `table cannot be read (${result.fault}); ${instead}`);
  }
  return undefined;
}

/** All that the resolvers need of one card, with the tables decoded. */
export function contextOf(record: CardRecord, out: Readings, table: Table | undefined): Context {
  const { card, kfd } = record.found;
  return {
    card,
    tableFirst: tableFirst(card.model.family),
    raw: record.raw,
    table,
    xcpTables: partitionTables(record),
    kfd,
    memory: record.memory,
    out,
  };
}

function decoded(record: CardRecord): ReturnType<typeof decodeTable> | undefined {
  const bytes = record.raw.bytes('gpu_metrics');
  return bytes === undefined || bytes.length === 0 ? undefined : decodeTable('gpu_metrics', bytes);
}

/** Tables of the partitions: the first one's lies in the card's own directory, the others' in those of their DRM nodes. */
function partitionTables(record: CardRecord): Map<number, Table> {
  const { card, xcpDirs } = record.found;
  const own = card.partitions[0]?.number ?? 0;
  const tables = new Map<number, Table>();
  for (const number of new Set([own, ...xcpDirs.keys()])) {
    const name = number === own && !xcpDirs.has(number) ? 'xcp/xcp_metrics' : `xcp${number}/xcp_metrics`;
    const bytes = record.raw.bytes(name);
    if (bytes === undefined || bytes.length === 0 || !record.planned.includes(name)) continue;
    const result = decodeTable('partition', bytes);
    if (result.ok) tables.set(number, result.table);
  }
  return tables;
}
