import { put, type Width } from './bytes.ts';

/** A record by hand: id, type code (0 u8 … 7 i64), unit code, raw values. */
export type Rec = readonly [id: number, type: number, unit: number, values: readonly (number | bigint)[]];

const WIDTH: readonly Width[] = ['u8', 'u8', 'u16', 'i16', 'u32', 'i32', 'u64', 'i64'];
const BYTES = [1, 1, 2, 2, 4, 4, 8, 8];

export function tag(id: number, type: number, count: number, unit: number): bigint {
  return BigInt(unit) * 2n ** 24n + BigInt(type) * 2n ** 20n + BigInt(id) * 2n ** 10n + BigInt(count);
}

/** A self-describing table: header, record count, records without padding. */
export function recordTable(version: string, records: readonly Rec[], attrCount = records.length): Uint8Array {
  const size = records.reduce((n, [, type, , values]) => n + 8 + values.length * (BYTES[type] ?? 0), 8);
  const bytes = new Uint8Array(size);
  const [format, content] = version.split('.').map(Number);
  put(bytes, 0, 'u16', size);
  put(bytes, 2, 'u8', format as number);
  put(bytes, 3, 'u8', content as number);
  put(bytes, 4, 'i32', attrCount);
  let at = 8;
  for (const [id, type, unit, values] of records) {
    put(bytes, at, 'u64', tag(id, type, values.length, unit));
    at += 8;
    for (const value of values) {
      put(bytes, at, WIDTH[type] as Width, value);
      at += BYTES[type] as number;
    }
  }
  return bytes;
}

/** Tag offset, id, type code, count and unit code of the 47 records of gpu_metrics 1.9 as Linux 6.19 and 7.0 emit them. */
export const REFERENCE_1_9 = `
8 0 2 1 2|18 1 2 1 2|28 2 2 1 2|38 3 2 1 3|48 4 2 1 10|58 5 2 1 10|68 6 6 1 8|84 7 6 1 0|100 8 6 1 4|116 9 4 1 0
128 10 4 1 0|140 11 4 1 0|152 12 4 1 0|164 13 4 1 0|176 14 4 1 0|188 15 4 1 0|200 16 2 1 0|210 17 2 1 7|220 18 2 1 0
230 19 2 1 6|240 20 4 1 10|252 21 4 1 10|264 22 6 1 10|280 23 6 1 8|296 24 6 1 0|312 25 6 1 0|328 26 6 1 0|344 27 4 1 0
356 28 4 1 0|368 29 6 8 9|440 30 6 8 9|512 31 2 8 0|536 32 6 1 5|552 33 2 8 1|576 34 2 4 1|592 35 2 4 1|608 36 2 4 1
624 37 2 1 1|634 39 4 1 0|646 40 4 8 10|686 41 2 40 10|774 42 2 4 10|790 43 6 8 10|862 44 6 8 0|934 45 6 8 0
1006 46 6 8 0|1078 47 6 8 0`;

/** The same of the 13 records of xcp_metrics 1.1. */
export const REFERENCE_PARTITION_1_1 = `
8 33 2 8 1|32 34 2 4 1|48 35 2 4 1|64 36 2 4 1|80 37 2 1 1|90 40 4 8 10|130 41 2 40 10|218 42 2 4 10|234 43 6 8 10
306 44 6 8 0|378 45 6 8 0|450 46 6 8 0|522 47 6 8 0`;

/** All ones with the tags of a reference layout in their places. */
export function referenceTable(version: string, size: number, reference: string): Uint8Array {
  const bytes = new Uint8Array(size).fill(0xff);
  const [format, content] = version.split('.').map(Number);
  const rows = reference.trim().split(/[|\n]/);
  put(bytes, 0, 'u16', size);
  put(bytes, 2, 'u8', format as number);
  put(bytes, 3, 'u8', content as number);
  put(bytes, 4, 'i32', rows.length);
  for (const row of rows) {
    const [offset, id, type, count, unit] = row.split(' ').map(Number) as [number, number, number, number, number];
    put(bytes, offset, 'u64', tag(id, type, count, unit));
  }
  return bytes;
}
