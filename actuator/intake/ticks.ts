import { schedule } from 'node-cron';
import type { Clock, Stoppable } from '../../base/clock.ts';
import { describe } from '../../base/errors.ts';
import { type Log, onceLog } from '../../base/log.ts';

export interface TickOptions {
  /** Called now, at second 0 of every minute, and at once after the wall clock was set. */
  onTick: () => void;
  clock: Clock;
  log: Log;
}

const EVERY_MINUTE = '0 * * * * *';
/** A minute that a busy process came late to is looked at late, not left out. */
const LATE_MS = 59_000;
/** How often it is looked whether the wall clock was set, and by how much it must have been, ms. */
const LOOK_MS = 5_000;
const STEP_MS = 2_000;

/** Minutes of the wall clock, at which windows are looked at. Whatever `onTick` throws is told once and stops nothing. */
export function minuteTicks({ onTick, clock, log }: TickOptions): Stoppable {
  const once = onceLog(log, 'error');
  const tick = () => {
    try {
      onTick();
      once.report('schedule', undefined);
    } catch (error) {
      once.report('schedule', `windows could not be looked at: ${describe(error)}`);
    }
  };
  const start = () =>
    schedule(EVERY_MINUTE, tick, {
      // A minute is the same in every zone.
      timezone: 'UTC',
      unref: true,
      suppressMissedWarning: true,
      missedExecutionTolerance: LATE_MS,
      logger: quiet(log),
    });
  let task = start();
  let offset = clock.now() - clock.monotonic();
  tick();
  const look = clock.every(LOOK_MS, () => {
    const now = clock.now() - clock.monotonic();
    const step = now - offset;
    offset = now;
    if (Math.abs(step) < STEP_MS) return;
    log.info({ stepMs: Math.round(step) }, 'the wall clock was set');
    // Set back, the task would sleep until its next minute by the old clock comes round again.
    void task.destroy();
    task = start();
    tick();
  });
  return {
    stop() {
      look.stop();
      void task.destroy();
    },
  };
}

/** The library writes to the console by itself. */
function quiet(log: Log) {
  const debug = (message: string | Error) => log.debug(String(message));
  return { info: debug, debug, warn: debug, error: (message: string | Error) => log.error(String(message)) };
}
