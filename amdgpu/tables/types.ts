/** Which binary file a table came from; each numbers its own revisions. */
export type TableKind = 'gpu_metrics' | 'partition' | 'gpuboard_temp' | 'baseboard_temp';

/** Scalar types in the numbering of the self-describing tables: width is `1 << (code >> 1)`, odd codes are signed. */
export const SCALARS = ['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'u64', 'i64'] as const;
export type Scalar = (typeof SCALARS)[number];

export function scalarCode(type: Scalar): number {
  return SCALARS.indexOf(type);
}

export function scalarWidth(code: number): number {
  return 1 << (code >> 1);
}

/** The unit a field has after scaling. `packed` holds a sensor number and a temperature in one word. */
export type FieldUnit =
  | 'bitmask'
  | 'celsius'
  | 'celsius_sample'
  | 'count'
  | 'enum'
  | 'gigabyte_per_second'
  | 'gigabyte_per_second_sample'
  | 'gigahertz'
  | 'gigahertz_sample'
  | 'gigatransfer_per_second'
  | 'joule'
  | 'kilobyte'
  | 'lane'
  | 'megabyte_per_second'
  | 'megahertz'
  | 'megahertz_sample'
  | 'microsecond'
  | 'milliampere'
  | 'millivolt'
  | 'nanosecond'
  | 'none'
  | 'packed'
  | 'per_mille'
  | 'percent'
  | 'percent_sample'
  | 'rpm'
  | 'tick'
  | 'watt';

/** Value in `unit` = raw * mul / div. Division keeps decimals exact: 8175 / 100 is 81.75, 8175 * 0.01 is not. */
export interface Scale {
  unit: FieldUnit;
  mul: number;
  div: number;
}

export interface Field extends Scale {
  name: string;
  /** Index into SCALARS. */
  code: number;
  count: number;
  /** Bytes from the start of the table, or of the xcp_stats entry. */
  offset: number;
  /** First byte behind the field. */
  end: number;
  /** All ones of the own width mean "not reported". */
  sentinel: boolean;
}

/** An array of structs inside a table: one entry a compute partition. */
export interface Entries {
  offset: number;
  stride: number;
  count: number;
  fields: ReadonlyMap<string, Field>;
}

export interface Layout {
  /** `1.3`; for other files than gpu_metrics with the file in front: `partition-1.0`. */
  version: string;
  size: number;
  fields: ReadonlyMap<string, Field>;
  xcp?: Entries;
}

export interface BoardTemperature {
  /** Sensor name, or `sensor_<id>` where the driver numbers one that has no name here. */
  sensor: string;
  celsius: number;
}

/**
 * One decoded table. Reads lazily from the bytes it was given and copies nothing: they must not be overwritten while it is in use.
 * `undefined` means absent: all ones of the field's own width, or a field that this table does not have or does not reach.
 */
export interface Table {
  /** `1.3`, `partition-1.0`, `gpuboard_temp-1.0`. */
  readonly version: string;
  /** Revision pair from the header, `1.3`. */
  readonly family: string;
  /** structure_size: bytes the driver says it wrote. */
  readonly size: number;
  /**
   * Value in unit. A 64-bit field is given where its raw value is below 2^53, otherwise undefined: use `big`.
   * An array with more than one element has no single value: undefined.
   */
  num(name: string): number | undefined;
  /** Raw value, unscaled. */
  big(name: string): bigint | undefined;
  /** Elements in unit; a scalar is an array of one. */
  nums(name: string): readonly (number | undefined)[] | undefined;
  bigs(name: string): readonly (bigint | undefined)[] | undefined;
  /** The field lies inside the table, whatever it holds. */
  has(name: string): boolean;
  unit(name: string): FieldUnit | undefined;
  /** Bytes of one element; undefined where the table does not have the field. Newer drivers widen counters. */
  width(name: string): number | undefined;
  /** Whole xcp_stats entries inside the table; 0 where the table has none. */
  xcp(): number;
  xcpNums(partition: number, name: string): readonly (number | undefined)[] | undefined;
  xcpBigs(partition: number, name: string): readonly (bigint | undefined)[] | undefined;
  /** Names of the fields inside the table, without header and padding. */
  fields(): Iterable<string>;
  /** Names of the fields of an xcp_stats entry. */
  xcpFields(): Iterable<string>;
  /** Board temperatures in the driver's order, unused slots left out; empty for other tables. */
  temps(): readonly BoardTemperature[];
  /** Fields and elements that hold the all-ones marker. */
  readonly absentCount: number;
}

/**
 * | fault | meaning |
 * |---|---|
 * | short | fewer bytes than the header, or than structure_size: a torn read |
 * | bad_header | structure_size below 4, or revision 0.0 |
 * | unknown_version | a revision we have no layout for; nothing may be assumed about its content |
 */
export type TableFault = 'short' | 'bad_header' | 'unknown_version';

export type DecodeResult = { ok: true; table: Table } | { ok: false; fault: TableFault; version?: string };
