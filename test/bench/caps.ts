import { type FSWatcher, readFileSync, watch } from 'node:fs';

/** Watches files of power caps, and tells when one says what is waited for. */
export class CapFiles {
  readonly #watchers: FSWatcher[];
  readonly #waiting = new Map<string, { text: string; resolve: (at: number) => void }>();

  constructor(files: readonly string[]) {
    this.#watchers = files.map((file) => watch(file, () => this.#look(file)));
  }

  /** Resolves with the moment (`performance.now()`) at which the file said so many watts; rejects where that takes too long. */
  until(file: string, watts: number, limitMs = 20_000): Promise<number> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#waiting.delete(file);
        reject(new Error(`${file} says ${readFileSync(file, 'utf8').trim()}, not ${watts} W, after ${limitMs} ms`));
      }, limitMs);
      const done = (at: number): void => {
        clearTimeout(late);
        resolve(at);
      };
      this.#waiting.set(file, { text: String(watts * 1e6), resolve: done });
      this.#look(file);
    });
  }

  #look(file: string): void {
    const one = this.#waiting.get(file);
    // Between the cutting and the writing of a file of a plain folder it is empty.
    if (one === undefined || readFileSync(file, 'utf8').trim() !== one.text) return;
    this.#waiting.delete(file);
    one.resolve(performance.now());
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close();
  }
}
