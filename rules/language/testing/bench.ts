import type { Health } from '../../../model/card.ts';
import type { Settings } from '../../../model/claim.ts';
import type { Decision } from '../../../model/decision.ts';
import type { Instant } from '../../../model/instant.ts';
import type { RuleSet } from '../../../model/policy.ts';
import type { Reading } from '../../../model/reading.ts';
import type { Trigger } from '../../../model/trigger.ts';
import type { Writes } from './schema.ts';

/** One simulated card as a test describes it. */
export interface BenchCard {
  pci: string;
  gpu: number;
  model: string;
  protected: boolean;
  /** W and MHz: defaults and highest values, in force as the test begins. A knob that is not here is not adjustable. */
  settings: Settings;
}

/** What a test makes of a card at a moment. */
export interface CardMoment {
  health: Health;
  readings: ReadonlyMap<string, Reading<unknown>>;
}

/**
 * Decides and writes as the actuator does, on simulated cards: what a test is run on. It is given from outside, for these
 * rooms know of no actuator.
 */
export interface Bench {
  /** An event from outside, then everything that follows from it at once. */
  trigger(trigger: Trigger, moment: BenchMoment): Promise<readonly Decision[]>;
  /** One second has passed. Windows open and close here, by wall-clock time. */
  tick(moment: BenchMoment): Promise<readonly Decision[]>;
  /** What a card has now. */
  settings(pci: string): Settings;
  /** Writes that a card has been sent since the bench was made. */
  writes(pci: string): number;
  /** What writes to a card meet from now on. */
  meet(pci: string, writes: Writes): void;
  /** Somebody else sets something. */
  setByHand(pci: string, settings: Settings): void;
}

export interface BenchMoment {
  now: Instant;
  cards: ReadonlyMap<string, CardMoment>;
}

export type MakeBench = (rules: RuleSet, cards: readonly BenchCard[]) => Bench;
