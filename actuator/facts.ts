import type { AmdNode } from '../amdgpu/node.ts';
import type { CardRecord } from '../amdgpu/record.ts';
import type { Book } from '../model/book.ts';
import type { Card } from '../model/card.ts';
import type { KnobFacts, KnobName } from '../model/claim.ts';
import type { CardFacts, Facts } from '../model/facts.ts';
import { compute } from '../model/quantities/compute.ts';
import type { Reading } from '../model/reading.ts';

export interface FactsOptions {
  node: AmdNode;
  knobs: (pci: string) => ReadonlyMap<KnobName, KnobFacts>;
  nodeName: string;
  /** PCI addresses that are never touched. */
  protectedCards: ReadonlySet<string>;
  /** By which number alerts call a card. */
  numberOf: (card: Card) => number;
  /** Steady time, and the system's. */
  now: () => number;
  wall: () => number;
}

/** What is known at this moment, of cards that were read a moment ago. Nothing is read here. */
export function factsOf(options: FactsOptions, book: Book): Facts {
  const { node } = options;
  const cards = new Map<string, CardFacts>();
  // What is set on one die of a package may be felt by the other, which shares its power limit.
  const kept = new Set<string>();
  for (const { pci, found } of node.cards) if (options.protectedCards.has(pci)) kept.add(found.card.package);
  for (const record of node.cards) cards.set(record.pci, cardFacts(record, options, book, kept));
  return {
    at: options.now(),
    wall: options.wall(),
    node: options.nodeName,
    cards,
    nodeReadings: node.current().node.toMap(),
  };
}

function cardFacts(record: CardRecord, options: FactsOptions, book: Book, kept: ReadonlySet<string>): CardFacts {
  const { card } = record.found;
  const { health } = record;
  let knobs: ReadonlyMap<KnobName, KnobFacts> | undefined;
  const number = options.numberOf(card);
  const meant = book.numbers.get(number);
  return {
    card,
    health,
    readings: { get: (key) => readingOf(record, key) },
    // Made when something asks for it: most cards of most decisions are not asked about.
    get knobs() {
      knobs ??= options.knobs(card.pci);
      return knobs;
    },
    at: record.live.at,
    stamp: stampOf(record),
    protected: kept.has(card.package) || options.protectedCards.has(card.package),
    number,
    numberSince: meant?.pci === card.pci ? meant.since : options.now(),
  };
}

/** What may be said of a card now, under a key as in policies without `gpu.`. */
export function readingOf(record: CardRecord, key: string): Reading<unknown> | undefined {
  for (const readings of record.shown().toReversed()) {
    const reading = readings.find(key);
    if (reading !== undefined) return reading;
  }
  return undefined;
}

/**
 * Two readings are two samples only where the firmware made two. Where its table carries no time of its own, the time of
 * our reading has to do.
 */
function stampOf({ live }: CardRecord): string {
  return String(live.get(compute.firmwareClock)?.value ?? live.at);
}
