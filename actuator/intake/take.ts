import type { OpenTrigger, Trigger } from '../../model/trigger.ts';

/**
 * The book's row of a trigger once it was taken. A renewal brings the newest words (an update of a signal, a later end), and
 * keeps when it was first taken; from a sender less trusted than the one before it says no more than that it still is so.
 * An end keeps the row, so that a late repeat is known as such. What opens again after its end begins anew.
 */
export function take(trigger: Trigger, known: OpenTrigger | undefined): OpenTrigger {
  const seenAt = trigger.at;
  if (trigger.phase === 'close') {
    if (known?.closedAt !== undefined) return known;
    return { ...(known ?? trigger), phase: 'close', trusted: trigger.trusted, closedAt: seenAt, seenAt };
  }
  if (trigger.phase === 'open' || known === undefined || known.closedAt !== undefined) return { ...trigger, seenAt };
  if (known.trusted && !trigger.trusted) return { ...known, phase: 'renew', seenAt };
  return { ...trigger, at: known.at, seenAt };
}
