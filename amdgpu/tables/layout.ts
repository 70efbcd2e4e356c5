import { type Entries, type Field, type Layout, type Scalar, type Scale, scalarCode, scalarWidth } from './types.ts';

/**
 * A run of fields of one type, written `OFFSET TYPE NAME NAME[COUNT] NAME! …`: the first stands at OFFSET, the others follow
 * without gaps. `!` marks a field that the driver always writes, so that all ones are a value.
 */
export type Row = string;

export function parseRows(rows: readonly Row[], scale: (name: string) => Scale): Map<string, Field> {
  const fields = new Map<string, Field>();
  for (const row of rows) {
    const [at, type, ...names] = row.trim().split(/\s+/) as [string, Scalar, ...string[]];
    const code = scalarCode(type);
    let offset = Number(at);
    for (const text of names) {
      const parts = /^(\w+?)(?:\[(\d+)\])?(!?)$/.exec(text);
      if (!parts || code < 0 || Number.isNaN(offset)) throw new Error(`layout row not understood: ${row}`);
      const name = parts[1] as string;
      const count = Number(parts[2] ?? 1);
      const end = offset + count * scalarWidth(code);
      fields.set(name, { name, code, count, offset, end, sentinel: parts[3] !== '!', ...scale(name) });
      offset = end;
    }
  }
  return fields;
}

export function layout(
  version: string,
  size: number,
  rows: readonly Row[],
  scale: (name: string) => Scale,
  xcp?: { offset: number; stride: number; count: number; rows: readonly Row[] },
): Layout {
  const entries: Entries | undefined = xcp && {
    offset: xcp.offset,
    stride: xcp.stride,
    count: xcp.count,
    fields: parseRows(xcp.rows, scale),
  };
  return { version, size, fields: parseRows(rows, scale), ...(entries && { xcp: entries }) };
}
