import type { Clock } from '../base/clock.ts';
import type { LanePool } from './lanes/pool.ts';
import { reasonOf } from './raw.ts';
import type { CardRecord } from './record.ts';

/** How often it is looked whose files are due. */
const LOOK_MS = 1000;
/** How long one costly file may take; some ask every memory channel. */
const READ_MS = 5_000;

/**
 * Reads the files whose read has a price (it clears hardware state, or asks the firmware for long): on a timer of its own,
 * by one reader, one file after the other, so that a scrape waits for one at the most.
 */
export class CostlyReader {
  readonly #pool: LanePool;
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #cards: () => readonly CardRecord[];
  #timer: { stop(): void } | undefined;
  #busy = false;

  constructor(pool: LanePool, clock: Clock, periodMs: number, cards: () => readonly CardRecord[]) {
    this.#pool = pool;
    this.#clock = clock;
    this.#periodMs = periodMs;
    this.#cards = cards;
  }

  start(): void {
    this.#timer = this.#clock.every(LOOK_MS, () => void this.#round());
    void this.#round();
  }

  close(): void {
    this.#timer?.stop();
  }

  async #round(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (const record of this.#cards()) await this.#card(record);
    } finally {
      this.#busy = false;
    }
  }

  async #card(record: CardRecord): Promise<void> {
    const names = record.named('costly');
    if (names.length === 0 || record.health === 'gone') return;
    if (this.#clock.monotonic() - record.costlyAt < this.#periodMs) return;
    record.costlyAt = this.#clock.monotonic();
    const { raw } = record;
    for (const name of names) {
      const [outcome] = await this.#pool.run([{ owner: record.pci, item: record.readItem([name]) }], READ_MS);
      if (outcome?.op === 'read' && !outcome.asleep && record.raw === raw) {
        record.take([name], outcome.files, true);
        const file = outcome.files[0];
        if (typeof file !== 'number' || reasonOf(file) !== 'busy') continue;
      }
      // Nothing was read: soon again. What was read in part waits, as each read has its price.
      if (name === names[0]) record.costlyAt = this.#clock.monotonic() - this.#periodMs + READ_MS;
      return;
    }
  }
}
