/**
 * Windows of local time that recur. An occurrence belongs to the day it starts on: `22:00` to `06:00` on Friday includes
 * Saturday's first six hours. Its ends are computed from calendar dates, so on the nights when clocks change it is an hour
 * shorter or longer; an end within a skipped hour is the first instant after it, within a repeated hour the first occurrence.
 */
import type { Instant } from '../../model/instant.ts';
import type { Window } from '../../model/policy.ts';
import { instantOf, localDay, weekdayOf } from './zone.ts';

/** One stretch of a window: `start` belongs to it, `end` does not. */
export interface Occurrence {
  start: Instant;
  end: Instant;
}

export interface Edge {
  at: Instant;
  /** What happens then. Where one occurrence ends as the next one starts, it is a start. */
  edge: 'start' | 'end';
}

/** Two weeks hold each weekday twice: once may fall wholly into a skipped hour, then there is the other. */
const DAYS_AHEAD = 15;

/** The span around the last instant asked about in which the answer is the same: almost every tick falls into it. */
interface Span {
  from: Instant;
  to: Instant;
  occurrence: Occurrence | undefined;
}

const spans = new WeakMap<Window, Span>();

/** Whether an instant lies in the window. */
export function isInWindow(window: Window, instant: Instant): boolean {
  return spanAt(window, instant).occurrence !== undefined;
}

/** The occurrence that an instant lies in. */
export function occurrenceAt(window: Window, instant: Instant): Occurrence | undefined {
  return spanAt(window, instant).occurrence;
}

/** The next start or end behind an instant; undefined for a window without days. */
export function nextEdge(window: Window, instant: Instant): Edge | undefined {
  const now = occurrenceAt(window, instant);
  const next = nextOccurrence(window, instant);
  if (now === undefined) return next && { at: next.start, edge: 'start' };
  return next !== undefined && next.start <= now.end ? { at: next.start, edge: 'start' } : { at: now.end, edge: 'end' };
}

function spanAt(window: Window, instant: Instant): Span {
  const last = spans.get(window);
  if (last !== undefined && instant >= last.from && instant < last.to) return last;
  const span = computeSpan(window, instant);
  spans.set(window, span);
  return span;
}

function computeSpan(window: Window, instant: Instant): Span {
  const day = localDay(window.zone, instant);
  for (let d = day + 1; d >= day - 2; d--) {
    const found = occurrenceOf(window, d);
    if (found !== undefined && found.start <= instant && instant < found.end) {
      return { from: found.start, to: found.end, occurrence: found };
    }
  }
  // Outside: nothing is looked for behind the instant, so that a clock that steps back is computed anew.
  const to = nextOccurrence(window, instant)?.start ?? Number.POSITIVE_INFINITY;
  return { from: instant, to, occurrence: undefined };
}

/** The first occurrence that starts behind an instant. */
function nextOccurrence(window: Window, instant: Instant): Occurrence | undefined {
  const day = localDay(window.zone, instant);
  for (let d = day - 1; d <= day + DAYS_AHEAD; d++) {
    const found = occurrenceOf(window, d);
    if (found !== undefined && found.start > instant) return found;
  }
  return undefined;
}

/** The occurrence that starts on a day, counted from 1970; none where the clocks skip it. */
function occurrenceOf(window: Window, day: number): Occurrence | undefined {
  if (!window.days.includes(weekdayOf(day))) return undefined;
  const start = instantOf(window.zone, day, window.start);
  const end = instantOf(window.zone, window.end <= window.start ? day + 1 : day, window.end);
  return end > start ? { start, end } : undefined;
}
