import type { Instant } from '../../model/instant.ts';
import type { Window } from '../../model/policy.ts';
import type { OpenTrigger, Trigger } from '../../model/trigger.ts';
import { occurrenceAt } from '../../rules/language/window.ts';

export interface ScheduleContext {
  windows: ReadonlyMap<string, Window>;
  /** Wall-clock time: where in its windows the node is. */
  wall: Instant;
  /** Steady time: what leases are reckoned in. */
  at: Instant;
  /** All triggers of the book, open and closed. */
  triggers: ReadonlyMap<string, OpenTrigger>;
}

/** `night@2026-03-05T21:00:00.000Z` */
export const occurrenceKey = (window: string, start: Instant): string => `${window}@${new Date(start).toISOString()}`;

/**
 * What the windows say now: by the state of the clock, not by edges, so that an edge that passed while nobody looked is made
 * up for at the next look, a restart in the middle finds its own row and renews it, and a clock that is set forward or back
 * leads to where it then stands. A window that the clock was set back into after its end opens again.
 *
 * Ends come last: a case that one window hands to the next is not without a trigger in between.
 */
export function scheduleTriggers({ windows, wall, at, triggers }: ScheduleContext): Trigger[] {
  const begun: Trigger[] = [];
  const standing = new Set<string>();
  for (const [name, window] of windows) {
    const occurrence = occurrenceAt(window, wall);
    if (occurrence === undefined) continue;
    const key = occurrenceKey(name, occurrence.start);
    const known = triggers.get(key);
    standing.add(key);
    begun.push({
      source: 'schedule',
      name,
      key,
      phase: known === undefined || known.closedAt !== undefined ? 'open' : 'renew',
      since: occurrence.start,
      at,
      values: {},
      trusted: true,
      until: at + (occurrence.end - wall),
    });
  }
  return [...begun, ...endsOf(triggers.values(), standing, at)];
}

/** Rows of windows that are over, or no longer in the rules. */
function endsOf(triggers: Iterable<OpenTrigger>, standing: ReadonlySet<string>, at: Instant): Trigger[] {
  const ends: Trigger[] = [];
  for (const { closedAt, seenAt: _, ...trigger } of triggers) {
    if (trigger.source !== 'schedule' || closedAt !== undefined || standing.has(trigger.key)) continue;
    ends.push({ ...trigger, phase: 'close', at });
  }
  return ends;
}
