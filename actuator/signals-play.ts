import { createReadStream } from 'node:fs';
import { type Clock, type Stoppable, sleep } from '../base/clock.ts';
import { describe, formatProblem } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { OpenTrigger, Trigger } from '../model/trigger.ts';
import { readSignals, signalTrigger } from './intake/signals.ts';

export interface PlayOptions {
  /** JSON lines. */
  file: string;
  clock: Clock;
  log: Log;
  /** Steady time. */
  now: () => number;
  known: (key: string) => OpenTrigger | undefined;
  accept: (triggers: readonly Trigger[]) => unknown;
}

/** Plays a recording once, each signal as long after the first as it was recorded. */
export function playSignals({ file, clock, log, now, known, accept }: PlayOptions): Stoppable {
  let stopped = false;
  const play = async (): Promise<void> => {
    const begun = clock.monotonic();
    let first: number | undefined;
    for await (const line of readSignals(createReadStream(file), file)) {
      if (stopped) return;
      if ('problem' in line) {
        log.warn(formatProblem(line.problem));
        continue;
      }
      const { signal } = line;
      first ??= signal.at;
      const wait = signal.at - first - (clock.monotonic() - begun);
      if (wait > 0) await sleep(clock, wait);
      if (stopped) return;
      // The operator named the file: it is as trusted as a flag.
      const trigger = signalTrigger(signal, { at: now(), trusted: true, known });
      if (trigger !== undefined) accept([trigger]);
    }
    log.info({ file }, 'recording of signals played');
  };
  play().catch((error: unknown) => log.error(`the recording of signals cannot be played on: ${describe(error)}`));
  return {
    stop() {
      stopped = true;
    },
  };
}
