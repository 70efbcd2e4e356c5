import type { CardKnobs } from '../amdgpu/knobs/device.ts';
import type { AmdNode } from '../amdgpu/node.ts';
import type { Book } from '../model/book.ts';
import type { Change } from '../model/decision.ts';
import type { Facts } from '../model/facts.ts';
import type { Reading } from '../model/reading.ts';
import { newNumbers } from './begin.ts';
import type { ExporterLink } from './exporter-link.ts';
import { factsOf, readingOf } from './facts.ts';

export interface WatchOptions {
  node: AmdNode;
  port: Pick<CardKnobs, 'look' | 'facts'>;
  exporter: Pick<ExporterLink, 'numbers'> | undefined;
  book: Book;
  nodeName: string;
  protectedCards: ReadonlySet<string>;
  /** Steady time, and the system's. */
  now: () => number;
  wall: () => number;
  /** Numbers that are new, or mean another card. */
  onNumbers: (changes: readonly Change[]) => void;
  /** A card has lost what was set. */
  onReset: (pci: string) => void;
}

/** What a look at the cards may take; a card that has not answered by then is silent for this decision. */
const LOOK_MS = 300;
/** Of a card that alerts cannot name by number. */
const NO_NUMBER = -1;

/** Looks at the cards, and makes facts of what is seen. */
export class Watch {
  readonly #options: WatchOptions;
  readonly #marks = new Map<string, string>();
  readonly #resetting = new Set<string>();
  #looking: Promise<Facts> | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  get cards(): string[] {
    return this.#options.node.cards.map(({ pci }) => pci);
  }

  /** Without reading anything. */
  known(): Facts {
    const { node, port, book, nodeName, protectedCards, now, wall } = this.#options;
    const numberOf = this.#numberOf;
    return factsOf({ node, knobs: (pci) => port.facts(pci), nodeName, protectedCards, numberOf, now, wall }, book);
  }

  /** The newest reading of one card. */
  reading(pci: string, key: string): Reading<unknown> | undefined {
    const record = this.#options.node.cards.find((one) => one.pci === pci);
    return record && readingOf(record, key);
  }

  /** One look at a time, shared by all who ask: a second one would take away what the first has read. */
  look(): Promise<Facts> {
    this.#looking ??= this.#lookNow().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookNow(): Promise<Facts> {
    const { node, port, book, now, onNumbers } = this.#options;
    await node.collect(LOOK_MS);
    // Which files may be written is looked at once a minute, and no decision waits for it.
    void port.look();
    const cards = node.cards.map(({ pci, found }) => ({ pci, gpu: this.#numberOf(found.card) }));
    const numbers = newNumbers(book, cards, now());
    if (numbers.length > 0) onNumbers(numbers);
    this.#watchResets();
    return this.known();
  }

  /** A card that the exporter does not know has none of its numbers; ours could be another card's there. */
  readonly #numberOf = ({ pci, gpu }: { pci: string; gpu: number }): number => {
    const told = this.#options.exporter?.numbers;
    const own = told?.find((one) => one.pci === pci)?.gpu;
    return own ?? (told?.some((one) => one.gpu === gpu) ? NO_NUMBER : gpu);
  };

  /** A card whose firmware began anew, or that came back, has lost what was set. */
  #watchResets(): void {
    for (const { pci, found, memory, health } of this.#options.node.cards) {
      if (health === 'resetting') this.#resetting.add(pci);
      else if (health === 'ok' && this.#resetting.delete(pci)) this.#marks.set(pci, 'reset');
      const mark = `${found.card.generation} ${memory.restarts}`;
      const before = this.#marks.get(pci);
      this.#marks.set(pci, mark);
      if (before !== undefined && before !== mark) this.#options.onReset(pci);
    }
  }
}
