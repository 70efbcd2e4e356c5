import type { Clock } from '../base/clock.ts';
import { pcie } from '../model/quantities/pcie.ts';
import { parsePcieBandwidth } from './formats/pcie.ts';
import type { LanePool } from './lanes/pool.ts';
import { Readings } from './readings.ts';
import type { CardRecord } from './record.ts';

const PERIOD_MS = 60_000;
/** How soon a card is noticed that answers for the first time, or again. */
const LOOK_MS = 1000;
/** The driver sleeps a second in each read. */
const READ_MS = 5_000;

/** pcie_bw, for those who ask for it: on a timer and a lane of its own, because each read blocks for a second. */
export class PcieBandwidth {
  readonly #pool: LanePool;
  readonly #clock: Clock;
  readonly #cards: () => readonly CardRecord[];
  readonly #tables = new Map<string, Readings>();
  readonly #readAt = new Map<string, number>();
  #timer: { stop(): void } | undefined;
  #busy = false;

  constructor(pool: LanePool, clock: Clock, cards: () => readonly CardRecord[]) {
    this.#pool = pool;
    this.#clock = clock;
    this.#cards = cards;
  }

  start(): void {
    this.#timer = this.#clock.every(LOOK_MS, () => void this.read());
  }

  close(): void {
    this.#timer?.stop();
  }

  readings(pci: string): Readings | undefined {
    return this.#tables.get(pci);
  }

  /** Reads, one after the other, the cards whose last reading is a minute old. */
  async read(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (const record of this.#cards()) {
        const readAt = this.#readAt.get(record.pci) ?? Number.NEGATIVE_INFINITY;
        if (this.#clock.monotonic() - readAt >= PERIOD_MS) await this.#one(record);
      }
    } finally {
      this.#busy = false;
    }
  }

  async #one(record: CardRecord): Promise<void> {
    const path = record.found.device?.files.get('pcie_bw');
    const readings = this.#tables.get(record.pci) ?? new Readings();
    this.#tables.set(record.pci, readings);
    if (path === undefined || record.health !== 'ok') {
      readings.begin(this.#clock.now());
      return;
    }
    this.#readAt.set(record.pci, this.#clock.monotonic());
    const gate = record.gate;
    const [outcome] = await this.#pool.run(
      [{ owner: 'pcie_bw', item: { op: 'read', files: [path], ...(gate === undefined ? {} : { gate }) } }],
      READ_MS,
    );
    readings.begin(this.#clock.now());
    const file = outcome?.op === 'read' && !outcome.asleep ? outcome.files[0] : undefined;
    if (file === undefined || typeof file === 'number') return;
    const bandwidth = parsePcieBandwidth(Buffer.from(file).toString('latin1'));
    readings.put(pcie.received, bandwidth?.received, 'pcie_bw');
    readings.put(pcie.sent, bandwidth?.sent, 'pcie_bw');
  }
}
