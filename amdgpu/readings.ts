import type { Quantity } from '../model/quantities/quantity.ts';
import type { Reading, Reason, Value } from '../model/reading.ts';
import { type CounterLimits, type CounterState, follow } from './memory.ts';

/** One series of one card: its newest reading, and the pass that made it. */
export interface Slot {
  quantity: Quantity;
  /** Values of the quantity's labels, in its order; the last one is the partition where it has one. */
  labels: readonly string[];
  value: Value | undefined;
  absent: Reason | undefined;
  at: number;
  source: string;
  pass: number;
  /** Written by the exposition: bytes of the series' name with its labels, which never change. */
  cached: Uint8Array | undefined;
  /** What a counter must remember between passes. */
  counter: CounterState | undefined;
}

/** Labels lead to a slot one by one: no key is built, which at thousands of series a pass is most of the garbage. */
interface Branch {
  slot: Slot | undefined;
  next: Map<string, Branch> | undefined;
}

interface Series {
  root: Branch;
  list: Slot[];
}

/**
 * The table of newest readings of one card (or of the node). Each quantity and label set stands in it once; what the
 * current pass did not write is not there, whatever stood there before.
 */
export class Readings {
  readonly #series = new Map<Quantity, Series>();
  /** Made when somebody asks for a key, and anew when a series came or went. */
  #named: ReadonlyMap<string, readonly Slot[]> | undefined;
  #pass = 0;
  #at = 0;
  readonly #onImplausible: (source: string) => void;

  constructor(onImplausible: (source: string) => void = () => {}) {
    this.#onImplausible = onImplausible;
  }

  /** Number of the current pass. */
  get pass(): number {
    return this.#pass;
  }

  get at(): number {
    return this.#at;
  }

  /** A new pass: from now on nothing of the last one is shown. */
  begin(at: number): void {
    this.#pass += 1;
    this.#at = at;
  }

  /** Publishes a value, unless it is outside what the quantity can be. Up to four labels: without an array for each call. */
  put(
    quantity: Quantity,
    value: Value | undefined,
    source: string,
    a?: string,
    b?: string,
    c?: string,
    d?: string,
  ): void {
    if (value !== undefined) this.#write(this.#slot(quantity, a, b, c, d), value, source);
  }

  /** As put, for any number of labels. */
  putAll(quantity: Quantity, value: Value | undefined, source: string, labels: readonly string[]): void {
    if (value !== undefined) this.#write(this.#slotOf(quantity, labels), value, source);
  }

  /**
   * Publishes a counter as the driver counts it, with the wraps of a narrow field added. A value that the counter cannot
   * have reached (a torn read) is implausible, until the next pass confirms it. `scale` makes the published unit of it.
   */
  count(
    quantity: Quantity,
    raw: number | bigint | undefined,
    source: string,
    limits: CounterLimits,
    scale: ((total: number | bigint) => number | bigint) | undefined,
    a?: string,
    b?: string,
    c?: string,
    d?: string,
  ): number | bigint | undefined {
    if (raw === undefined) return undefined;
    const slot = this.#slot(quantity, a, b, c, d);
    slot.counter = follow(slot.counter, raw, this.#at, limits);
    const total = slot.counter.total;
    if (total === undefined) this.#dropped(slot, source);
    else this.#write(slot, scale === undefined ? total : scale(total), source);
    return total;
  }

  /** A source answered with what cannot be: not shown, and counted. */
  drop(quantity: Quantity, source: string, ...labels: string[]): void {
    this.#dropped(this.#slotOf(quantity, labels), source);
  }

  /** Records why there is no value; a value of the same pass is not overwritten. */
  miss(quantity: Quantity, reason: Reason, source: string, ...labels: string[]): void {
    const slot = this.#slotOf(quantity, labels);
    if (slot.pass === this.#pass && slot.value !== undefined) return;
    slot.pass = this.#pass;
    slot.at = this.#at;
    slot.source = source;
    slot.value = undefined;
    slot.absent = reason;
  }

  /** Calls with each series of one quantity that has a value in the current pass. */
  each(quantity: Quantity, fn: (slot: Slot) => void): void {
    const series = this.#series.get(quantity);
    if (series === undefined) return;
    for (const slot of series.list) if (slot.pass === this.#pass && slot.value !== undefined) fn(slot);
  }

  /** Series of one quantity that have a value in the current pass. */
  of(quantity: Quantity): Slot[] {
    const found: Slot[] = [];
    this.each(quantity, (slot) => {
      found.push(slot);
    });
    return found;
  }

  get(quantity: Quantity, ...labels: string[]): Slot | undefined {
    const slot = this.#series.get(quantity)?.list.find((one) => one.labels.join('\0') === labels.join('\0'));
    return slot !== undefined && slot.pass === this.#pass ? slot : undefined;
  }

  /** Keyed as policies name them: `temperature.junction`. */
  toMap(): Map<string, Reading<Value>> {
    const out = new Map<string, Reading<Value>>();
    for (const [key, slots] of this.#byKey()) {
      const reading = this.#current(slots);
      if (reading !== undefined) out.set(key, reading);
    }
    return out;
  }

  /** As `toMap().get(key)`, without the map. */
  find(key: string): Reading<Value> | undefined {
    const slots = this.#byKey().get(key);
    return slots && this.#current(slots);
  }

  /** The counters begin anew: reset, reload, or another card in the same place. */
  forgetCounters(): void {
    for (const { list } of this.#series.values()) for (const slot of list) slot.counter = undefined;
  }

  /** Forgets series that no pass has written for a while (links that vanished, ended processes). */
  prune(passes: number): void {
    for (const [quantity, { list }] of this.#series) {
      const kept = list.filter((slot) => this.#pass - slot.pass <= passes);
      if (kept.length === list.length) continue;
      const root: Branch = { slot: undefined, next: undefined };
      for (const slot of kept) branchTo(root, slot.labels).slot = slot;
      this.#series.set(quantity, { root, list: kept });
      this.#named = undefined;
    }
  }

  #byKey(): ReadonlyMap<string, readonly Slot[]> {
    if (this.#named !== undefined) return this.#named;
    const named = new Map<string, Slot[]>();
    for (const { list } of this.#series.values()) {
      for (const slot of list) {
        const key = keyOf(slot);
        const same = named.get(key);
        if (same === undefined) named.set(key, [slot]);
        else same.push(slot);
      }
    }
    this.#named = named;
    return named;
  }

  #current(slots: readonly Slot[]): Reading<Value> | undefined {
    const slot = slots.findLast(({ pass }) => pass === this.#pass);
    if (slot === undefined) return undefined;
    const { at, source, value, absent } = slot;
    if (value !== undefined) return { at, source, value };
    return absent === undefined ? undefined : { at, source, absent };
  }

  #write(slot: Slot, value: Value, source: string): void {
    if (!plausible(slot.quantity, value)) {
      this.#dropped(slot, source);
      return;
    }
    slot.pass = this.#pass;
    slot.at = this.#at;
    slot.source = source;
    slot.value = value;
    slot.absent = undefined;
  }

  #dropped(slot: Slot, source: string): void {
    slot.pass = this.#pass;
    slot.at = this.#at;
    slot.source = source;
    slot.value = undefined;
    slot.absent = 'implausible';
    this.#onImplausible(source);
  }

  #slot(quantity: Quantity, a?: string, b?: string, c?: string, d?: string): Slot {
    const series = this.#seriesOf(quantity);
    let branch = series.root;
    if (a !== undefined) branch = childOf(branch, a);
    if (b !== undefined) branch = childOf(branch, b);
    if (c !== undefined) branch = childOf(branch, c);
    if (d !== undefined) branch = childOf(branch, d);
    return branch.slot ?? this.#make(series, branch, quantity, [a, b, c, d].filter(isGiven));
  }

  #slotOf(quantity: Quantity, labels: readonly string[]): Slot {
    const series = this.#seriesOf(quantity);
    const branch = branchTo(series.root, labels);
    return branch.slot ?? this.#make(series, branch, quantity, labels);
  }

  #make(series: Series, branch: Branch, quantity: Quantity, labels: readonly string[]): Slot {
    const slot: Slot = {
      quantity,
      labels,
      value: undefined,
      absent: undefined,
      at: 0,
      source: '',
      pass: 0,
      cached: undefined,
      counter: undefined,
    };
    branch.slot = slot;
    series.list.push(slot);
    this.#named = undefined;
    return slot;
  }

  #seriesOf(quantity: Quantity): Series {
    let series = this.#series.get(quantity);
    if (series === undefined) {
      series = { root: { slot: undefined, next: undefined }, list: [] };
      this.#series.set(quantity, series);
    }
    return series;
  }
}

const isGiven = (label: string | undefined): label is string => label !== undefined;

function keyOf({ quantity, labels }: Slot): string {
  return [quantity.key || 'info', ...labels.filter((label) => label !== '')].join('.');
}

function childOf(branch: Branch, label: string): Branch {
  branch.next ??= new Map();
  let next = branch.next.get(label);
  if (next === undefined) {
    next = { slot: undefined, next: undefined };
    branch.next.set(label, next);
  }
  return next;
}

function branchTo(root: Branch, labels: readonly string[]): Branch {
  let branch = root;
  for (const label of labels) branch = childOf(branch, label);
  return branch;
}

function plausible(quantity: Quantity, value: Value): boolean {
  if (typeof value === 'number' && !Number.isFinite(value)) return false;
  if (quantity.plausible === undefined || typeof value === 'string') return true;
  const number = Number(value);
  return number >= quantity.plausible[0] && number <= quantity.plausible[1];
}
