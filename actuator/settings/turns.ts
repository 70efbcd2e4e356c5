/**
 * One run at a time for each key, keys independent of each other. Whoever asks while a run is under way gets the next one,
 * which everybody who asked meanwhile shares: it sees all that was there when they asked.
 */
export class Turns {
  readonly #work: (key: string) => Promise<void>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();

  constructor(work: (key: string) => Promise<void>) {
    this.#work = work;
  }

  /** Keys whose run is under way. */
  get size(): number {
    return this.#running.size;
  }

  has(key: string): boolean {
    return this.#running.has(key);
  }

  /** Resolves when a run that began no earlier than this call has ended. The work must not reject. */
  run(key: string): Promise<void> {
    const running = this.#running.get(key);
    if (running === undefined) return this.#start(key);
    let next = this.#next.get(key);
    if (next === undefined) {
      next = running.then(() => {
        this.#next.delete(key);
        return this.run(key);
      });
      this.#next.set(key, next);
    }
    return next;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  #start(key: string): Promise<void> {
    const run = this.#work(key).finally(() => this.#running.delete(key));
    this.#running.set(key, run);
    return run;
  }
}
