import { closeSync, fstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { constants } from 'node:os';
import { type Entry, PAGE } from './protocol.ts';

/** How long a kept descriptor is trusted before its link count is looked at again. */
const TRUST_MS = 250;
const MOVED = new Set([constants.errno.ENODEV, constants.errno.ENOENT, constants.errno.ESTALE, constants.errno.ENXIO]);
const FULL = new Set([constants.errno.EMFILE, constants.errno.ENFILE]);
/** Descriptors given back at a time when the process has none left. */
const GIVE_BACK = 16;

export function errnoOf(error: unknown): number {
  const errno = (error as { errno?: unknown })?.errno;
  return typeof errno === 'number' && errno !== 0 ? Math.abs(errno) : constants.errno.EIO;
}

/**
 * The kept descriptors of one lane. Bounded: files beyond `limit` are opened and closed at each read, and running out of
 * descriptors shrinks the limit instead of losing the pass.
 *
 * A descriptor whose file was replaced (link count 0) or whose device went away is opened again, once, before the failure
 * is reported.
 */
export class Descriptors {
  readonly #open = new Map<string, { fd: number; checked: number }>();
  #limit: number;
  readonly #now: () => number;
  #time: number;

  constructor(limit: number, now: () => number) {
    this.#limit = limit;
    this.#now = now;
    this.#time = now();
  }

  /** Looks at the clock, once for all files that are read together. */
  tick(): void {
    this.#time = this.#now();
  }

  get size(): number {
    return this.#open.size;
  }

  /** Reads the file from its start into `buffer` at `offset`; the number of bytes, or -errno. */
  read(path: string, buffer: Buffer, offset: number, keep: boolean): number {
    const kept = this.#open.get(path);
    if (kept !== undefined) {
      if (this.#current(kept)) {
        const length = readWhole(kept.fd, buffer, offset);
        if (length >= 0 || !MOVED.has(-length)) return length;
      }
      this.close(path);
    }
    return this.#fresh(path, buffer, offset, keep);
  }

  /** What stands in the directory, or the errno (positive). */
  list(dir: string, namesOnly: boolean): Entry[] | number {
    try {
      return this.#withRoom(() => entriesOf(dir, namesOnly));
    } catch (error) {
      return errnoOf(error);
    }
  }

  close(path: string): void {
    const kept = this.#open.get(path);
    if (kept === undefined) return;
    this.#open.delete(path);
    closeSync(kept.fd);
  }

  #current(kept: { fd: number; checked: number }): boolean {
    if (this.#time - kept.checked < TRUST_MS) return true;
    try {
      kept.checked = this.#time;
      return fstatSync(kept.fd).nlink > 0;
    } catch {
      return false;
    }
  }

  #fresh(path: string, buffer: Buffer, offset: number, keep: boolean): number {
    let fd: number;
    try {
      fd = this.#withRoom(() => openSync(path, 'r'));
    } catch (error) {
      return -errnoOf(error);
    }
    const length = readWhole(fd, buffer, offset);
    if (keep && this.#open.size < this.#limit) this.#open.set(path, { fd, checked: this.#time });
    else closeSync(fd);
    return length;
  }

  #withRoom<T>(open: () => T): T {
    try {
      return open();
    } catch (error) {
      if (!FULL.has(errnoOf(error)) || this.#open.size === 0) throw error;
      this.#limit = Math.max(0, this.#open.size - GIVE_BACK);
      for (const kept of [...this.#open.keys()].slice(this.#limit)) this.close(kept);
      return open();
    }
  }
}

/**
 * One read at offset 0: sysfs makes the text at that moment, so a second read of the rest could be of another moment.
 * Only what fills the page is read on (the bad-page list is a binary attribute longer than a page).
 */
function readWhole(fd: number, buffer: Buffer, offset: number): number {
  try {
    let length = readSync(fd, buffer, offset, PAGE, 0);
    let chunk = length;
    while (chunk === PAGE && offset + length + PAGE <= buffer.length) {
      chunk = readSync(fd, buffer, offset + length, PAGE, length);
      length += chunk;
    }
    return length;
  } catch (error) {
    return -errnoOf(error);
  }
}

function entriesOf(dir: string, namesOnly: boolean): Entry[] {
  if (namesOnly) return readdirSync(dir).map((name) => ({ name, kind: 'file' }));
  return readdirSync(dir, { withFileTypes: true }).map((entry) => {
    if (!entry.isSymbolicLink()) return { name: entry.name, kind: entry.isDirectory() ? 'dir' : 'file' };
    try {
      return { name: entry.name, kind: 'link', target: readlinkSync(`${dir}/${entry.name}`) };
    } catch {
      return { name: entry.name, kind: 'link' };
    }
  });
}
