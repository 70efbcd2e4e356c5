import { systemClock } from '../base/clock.ts';

const BEAT_MS = 3_600_000;

/** Runs one piece of work to its end: lanes do not hold the event loop, so that a stuck one never keeps a process alive. */
export async function untilDone<T>(work: () => Promise<T>): Promise<T> {
  const heartbeat = systemClock.every(BEAT_MS, () => undefined, { keepAlive: true });
  try {
    return await work();
  } finally {
    heartbeat.stop();
  }
}
