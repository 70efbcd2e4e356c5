import { BOARD_SENSORS, unpackTemp } from './board.ts';
import { type BoardTemperature, type Field, type FieldUnit, type Layout, scalarWidth, type Table } from './types.ts';

const TWO_32 = 4294967296;
const BOARD_PREFIX = /^(?:node|vr|system)_temp_/;

/** Value in unit of the element at `at`; undefined for the marker, and for 64-bit values beyond 2^53. */
function number(view: DataView, field: Field, at: number): number | undefined {
  let raw: number;
  switch (field.code) {
    case 0:
      raw = view.getUint8(at);
      if (raw === 0xff && field.sentinel) return undefined;
      break;
    case 1:
      raw = view.getInt8(at);
      if (raw === -1 && field.sentinel) return undefined;
      break;
    case 2:
      raw = view.getUint16(at, true);
      if (raw === 0xffff && field.sentinel) return undefined;
      break;
    case 3:
      raw = view.getInt16(at, true);
      if (raw === -1 && field.sentinel) return undefined;
      break;
    case 4:
      raw = view.getUint32(at, true);
      if (raw === 0xffffffff && field.sentinel) return undefined;
      break;
    case 5:
      raw = view.getInt32(at, true);
      if (raw === -1 && field.sentinel) return undefined;
      break;
    default: {
      const low = view.getUint32(at, true);
      const high = field.code === 7 ? view.getInt32(at + 4, true) : view.getUint32(at + 4, true);
      raw = high * TWO_32 + low;
      if (!Number.isSafeInteger(raw) || (raw === -1 && field.sentinel)) return undefined;
    }
  }
  return (raw * field.mul) / field.div;
}

function allOnes(view: DataView, code: number, at: number): boolean {
  switch (code >> 1) {
    case 0:
      return view.getUint8(at) === 0xff;
    case 1:
      return view.getUint16(at, true) === 0xffff;
    case 2:
      return view.getUint32(at, true) === 0xffffffff;
    default:
      return view.getUint32(at, true) === 0xffffffff && view.getUint32(at + 4, true) === 0xffffffff;
  }
}

function bigint(view: DataView, field: Field, at: number): bigint | undefined {
  if (field.sentinel && allOnes(view, field.code, at)) return undefined;
  switch (field.code) {
    case 0:
      return BigInt(view.getUint8(at));
    case 1:
      return BigInt(view.getInt8(at));
    case 2:
      return BigInt(view.getUint16(at, true));
    case 3:
      return BigInt(view.getInt16(at, true));
    case 4:
      return BigInt(view.getUint32(at, true));
    case 5:
      return BigInt(view.getInt32(at, true));
    case 6:
      return view.getBigUint64(at, true);
    default:
      return view.getBigInt64(at, true);
  }
}

/** A table as a window on its bytes: finds a field in the layout's map, reads it when asked. */
export class TableView implements Table {
  readonly family: string;
  readonly size: number;
  readonly #view: DataView;
  readonly #layout: Layout;

  /** `size` bytes of `view` must exist. */
  constructor(view: DataView, layout: Layout, family: string, size: number) {
    this.#view = view;
    this.#layout = layout;
    this.family = family;
    this.size = size;
  }

  get version(): string {
    return this.#layout.version;
  }

  num(name: string): number | undefined {
    const field = this.#field(name);
    return field && field.count === 1 ? number(this.#view, field, field.offset) : undefined;
  }

  big(name: string): bigint | undefined {
    const field = this.#field(name);
    return field && field.count === 1 ? bigint(this.#view, field, field.offset) : undefined;
  }

  nums(name: string): (number | undefined)[] | undefined {
    const field = this.#field(name);
    return field && elements(this.#view, field, 0, number);
  }

  bigs(name: string): (bigint | undefined)[] | undefined {
    const field = this.#field(name);
    return field && elements(this.#view, field, 0, bigint);
  }

  has(name: string): boolean {
    return this.#field(name) !== undefined;
  }

  width(name: string): number | undefined {
    const field = this.#field(name);
    return field === undefined ? undefined : scalarWidth(field.code);
  }

  unit(name: string): FieldUnit | undefined {
    return this.#field(name)?.unit;
  }

  xcp(): number {
    const entries = this.#layout.xcp;
    if (!entries || this.size < entries.offset) return 0;
    return Math.min(entries.count, Math.floor((this.size - entries.offset) / entries.stride));
  }

  xcpNums(partition: number, name: string): (number | undefined)[] | undefined {
    const field = this.#xcpField(partition, name);
    return field && elements(this.#view, field, this.#xcpBase(partition), number);
  }

  xcpBigs(partition: number, name: string): (bigint | undefined)[] | undefined {
    const field = this.#xcpField(partition, name);
    return field && elements(this.#view, field, this.#xcpBase(partition), bigint);
  }

  *fields(): Iterable<string> {
    for (const field of this.#layout.fields.values()) if (field.end <= this.size) yield field.name;
  }

  xcpFields(): Iterable<string> {
    return this.#layout.xcp?.fields.keys() ?? [];
  }

  temps(): BoardTemperature[] {
    const temps: BoardTemperature[] = [];
    for (const name of this.fields()) {
      if (BOARD_SENSORS[name]) {
        for (const word of this.nums(name) ?? []) if (word !== undefined) temps.push(unpackTemp(name, word));
      } else if (BOARD_PREFIX.test(name)) {
        const celsius = this.num(name);
        if (celsius !== undefined) temps.push({ sensor: name.replace(BOARD_PREFIX, ''), celsius });
      }
    }
    return temps;
  }

  get absentCount(): number {
    let absent = 0;
    for (const field of this.#layout.fields.values()) {
      if (field.end <= this.size) absent += countAbsent(this.#view, field, 0);
    }
    const partitions = this.xcp();
    for (const field of this.#layout.xcp?.fields.values() ?? []) {
      for (let p = 0; p < partitions; p++) absent += countAbsent(this.#view, field, this.#xcpBase(p));
    }
    return absent;
  }

  #field(name: string): Field | undefined {
    const field = this.#layout.fields.get(name);
    return field && field.end <= this.size ? field : undefined;
  }

  #xcpField(partition: number, name: string): Field | undefined {
    const inside = Number.isInteger(partition) && partition >= 0 && partition < this.xcp();
    return inside ? this.#layout.xcp?.fields.get(name) : undefined;
  }

  #xcpBase(partition: number): number {
    const entries = this.#layout.xcp;
    return entries ? entries.offset + partition * entries.stride : 0;
  }
}

function elements<T>(
  view: DataView,
  field: Field,
  base: number,
  read: (view: DataView, field: Field, at: number) => T,
): T[] {
  const width = 1 << (field.code >> 1);
  const out = new Array<T>(field.count);
  for (let i = 0; i < field.count; i++) out[i] = read(view, field, base + field.offset + i * width);
  return out;
}

function countAbsent(view: DataView, field: Field, base: number): number {
  if (!field.sentinel) return 0;
  const width = 1 << (field.code >> 1);
  let absent = 0;
  for (let i = 0; i < field.count; i++) if (allOnes(view, field.code, base + field.offset + i * width)) absent++;
  return absent;
}
