import { expect } from 'vitest';
import { decodeTable, type Table, type TableKind } from '../../../amdgpu/tables/decode.ts';

/** Writes of raw values at literal offsets, so that a test's bytes owe nothing to the code under test. */
export type Width = 'u8' | 'u16' | 'i16' | 'u32' | 'i32' | 'u64' | 'i64';

/** Offset, width, raw value, `field`, `field[element]` or `xcp2.field[element]`, and what must be read: bigint raw, number in unit. */
export type Write = readonly [
  offset: number,
  width: Width,
  raw: number | bigint,
  path: string,
  expected: number | bigint,
];

export function put(bytes: Uint8Array, offset: number, width: Width, raw: number | bigint): void {
  const size = Number(width.slice(1)) / 8;
  let rest = BigInt.asUintN(8 * size, BigInt(raw));
  for (let i = 0; i < size; i++, rest >>= 8n) bytes[offset + i] = Number(rest & 0xffn);
}

/** A table of all ones with a header; `version` is `1.3`. */
export function blank(version: string, size: number, length = size): Uint8Array {
  const bytes = new Uint8Array(length).fill(0xff, 0, size);
  const [format, content] = version.split('.').map(Number);
  put(bytes, 0, 'u16', size);
  put(bytes, 2, 'u8', format as number);
  put(bytes, 3, 'u8', content as number);
  return bytes;
}

export function decoded(kind: TableKind, bytes: Uint8Array): Table {
  const result = decodeTable(kind, bytes);
  if (!result.ok) throw new Error(`not decoded: ${result.fault}`);
  return result.table;
}

/** Value at a path: raw where `raw`, otherwise in unit. */
export function at(table: Table, path: string, raw: boolean): number | bigint | undefined {
  const [, xcp, name, index] = /^(?:xcp(\d)\.)?(\w+?)(?:\[(\d+)\])?$/.exec(path) ?? [];
  if (name === undefined) throw new Error(`not a path: ${path}`);
  if (xcp !== undefined) {
    return (raw ? table.xcpBigs(Number(xcp), name) : table.xcpNums(Number(xcp), name))?.[Number(index ?? 0)];
  }
  if (index !== undefined) return (raw ? table.bigs(name) : table.nums(name))?.[Number(index)];
  return raw ? table.big(name) : table.num(name);
}

/** Paths of everything in a table that holds a value. */
export function present(table: Table): string[] {
  const paths: string[] = [];
  const add = (prefix: string, values: readonly (bigint | undefined)[] | undefined): void => {
    for (const [i, v] of (values ?? []).entries()) if (v !== undefined) paths.push(`${prefix}[${i}]`);
  };
  for (const name of table.fields()) add(name, table.bigs(name));
  for (let p = 0; p < table.xcp(); p++)
    for (const name of table.xcpFields()) add(`xcp${p}.${name}`, table.xcpBigs(p, name));
  return paths.sort();
}

/** Decodes the writes alone on a table of all ones: each is read back, and nothing else holds a value. */
export function expectOnly(kind: TableKind, version: string, size: number, writes: readonly Write[]): void {
  const bytes = blank(version, size);
  for (const [offset, width, raw] of writes) put(bytes, offset, width, raw);
  const table = decoded(kind, bytes);
  expect(table.family).toBe(version);
  expect(table.size).toBe(size);
  for (const [, , , path, expected] of writes) {
    const value = at(table, path, typeof expected === 'bigint');
    if (typeof expected === 'number') expect(value, path).toBeCloseTo(expected, 9);
    else expect(value, path).toBe(expected);
  }
  const paths = writes.map(([, , , path]) => (path.endsWith(']') ? path : `${path}[0]`));
  expect(present(table)).toEqual(paths.sort());
}
