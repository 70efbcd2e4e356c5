import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf } from '../../base/errors.ts';
import type { Entry } from '../tree.ts';
import { bytesOf, padded, same, sizeOf, writtenPart } from './bytes.ts';
import { overwrite, removeEmpty, replaceText } from './in-place.ts';

/**
 * The files of a living node on disk. A reader that comes at any moment finds a whole text: files are written in place with one
 * write of unchanged length. A text that became shorter is filled up with blanks before its last newline, and one that became
 * longer first gets room in the same way, so that no reader sees the old length of the new text. New files are made beside the
 * tree and moved in when they are whole.
 */

/** No control file is longer. */
const PAGE = 4096;
/** Beside sys/ and proc/: where new files are made. */
const STAGING = '.staging';

interface Kept {
  /** What was rendered, before blanks. */
  content: string | Uint8Array;
  /** Bytes on disk. */
  size: number;
  mode: number | undefined;
  fd?: number;
}

/** A file that somebody else wrote to, with what stands there now. */
export interface Foreign {
  path: string;
  text: string;
  /** When, ms since the epoch. */
  at: number;
}

interface Watch {
  mtime: number;
  /** Written by us so short a time ago that another write may bear the same time. */
  recent: boolean;
  emptySince: number;
}

export class LiveFiles {
  readonly #dir: string;
  readonly #exact: boolean;
  readonly #limit: number;
  readonly #files = new Map<string, Kept>();
  readonly #links = new Map<string, string>();
  readonly #watched = new Map<string, Watch>();
  #opened = 0;
  /** Writes since the start, for whoever measures. */
  writes = 0;

  /**
   * `limit`: most descriptors kept open; files beyond it are opened for each write. `exact`: a text of another length is moved in
   * as a new file, with no blanks; for files that are opened at every read, as a relay does.
   */
  constructor(dir: string, { limit = 512, exact = false }: { limit?: number; exact?: boolean } = {}) {
    this.#dir = dir;
    this.#limit = limit;
    this.#exact = exact;
  }

  /** Takes over a tree that was just written. */
  adopt(tree: ReadonlyMap<string, Entry>): void {
    for (const [path, entry] of tree) {
      if ('link' in entry) this.#links.set(path, entry.link);
      else this.#files.set(path, { content: entry.content, size: sizeOf(entry.content), mode: entry.mode });
    }
  }

  /** Writes what has changed among these; files that are not there yet are made. The number of files written. */
  update(entries: ReadonlyMap<string, Entry>): number {
    const before = this.writes;
    for (const [path, entry] of entries) {
      if ('link' in entry) continue;
      const kept = this.#files.get(path);
      if (kept === undefined) this.#create(path, entry);
      else if (!same(kept.content, entry.content)) this.#write(path, kept, entry.content);
    }
    return this.writes - before;
  }

  /** Makes the tree what is given: what is not in it goes, what is new comes, links are set anew where they moved. */
  restructure(tree: ReadonlyMap<string, Entry>): void {
    this.#drop(tree);
    for (const [path, entry] of tree) {
      if (!('link' in entry)) continue;
      const before = this.#links.get(path);
      if (before === entry.link) continue;
      if (before !== undefined) rmSync(join(this.#dir, path), { force: true });
      this.#link(path, entry.link);
    }
    this.update(tree);
  }

  /** Which of our own files others may write to, and are looked after from now on. */
  watch(paths: readonly string[]): void {
    const wanted = new Set(paths);
    for (const path of this.#watched.keys()) if (!wanted.has(path)) this.#watched.delete(path);
    for (const path of paths)
      if (!this.#watched.has(path)) this.#watched.set(path, { mtime: 0, recent: true, emptySince: 0 });
  }

  /** What others wrote since the last look, in the order in which they did. */
  foreign(): Foreign[] {
    const found: Foreign[] = [];
    for (const [path, watch] of this.#watched) {
      const mtime = this.#mtime(path);
      if (mtime === watch.mtime && !watch.recent && watch.emptySince === 0) continue;
      watch.mtime = mtime;
      watch.recent = false;
      const text = this.#written(path, watch);
      if (text !== undefined) found.push({ path, text, at: mtime });
    }
    return found.sort((a, b) => a.at - b.at);
  }

  /** Puts back what we say stands there, whatever was written to it. */
  restore(path: string): void {
    const kept = this.#files.get(path);
    if (kept) this.#write(path, kept, kept.content, true);
  }

  close(): void {
    for (const kept of this.#files.values()) this.#close(kept);
    rmSync(join(this.#dir, STAGING), { recursive: true, force: true });
  }

  /** Undefined where what stands there is ours, or where a writer has emptied the file and not written yet. */
  #written(path: string, watch: Watch): string | undefined {
    const kept = this.#files.get(path);
    if (kept === undefined) return undefined;
    const now = this.#read(path);
    if (now === undefined) return undefined;
    const ours = padded(bytesOf(kept.content), kept.size);
    if (now.equals(ours)) {
      watch.emptySince = 0;
      return undefined;
    }
    if (now.length === 0 && ours.length > 0) {
      // Opening to write empties a file here, which the kernel's do not: only what follows is a write.
      watch.emptySince += 1;
      if (watch.emptySince > 1) this.#write(path, kept, kept.content, true);
      return undefined;
    }
    watch.emptySince = 0;
    return writtenPart(ours, now).toString('utf8');
  }

  /** A kept descriptor costs a tenth of the way along a path, and tells too when the file was replaced. */
  #mtime(path: string): number {
    const kept = this.#files.get(path);
    if (kept && kept.fd === undefined && this.#opened < this.#limit) this.#open(path, kept);
    if (kept?.fd !== undefined) {
      const { nlink, mtimeMs } = fstatSync(kept.fd);
      if (nlink > 0) return mtimeMs;
      this.#close(kept);
    }
    return statSync(this.#full(path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  #read(path: string): Buffer | undefined {
    const buffer = Buffer.allocUnsafe(PAGE);
    const kept = this.#files.get(path)?.fd;
    if (kept !== undefined) return buffer.subarray(0, readSync(kept, buffer, 0, PAGE, 0));
    try {
      const fd = openSync(this.#full(path), 'r');
      try {
        return buffer.subarray(0, readSync(fd, buffer, 0, PAGE, 0));
      } finally {
        closeSync(fd);
      }
    } catch {
      // Removed by somebody: the next write makes it anew.
      return undefined;
    }
  }

  #write(path: string, kept: Kept, content: string | Uint8Array, foreign = false): void {
    const watch = this.#watched.get(path);
    if (watch && !foreign && this.#isForeign(path, kept)) {
      // Whoever wrote is heard first.
      kept.content = content;
      watch.recent = true;
      return;
    }
    const bytes = bytesOf(content);
    if (this.#exact && bytes.length !== kept.size) {
      this.#close(kept);
      this.#create(path, { content, ...(kept.mode === undefined ? {} : { mode: kept.mode }) });
      if (watch) watch.recent = true;
      return;
    }
    const fd = this.#descriptor(path, kept, foreign || watch !== undefined);
    if (fd === undefined) return;
    try {
      kept.size = (foreign ? overwrite : replaceText)(fd, kept, bytes);
      kept.content = content;
      this.writes += 1;
      if (watch) {
        watch.mtime = fstatSync(fd).mtimeMs;
        watch.recent = true;
        watch.emptySince = 0;
      }
    } finally {
      if (kept.fd === undefined) closeSync(fd);
    }
  }

  #isForeign(path: string, kept: Kept): boolean {
    if (kept.fd !== undefined && fstatSync(kept.fd).nlink === 0) this.#close(kept);
    const now = this.#read(path);
    return now !== undefined && !now.equals(padded(bytesOf(kept.content), kept.size));
  }

  /** `check`: the file may have been replaced by another of the same name. */
  #descriptor(path: string, kept: Kept, check: boolean): number | undefined {
    if (kept.fd !== undefined && check && fstatSync(kept.fd).nlink === 0) this.#close(kept);
    if (kept.fd !== undefined) return kept.fd;
    const fd = this.#open(path, kept);
    if (fd !== undefined) return fd;
    // One file may be made anew; a folder that is gone is not wanted any more.
    statSync(join(this.#dir, 'sys'));
    this.#create(path, { content: kept.content, ...(kept.mode === undefined ? {} : { mode: kept.mode }) });
    return undefined;
  }

  /** Undefined where somebody removed the file. */
  #open(path: string, kept: Kept): number | undefined {
    let fd: number;
    try {
      fd = openSync(this.#full(path), 'r+');
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined;
      throw error;
    }
    if (this.#opened < this.#limit) {
      kept.fd = fd;
      this.#opened += 1;
    }
    return fd;
  }

  #close(kept: Kept): void {
    if (kept.fd === undefined) return;
    closeSync(kept.fd);
    delete kept.fd;
    this.#opened -= 1;
  }

  #create(path: string, entry: Exclude<Entry, { link: string }>): void {
    const staged = join(this.#dir, STAGING, 'file');
    mkdirSync(dirname(staged), { recursive: true });
    writeFileSync(staged, entry.content);
    const full = this.#full(path);
    mkdirSync(dirname(full), { recursive: true });
    renameSync(staged, full);
    this.#files.set(path, { content: entry.content, size: sizeOf(entry.content), mode: entry.mode });
    this.writes += 1;
  }

  #link(path: string, target: string): void {
    const full = this.#full(path);
    mkdirSync(dirname(full), { recursive: true });
    symlinkSync(target, full);
    this.#links.set(path, target);
  }

  /** Removes what the tree no longer has, links before what they lead to, and the directories that this empties. */
  #drop(tree: ReadonlyMap<string, Entry>): void {
    const emptied = new Set<string>();
    const drop = (path: string): void => {
      rmSync(this.#full(path), { force: true });
      emptied.add(dirname(path));
    };
    for (const path of this.#links.keys()) {
      if (tree.has(path)) continue;
      drop(path);
      this.#links.delete(path);
    }
    for (const [path, kept] of this.#files) {
      if (tree.has(path)) continue;
      this.#close(kept);
      drop(path);
      this.#files.delete(path);
      this.#watched.delete(path);
    }
    for (const dir of emptied) removeEmpty(this.#dir, dir);
  }

  #full(path: string): string {
    return join(this.#dir, path);
  }
}
