import type { Card, Health } from './card.ts';
import type { KnobFacts, KnobName } from './claim.ts';
import type { Instant } from './instant.ts';
import type { Reading } from './reading.ts';

/** What we know of one card right now, by our own reading. */
export interface CardFacts {
  card: Card;
  health: Health;
  /** Keyed as in policies without `gpu.`: `temperature.junction`. Empty where the card does not answer. */
  readings: Pick<ReadonlyMap<string, Reading<unknown>>, 'get'>;
  /** When the newest of the readings was made. */
  at: Instant;
  /** The firmware's own time of the readings, or their time where the firmware tells none: two of one stamp are one sample. */
  stamp: string;
  knobs: ReadonlyMap<KnobName, KnobFacts>;
  /** Named by the operator as never to be touched. */
  protected: boolean;
  /** By which alerts, and people, call it: the exporter's number where that is known, otherwise our own. */
  number: number;
  /** Since when that number means this card. */
  numberSince: Instant;
}

/** What a decision may look at, beside the book. */
export interface Facts {
  /** Steady time of the decision: never steps while the process lives. */
  at: Instant;
  /** Wall-clock time, for windows and `time.*`. */
  wall: Instant;
  node: string;
  cards: ReadonlyMap<string, CardFacts>;
  /** Readings that belong to no card. */
  nodeReadings: ReadonlyMap<string, Reading<unknown>>;
}
