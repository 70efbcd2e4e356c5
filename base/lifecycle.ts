import { type Clock, systemClock } from './clock.ts';
import { baseError, toError } from './errors.ts';

export interface ReleaseOptions {
  /** Time that this release may take, ms. */
  limitMs?: number;
}

interface Releaser {
  name: string;
  limitMs: number;
  release: () => unknown;
}

/** What one release may take unless it asks for another limit, ms. Small, so that one that hangs leaves time for others. */
const DEFAULT_LIMIT_MS = 300;

/** What was started and how to undo it: undone in reverse order, each within its own time, none skipped for another's failure. */
export class Lifecycle {
  readonly #clock: Clock;
  readonly #stack: Releaser[] = [];
  #released: Promise<Error[]> | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Registers how to undo what was just started. After the end has begun it is undone on the spot. */
  add(name: string, release: () => unknown, options: ReleaseOptions = {}): void {
    const releaser = { name, release, limitMs: options.limitMs ?? DEFAULT_LIMIT_MS };
    this.#stack.push(releaser);
    // Nobody collects the errors of a latecomer any more.
    if (this.#released) void this.#unwind(releaser.limitMs);
  }

  /** True once the end has begun. */
  get ended(): boolean {
    return this.#released !== undefined;
  }

  /**
   * Releases everything within `totalMs` and returns what went wrong. When the time is over the remaining releases are
   * still called, but not waited for. A second call joins the first.
   */
  release(totalMs = 900): Promise<Error[]> {
    this.#released ??= this.#unwind(totalMs);
    return this.#released;
  }

  async #unwind(totalMs: number): Promise<Error[]> {
    const end = this.#clock.monotonic() + totalMs;
    const errors: Error[] = [];
    for (let next = this.#stack.pop(); next; next = this.#stack.pop()) {
      const limit = Math.max(0, Math.min(next.limitMs, end - this.#clock.monotonic()));
      const error = await this.#one(next, limit);
      if (error) errors.push(error);
    }
    return errors;
  }

  async #one({ name, release }: Releaser, limitMs: number): Promise<Error | undefined> {
    const work = (async () => {
      await release();
    })();
    const late = Symbol(name);
    try {
      const result = await this.#within(work, limitMs, late);
      if (result !== late) return undefined;
      // Its failure, should it come later, has been told as a timeout.
      work.catch(() => undefined);
      const time = `${Math.round(limitMs)} ms`;
      return baseError('RELEASE_TIMEOUT', `${name} did not stop within ${time}`, 'It is left behind.');
    } catch (thrown) {
      const error = toError(thrown);
      return new Error(`${name} did not stop cleanly: ${error.message}`, { cause: error });
    }
  }

  async #within<T, L>(work: Promise<T>, limitMs: number, late: L): Promise<T | L> {
    let stop: () => void = () => undefined;
    const limit = new Promise<L>((resolve) => {
      stop = this.#clock.timer(limitMs, () => resolve(late), { keepAlive: true }).stop;
    });
    try {
      return await Promise.race([work, limit]);
    } finally {
      stop();
    }
  }
}

/** Starts with a fresh lifecycle; where that fails, everything begun is released before the error is thrown on. */
export async function startOrRelease(
  start: (life: Lifecycle) => unknown,
  clock: Clock = systemClock,
  totalMs?: number,
): Promise<Lifecycle> {
  const life = new Lifecycle(clock);
  try {
    await start(life);
    return life;
  } catch (error) {
    await life.release(totalMs);
    throw error;
  }
}
