import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';

/** A file that lines are added to. When it is full it becomes FILE.1, in place of the one before. */
export class Journal {
  readonly #file: string;
  readonly #limit: number;
  #fd: number | undefined;
  #size = 0;

  /** Begins anew: what an earlier run left goes. `limit` in bytes. */
  constructor(file: string, limit: number) {
    this.#file = file;
    this.#limit = limit;
    rmSync(`${file}.1`, { force: true });
    this.#fd = openSync(file, 'w', 0o644);
  }

  add(line: string): void {
    if (this.#fd === undefined) return;
    const bytes = Buffer.from(`${line}\n`);
    if (this.#size + bytes.length > this.#limit) this.#turn();
    writeSync(this.#fd, bytes);
    this.#size += bytes.length;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #turn(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    renameSync(this.#file, `${this.#file}.1`);
    this.#fd = openSync(this.#file, 'w', 0o644);
    this.#size = 0;
  }
}
