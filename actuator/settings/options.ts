import type { KnobPort } from '../../amdgpu/knobs/port.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Book } from '../../model/book.ts';
import type { Change } from '../../model/decision.ts';
import type { Instant } from '../../model/instant.ts';
import type { ReadingOf } from './effect.ts';
import type { KnobReport } from './report.ts';

/** Places at which a test ends the process, to see that whatever the card then has can be given back. */
export const CRASH_POINTS = ['after-read', 'before-intent', 'after-intent', 'after-write', 'after-result'] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

export interface ReconcilerOptions {
  port: KnobPort;
  book: () => Book;
  /** Makes changes durable and brings the book to them; throws where it cannot. */
  commit: (changes: readonly Change[]) => void;
  /** Steady time, as in the book. */
  now: () => Instant;
  clock: Clock;
  log: Log;
  onOutcome: (report: KnobReport) => void;
  /** Newest readings, to see effects by. Without it none is told. */
  reading?: ReadingOf;
  effectMs?: number;
  crashPoint?: (name: CrashPoint) => void;
}
