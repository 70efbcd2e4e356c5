import type { Readings, Slot } from '../amdgpu/readings.ts';
import { helpText, metricName, type Quantity } from '../model/quantities/quantity.ts';
import type { Value } from '../model/reading.ts';

/** Series of one card, or of the node (`gpu` undefined). */
export interface Table {
  gpu: string | undefined;
  readings: Readings;
}

const TYPE = { gauge: 'gauge', counter: 'counter', state: 'gauge', info: 'gauge' } as const;

const LINE_END = 10;
/** Longest number as text, with room to spare; text values do not pass here. */
const LONGEST_VALUE = 64;

/** Bytes of a scrape, written one behind the other into a buffer that is kept from scrape to scrape. */
export class TextWriter {
  #buffer = Buffer.allocUnsafe(1 << 18);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Takes back all that was written since the length was this. */
  truncate(length: number): void {
    this.#length = length;
  }

  bytes(part: Uint8Array): void {
    this.#room(part.length);
    this.#buffer.set(part, this.#length);
    this.#length += part.length;
  }

  text(text: string): void {
    this.#room(text.length * 3);
    this.#length += this.#buffer.write(text, this.#length);
  }

  /** One sample. Values are ASCII, and too short to be worth a call into the runtime. */
  sample(name: Uint8Array, value: Value): void {
    this.#room(name.length + LONGEST_VALUE);
    this.#buffer.set(name, this.#length);
    let at = this.#length + name.length;
    const text = String(value);
    for (let i = 0; i < text.length; i++) this.#buffer[at++] = text.charCodeAt(i);
    this.#buffer[at++] = LINE_END;
    this.#length = at;
  }

  /** A copy of what was written from `start` on: the buffer itself is written again. */
  copy(start = 0): Buffer {
    return Buffer.from(this.#buffer.subarray(start, this.#length));
  }

  #room(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + more));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

const heads = new WeakMap<Quantity, Uint8Array>();

/**
 * Writes one family in the Prometheus text format 0.0.4, or nothing where no table has a value. The name and labels of a
 * series never change, so they are made once and kept with it: prom-client does the same work at every scrape.
 */
export function writeFamily(
  writer: TextWriter,
  quantity: Quantity,
  tables: readonly Table[],
  steady: SteadyBodies = NONE,
): void {
  const before = writer.length;
  writer.bytes(head(quantity));
  const start = writer.length;
  steady.write(writer, quantity);
  for (const table of tables) writeBody(writer, quantity, table);
  if (writer.length === start) writer.truncate(before);
  else writer.text('\n');
}

/**
 * Tables that change at their own begin only, a few times a minute: what they hold of a quantity is written once and kept
 * until one of them begins anew.
 */
export class SteadyBodies {
  #tables: readonly Table[] = [];
  #passes: readonly number[] = [];
  readonly #bodies = new Map<Quantity, Uint8Array>();

  /** Says which tables there are now. */
  use(tables: readonly Table[]): void {
    const same =
      tables.length === this.#tables.length &&
      tables.every(({ readings }, i) => readings === this.#tables[i]?.readings && readings.pass === this.#passes[i]);
    if (same) return;
    this.#tables = tables;
    this.#passes = tables.map(({ readings }) => readings.pass);
    this.#bodies.clear();
  }

  write(writer: TextWriter, quantity: Quantity): void {
    const kept = this.#bodies.get(quantity);
    if (kept !== undefined) {
      if (kept.length > 0) writer.bytes(kept);
      return;
    }
    const start = writer.length;
    for (const table of this.#tables) writeBody(writer, quantity, table);
    this.#bodies.set(quantity, writer.copy(start));
  }
}

const NONE = new SteadyBodies();

/** As text, for whoever wants to look at one family. */
export function renderFamily(quantity: Quantity, tables: readonly Table[]): string {
  const writer = new TextWriter();
  writeFamily(writer, quantity, tables);
  return writer.copy().toString();
}

function writeBody(writer: TextWriter, quantity: Quantity, { gpu, readings }: Table): void {
  readings.each(quantity, (slot) => {
    slot.cached ??= Buffer.from(`${seriesName(quantity, gpu, slot)} `);
    writer.sample(slot.cached, slot.value as Value);
  });
}

function head(quantity: Quantity): Uint8Array {
  let bytes = heads.get(quantity);
  if (bytes === undefined) {
    const name = metricName(quantity);
    bytes = Buffer.from(`# HELP ${name} ${escapeHelp(helpText(quantity))}\n# TYPE ${name} ${TYPE[quantity.kind]}\n`);
    heads.set(quantity, bytes);
  }
  return bytes;
}

function seriesName(quantity: Quantity, gpu: string | undefined, slot: Slot): string {
  const pairs: [string, string | undefined][] = [['gpu', quantity.node === true ? undefined : gpu]];
  for (const [i, label] of quantity.labels.entries()) pairs.push([label, slot.labels[i]]);
  if (quantity.partitioned === true) pairs.push(['partition', slot.labels[quantity.labels.length]]);
  return `${metricName(quantity)}${labelText(pairs)}`;
}

/** A label without a value is left out: to Prometheus both are the same, and an empty id reads like an id. */
export function labelText(pairs: readonly (readonly [name: string, value: string | undefined])[]): string {
  const given = pairs.filter(([, value]) => value !== undefined && value !== '');
  if (given.length === 0) return '';
  return `{${given.map(([name, value]) => `${name}="${escapeLabel(value as string)}"`).join(',')}}`;
}

export function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

export function escapeHelp(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
