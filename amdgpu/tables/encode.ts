import {
  attributeScale,
  RECORDS_1_9,
  RECORDS_BASEBOARD_1_1,
  RECORDS_GPUBOARD_1_1,
  RECORDS_PARTITION_1_1,
  RECORDS_PARTITION_TAIL,
  RECORDS_START,
  type RecordSpec,
  TAG_BYTES,
  widened,
} from './attributes.ts';
import { LAYOUTS, RECORD_VERSION, versionName } from './layouts.ts';
import { type Field, type Layout, SCALARS, scalarWidth, type TableKind } from './types.ts';

/** A number is in the field's unit, a bigint is raw; undefined stays all ones. Arrays may be shorter than the field. */
export type FieldValue = number | bigint | readonly (number | bigint | undefined)[] | undefined;
export type FieldValues = Readonly<Record<string, FieldValue>>;

export interface TableValues {
  readonly [field: string]: FieldValue | readonly FieldValues[];
  /** Entries of xcp_stats, partition 0 first. */
  readonly xcp?: readonly FieldValues[];
}

export interface EncodeOptions {
  /** structure_size in the header, where it shall not be the layout's; the bytes end there too. */
  structureSize?: number;
  /** Pads the file with NUL to this length. */
  fileSize?: number;
  /** Self-describing tables as later drivers emit them: wide counters, and two more records in partition 1.1. */
  wide?: boolean;
  /** Self-describing tables: these records instead of the reference ones. */
  records?: readonly RecordSpec[];
}

/**
 * Bytes of a driver table: all ones, then the header, then what `values` holds.
 * Throws RangeError for a revision or field that does not exist and for a value that its type cannot hold.
 */
export function encodeTable(
  kind: TableKind,
  version: string,
  values: TableValues,
  options: EncodeOptions = {},
): Uint8Array {
  const records = version === RECORD_VERSION[kind] ? (options.records ?? referenceRecords(kind, options)) : undefined;
  const layout = records ? recordsLayout(kind, version, records) : LAYOUTS[kind].get(version);
  if (!layout) throw new RangeError(`${versionName(kind, version)} has no layout`);

  const bytes = new Uint8Array(layout.size).fill(0xff);
  const view = new DataView(bytes.buffer);
  const size = options.structureSize ?? layout.size;
  const [format, content] = version.split('.').map(Number);
  view.setUint16(0, size, true);
  view.setUint8(2, format as number);
  view.setUint8(3, content as number);
  if (records) writeTags(view, records);

  const { xcp, ...fields } = values;
  writeFields(view, layout.fields, fields as FieldValues, 0, layout.version);
  writeEntries(view, layout, xcp ?? []);
  return resized(bytes, size, options.fileSize);
}

function referenceRecords(kind: TableKind, { wide = false }: EncodeOptions): readonly RecordSpec[] {
  switch (kind) {
    case 'gpu_metrics':
      return wide ? widened(RECORDS_1_9) : RECORDS_1_9;
    case 'partition':
      return wide ? [...RECORDS_PARTITION_1_1, ...RECORDS_PARTITION_TAIL] : RECORDS_PARTITION_1_1;
    case 'gpuboard_temp':
      return RECORDS_GPUBOARD_1_1;
    case 'baseboard_temp':
      return RECORDS_BASEBOARD_1_1;
  }
}

function recordsLayout(kind: TableKind, version: string, records: readonly RecordSpec[]): Layout {
  const fields = new Map<string, Field>();
  let at = RECORDS_START;
  for (const { name, code, count, unitCode } of records) {
    const offset = at + TAG_BYTES;
    at = offset + count * scalarWidth(code);
    const scale = attributeScale(name, unitCode) ?? { unit: 'none', mul: 1, div: 1 };
    fields.set(name, { name, code, count, offset, end: at, sentinel: true, ...scale });
  }
  return { version: versionName(kind, version), size: at, fields };
}

function writeTags(view: DataView, records: readonly RecordSpec[]): void {
  view.setInt32(4, records.length, true);
  let at = RECORDS_START;
  for (const { id, code, count, unitCode } of records) {
    view.setUint32(at, ((unitCode << 24) | (code << 20) | (id << 10) | count) >>> 0, true);
    view.setUint32(at + 4, 0, true);
    at += TAG_BYTES + count * scalarWidth(code);
  }
}

function writeEntries(view: DataView, layout: Layout, entries: readonly FieldValues[]): void {
  const { xcp } = layout;
  if (entries.length > (xcp?.count ?? 0)) throw new RangeError(`${layout.version} has ${xcp?.count ?? 0} xcp entries`);
  for (const [p, entry] of entries.entries()) {
    if (xcp) writeFields(view, xcp.fields, entry, xcp.offset + p * xcp.stride, `${layout.version} xcp`);
  }
}

/** Writes values into their fields, offsets counted from `base`; `where` names the table in errors. */
export function writeFields(
  view: DataView,
  fields: ReadonlyMap<string, Field>,
  values: FieldValues,
  base: number,
  where: string,
): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const field = fields.get(name);
    if (!field) throw new RangeError(`${where} has no field ${name}`);
    const list = typeof value === 'object' ? value : [value];
    if (list.length > field.count) throw new RangeError(`${where} ${name} has ${field.count} elements`);
    if (typeof value !== 'object' && field.count !== 1) throw new RangeError(`${where} ${name} is an array`);
    for (const [i, v] of list.entries()) {
      if (v !== undefined) writeElement(view, field, base + field.offset + i * scalarWidth(field.code), v, where);
    }
  }
}

function writeElement(view: DataView, field: Field, at: number, value: number | bigint, where: string): void {
  const raw = typeof value === 'bigint' ? value : rawOf(field, value, where);
  const bits = 8 * scalarWidth(field.code);
  const signed = (field.code & 1) === 1;
  if ((signed ? BigInt.asIntN(bits, raw) : BigInt.asUintN(bits, raw)) !== raw) {
    throw new RangeError(`${where} ${field.name}: ${value} does not fit ${SCALARS[field.code]}`);
  }
  if (bits === 64) view.setBigUint64(at, BigInt.asUintN(64, raw), true);
  else if (bits === 32) view.setUint32(at, Number(BigInt.asUintN(32, raw)), true);
  else if (bits === 16) view.setUint16(at, Number(BigInt.asUintN(16, raw)), true);
  else view.setUint8(at, Number(BigInt.asUintN(8, raw)));
}

function rawOf(field: Field, value: number, where: string): bigint {
  if (!Number.isFinite(value)) throw new RangeError(`${where} ${field.name}: ${value} is not a value`);
  return BigInt(Math.round((value * field.div) / field.mul));
}

function resized(bytes: Uint8Array, size: number, fileSize: number | undefined): Uint8Array {
  const length = fileSize ?? size;
  if (length === bytes.length && size >= bytes.length) return bytes;
  const out = new Uint8Array(length);
  out.set(bytes.subarray(0, Math.min(size, length, bytes.length)));
  return out;
}
