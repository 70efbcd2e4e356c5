import type { Pause } from '../../model/decision.ts';
import type { Trigger } from '../../model/trigger.ts';
import type { KnobReport } from '../settings/report.ts';

/** What the loop hands to `decide`, one at a time. Triggers are in the book already: they were made durable when they were taken. */
export type Event =
  | { type: 'triggers'; triggers: readonly Trigger[] }
  | { type: 'tick' }
  | { type: 'knob'; report: KnobReport }
  | { type: 'pause'; pause: Pause; revert: boolean }
  /** A person gives back one case, or everything. */
  | { type: 'revert'; case?: string; author: string; reason: string };
