import type { Counters, NodeDescription } from '../tree.ts';

interface Card {
  physical: Counters;
  /** Both kinds of counters when the card last began anew. */
  base: Counters;
  shown: Counters;
  /** Of the physical ones, when last seen. */
  ticks: number;
}

/**
 * A node that lives faster than time keeps two sets of counters. Physics runs on its own; what is shown has gone on by the same
 * share of the time in which it is read, so that whoever divides a counter by seconds gets watts and not `speed` times as many.
 */
export class TimeLapse {
  readonly #speed: number;
  readonly #cards: Card[];
  #running = false;

  constructor(node: NodeDescription, speed: number) {
    this.#speed = speed;
    this.#cards = node.gpus.map(({ counters }) => rebased(counters));
  }

  /** Runs what steps or sets the node, on its own counters. */
  run<T>(node: NodeDescription, work: () => T): T {
    if (this.#speed === 1) return work();
    const outermost = !this.#running;
    if (outermost) for (const [index, gpu] of node.gpus.entries()) gpu.counters = this.#card(index).physical;
    this.#running = true;
    try {
      return work();
    } finally {
      for (const [index, gpu] of node.gpus.entries()) this.#follow(index, gpu.counters);
      if (outermost) {
        this.#running = false;
        for (const [index, gpu] of node.gpus.entries()) gpu.counters = this.#shown(this.#card(index));
      }
    }
  }

  #card(index: number): Card {
    return this.#cards[index] as Card;
  }

  #follow(index: number, counters: Counters): void {
    const card = this.#card(index);
    // Firmware time that went back: the chip was reset.
    if (counters.ticks < card.ticks) this.#cards[index] = rebased(counters);
    else this.#cards[index] = { ...card, physical: counters, ticks: counters.ticks };
  }

  /** Joules in the node's own time. */
  energy(node: NodeDescription, gpu: number): number {
    const physical = this.#speed === 1 ? node.gpus[gpu]?.counters : this.#cards[gpu]?.physical;
    return physical?.energy ?? 0;
  }

  #shown({ physical, base, shown }: Card): Counters {
    const part = (now: number, before: number, from: number, whole: boolean): number => {
      const gone = (now - before) / this.#speed;
      return from + (whole ? Math.floor(gone) : gone);
    };
    const entries = Object.entries(physical).map(([key, now]: [string, number | number[]]) => {
      const before = base[key as keyof Counters];
      const from = shown[key as keyof Counters];
      // The rate of the last sample is no counter.
      if (key === 'pcieSample') return [key, now];
      if (typeof now === 'number') return [key, part(now, before as number, from as number, key !== 'energy')];
      return [key, now.map((value, i) => part(value, (before as number[])[i] ?? 0, (from as number[])[i] ?? 0, true))];
    });
    return Object.fromEntries(entries) as unknown as Counters;
  }
}

function rebased(counters: Counters): Card {
  const base = structuredClone(counters);
  return { physical: counters, base, shown: base, ticks: counters.ticks };
}
