import type { Claim, Knob, KnobFacts, KnobName, Settings } from '../../model/claim.ts';
import type { Instant } from '../../model/instant.ts';
import type { ClockView } from './levels.ts';

export interface CardView {
  on: string;
  /** Of enforced cases, on any knob of this card. */
  claims: readonly Claim[];
  /** Rows of this card. */
  knobs: readonly Knob[];
  /** As read just now. */
  settings: Settings;
  facts: ReadonlyMap<KnobName, KnobFacts>;
  now: Instant;
  /** What it showed at the first look after a reset that was seen: that is the driver's, and nobody's will. */
  afterReset?: Settings;
}

/** A card as its plan looks at it. */
export interface View extends CardView, ClockView {}

export function readOf(settings: Settings, knob: KnobName): number | undefined {
  return knob === 'dmem' ? undefined : settings[knob];
}
