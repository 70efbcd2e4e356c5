import { setTimeout as sleep } from 'node:timers/promises';
import type { Daemon } from './daemon.ts';

const POLL_MS = 100;

/** Asks again and again until the answer is neither false nor undefined; fails with what was waited for. */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  limitMs = 30_000,
): Promise<Exclude<T, false | undefined>> {
  const end = performance.now() + limitMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer as Exclude<T, false | undefined>;
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleep(POLL_MS);
  }
}

/** Waits until a program answers at this URL; fails with its log where it has ended. */
export async function untilAnswers(url: string, { ended, log }: Daemon): Promise<void> {
  let over = false;
  void ended.then(() => {
    over = true;
  });
  await until(`an answer from ${url}`, async () => {
    if (over) throw new Error(`it ended: ${log()}`);
    return fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  });
}
