import type { KnobFacts, KnobName, Settings } from '../../model/claim.ts';
import type { Reason } from '../../model/reading.ts';

export type SettingsRead = { ok: true; settings: Settings } | { ok: false; reason: Reason };

/**
 * `written`: every step was taken; `settings` is what the card says afterwards, which may be something else.
 * `refused`: the driver refused a step with this errno (its name, `EINVAL`); what stood behind it was not tried. Where there is no
 * way at all nothing is tried: file and text are empty, and errno is a word of `Impossible` (plan.ts), in lower case.
 * `unanswered`: the card did not answer in time, sleeps, or has gone: nobody knows what was written.
 */
export type WriteResult =
  | { outcome: 'written'; settings: Settings }
  | { outcome: 'refused'; file: string; text: string; errno: string; settings?: Settings }
  | { outcome: 'unanswered'; reason: Reason };

/** The knobs of this node's cards. Every touch goes through the card's own lane, so a card that hangs costs only itself. */
export interface KnobPort {
  /** What can be set on this card, from what discovery and the last pass read. */
  facts(pci: string): ReadonlyMap<KnobName, KnobFacts>;
  /** Reads the settings of the function that carries the knobs, now. */
  read(on: string): Promise<SettingsRead>;
  /**
   * Brings the card from one set of settings to another in the order that its driver wants, then reads back. Only the keys
   * of `to` are changed; `from` is what was read just before.
   */
  write(on: string, from: Settings, to: Settings): Promise<WriteResult>;
}
