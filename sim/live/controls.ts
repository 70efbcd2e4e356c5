import { join } from 'node:path';
import type { WriteResult } from './contracts.ts';
import type { Foreign, LiveFiles } from './files.ts';
import { Journal } from './journal.ts';

/**
 * Control files in a plain folder. Nobody can make a write fail there: what others wrote is found at the next look, given to the driver,
 * and then the file says again what the driver shows. What it refused stands in driver.log.
 */
const LIMIT = 4 * 2 ** 20;

export class Controls {
  readonly #files: LiveFiles;
  readonly #write: (path: string, text: string) => WriteResult;
  readonly #time: () => { time: string };
  readonly #log: Journal;

  constructor(
    dir: string,
    files: LiveFiles,
    write: (path: string, text: string) => WriteResult,
    time: () => { time: string },
  ) {
    this.#files = files;
    this.#write = write;
    this.#time = time;
    this.#log = new Journal(join(dir, 'driver.log'), LIMIT);
  }

  /** Gives the driver what was written since the last look; the files that must be put right afterwards. */
  hear(): string[] {
    const heard = this.#files.foreign();
    for (const foreign of heard)
      for (const text of writesIn(foreign)) this.note(foreign.path, text, this.#write(foreign.path, text));
    return heard.map(({ path }) => path);
  }

  putBack(paths: readonly string[]): void {
    for (const path of paths) this.#files.restore(path);
  }

  /** A line of driver.log, where the driver refused. */
  note(path: string, text: string, result: WriteResult): void {
    if (!result.ok) this.#log.add(`${this.#time().time} ${path} ${JSON.stringify(text)} ${result.errno}`);
  }

  close(): void {
    this.#log.close();
  }
}

/** The clock table takes a command a write; a tool that keeps the file open leaves several in it before we look. */
function writesIn({ path, text }: Foreign): string[] {
  if (!path.endsWith('/pp_od_clk_voltage')) return [text];
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.length > 0 ? lines.map((line) => `${line}\n`) : [text];
}
