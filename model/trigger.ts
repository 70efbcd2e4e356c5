import type { Instant } from './instant.ts';
import type { Target } from './target.ts';

export const TRIGGER_SOURCES = ['alert', 'signal', 'schedule', 'manual'] as const;
export type TriggerSource = (typeof TRIGGER_SOURCES)[number];

/** Something outside a policy that says: look. It never acts alone; our own reading is the second witness. */
export interface Trigger {
  source: TriggerSource;
  /** Alert name, kind of signal, name of a window, name that a person called. */
  name: string;
  /** Identity of this occurrence: `fingerprint@startsAt` of an alert, window and start of a schedule, id of a signal. */
  key: string;
  phase: 'open' | 'renew' | 'close';
  /** Where it says which node it is about. */
  node?: string;
  /** What it is about; absent: everything on this node. */
  target?: Target;
  /** When what it tells began, by its sender's clock. */
  since: Instant;
  /** When we took it. */
  at: Instant;
  /** Labels of an alert, state of a signal. */
  values: Readonly<Record<string, string | number>>;
  /** The sender proved who it is. Without it a policy acts only where its `when` is true by our own reading. */
  trusted: boolean;
  /** For what ends at a known time (a window): the lease of what it opens. */
  until?: Instant;
  /** Where it names its GPU by number only; resolved, or refused, when it is decided on. */
  gpu?: number;
}

/** A trigger as the book holds it: open until closed, and kept closed for a while so that a late repeat is known as stale. */
export interface OpenTrigger extends Trigger {
  closedAt?: Instant;
  /** Newest notice of it. */
  seenAt: Instant;
}
