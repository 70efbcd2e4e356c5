import type { Quantity } from '../model/quantities/quantity.ts';
import type { Reading, Reason, Value } from '../model/reading.ts';

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
  /** Written by the exposition: the series' name with its labels, which never change. */
  cached: string | undefined;
}

/**
 * The table of newest readings of one card (or of the node). Each quantity and label set stands in it once; what the
 * current pass did not write is not there, whatever stood there before.
 */
export class Readings {
  readonly #slots = new Map<Quantity, Map<string, Slot>>();
  #pass = 0;
  #at = 0;
  readonly #onImplausible: (source: string) => void;

  constructor(onImplausible: (source: string) => void = () => {}) {
    this.#onImplausible = onImplausible;
  }

  get at(): number {
    return this.#at;
  }

  /** A new pass: from now on nothing of the last one is shown. */
  begin(at: number): void {
    this.#pass += 1;
    this.#at = at;
  }

  /** Publishes a value, unless it is outside what the quantity can be. */
  put(quantity: Quantity, value: Value | undefined, source: string, ...labels: string[]): void {
    if (value === undefined) return;
    const slot = this.#slot(quantity, labels);
    slot.pass = this.#pass;
    slot.at = this.#at;
    slot.source = source;
    if (!plausible(quantity, value)) {
      slot.value = undefined;
      slot.absent = 'implausible';
      this.#onImplausible(source);
      return;
    }
    slot.value = value;
    slot.absent = undefined;
  }

  /** Records why there is no value; a value of the same pass is not overwritten. */
  miss(quantity: Quantity, reason: Reason, source: string, ...labels: string[]): void {
    const slot = this.#slot(quantity, labels);
    if (slot.pass === this.#pass && slot.value !== undefined) return;
    slot.pass = this.#pass;
    slot.at = this.#at;
    slot.source = source;
    slot.value = undefined;
    slot.absent = reason;
  }

  /** Series of one quantity that have a value in the current pass. */
  *of(quantity: Quantity): Iterable<Slot> {
    const slots = this.#slots.get(quantity);
    if (slots === undefined) return;
    for (const slot of slots.values()) if (slot.pass === this.#pass && slot.value !== undefined) yield slot;
  }

  get(quantity: Quantity, ...labels: string[]): Slot | undefined {
    const slot = this.#slots.get(quantity)?.get(keyOf(labels));
    return slot !== undefined && slot.pass === this.#pass ? slot : undefined;
  }

  /** Keyed as policies name them: `temperature.junction`. */
  toMap(): Map<string, Reading<Value>> {
    const out = new Map<string, Reading<Value>>();
    for (const [quantity, slots] of this.#slots) {
      for (const slot of slots.values()) {
        if (slot.pass !== this.#pass) continue;
        const key = [quantity.key, ...slot.labels.filter((label) => label !== '')].join('.');
        const { at, source } = slot;
        if (slot.value !== undefined) out.set(key, { at, source, value: slot.value });
        else if (slot.absent !== undefined) out.set(key, { at, source, absent: slot.absent });
      }
    }
    return out;
  }

  /** Forgets series that no pass has written for a while (links that vanished, ended processes). */
  prune(passes: number): void {
    for (const slots of this.#slots.values()) {
      for (const [key, slot] of slots) if (this.#pass - slot.pass > passes) slots.delete(key);
    }
  }

  #slot(quantity: Quantity, labels: readonly string[]): Slot {
    let slots = this.#slots.get(quantity);
    if (slots === undefined) {
      slots = new Map();
      this.#slots.set(quantity, slots);
    }
    const key = keyOf(labels);
    let slot = slots.get(key);
    if (slot === undefined) {
      slot = { quantity, labels, value: undefined, absent: undefined, at: 0, source: '', pass: 0, cached: undefined };
      slots.set(key, slot);
    }
    return slot;
  }
}

function keyOf(labels: readonly string[]): string {
  return labels.length === 1 ? (labels[0] as string) : labels.join('\u0000');
}

function plausible(quantity: Quantity, value: Value): boolean {
  if (typeof value === 'number' && !Number.isFinite(value)) return false;
  if (quantity.plausible === undefined || typeof value === 'string') return true;
  const number = Number(value);
  return number >= quantity.plausible[0] && number <= quantity.plausible[1];
}
