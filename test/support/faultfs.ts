import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished, TestRunner } from 'vitest';

/** Error names of errno(3), e.g. `EBUSY`, as far as a kernel file or the opening of one can give them. */
export type Errno =
  | 'EACCES'
  | 'EAGAIN'
  | 'EBUSY'
  | 'EINVAL'
  | 'EIO'
  | 'EMFILE'
  | 'ENFILE'
  | 'ENODATA'
  | 'ENODEV'
  | 'ENOENT'
  | 'ENOMEM'
  | 'EOPNOTSUPP'
  | 'EPERM'
  | 'EREMOTEIO'
  | 'EROFS'
  | 'ETIME'
  | 'ETIMEDOUT';

/**
 * What happens to a file. Faults of `read` strike a read at offset 0 (a driver is asked then, not for the rest of what it said).
 *
 * - `errno`: fails; at `open` for EACCES, EMFILE, ENFILE, ENOENT and EROFS, else at `read`, unless `on` says otherwise.
 * - `empty`: a read of no bytes.
 * - `delayMs`: answers as usual, that much later.
 * - `hangSeconds`: does not answer, not even to SIGKILL, until cleared or that much later; `on: 'open'` also strikes
 *   directories that are listed.
 * - `vanish`: the path and all below it is not there; descriptors opened before answer ENODEV for good.
 *   (fstat on them says ENOENT, where sysfs would still answer.)
 *
 * `times`: only that often, then as if the fault were not set.
 */
export type Fault =
  | { errno: Errno; on?: 'open' | 'read'; times?: number }
  | { empty: true; times?: number }
  | { delayMs: number; times?: number }
  | { hangSeconds: number; on?: 'open' | 'read'; times?: number }
  | { vanish: true };

export interface FaultFs {
  /** Where the source is seen with its faults. */
  readonly path: string;
  /**
   * Sets a fault on every path that matches; in force when the promise resolves. Paths are relative to the mount or absolute
   * below it; `*` and `?` stay within a segment, `**` crosses segments. Of several that match, the last one set wins.
   */
  set(pattern: string, fault: Fault): Promise<void>;
  /** Takes back what was set for this very pattern (or everything), and lets its hanging reads go on. */
  clear(pattern?: string): Promise<void>;
  /** `set(path, { vanish: true })`. */
  vanish(path: string): Promise<void>;
  /** How often the file was read from its start (reached through a symlink: the path that the link leads to). */
  reads(path: string): number;
  /** The same for every file that was read at all. */
  allReads(): ReadonlyMap<string, number>;
  /** Ends hanging reads with an error, unmounts, ends the process behind. May be called twice. */
  unmount(): Promise<void>;
}

/** The Debian interpreter: another one on the PATH would not see Debian's fusepy. */
const PYTHON = '/usr/bin/python3';
const PROGRAM = fileURLToPath(new URL('faultfs.py', import.meta.url));
const MOUNT_DEADLINE_MS = 15_000;

/** Why this machine cannot mount a fault file system; undefined where it can. */
export function faultsUnavailable(): string | undefined {
  if (!existsSync(PYTHON)) return `${PYTHON} is missing`;
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
  } catch {
    return '/dev/fuse is missing or not open to this user (in a container: --device /dev/fuse --cap-add SYS_ADMIN)';
  }
  return undefined;
}

/**
 * Shows a directory, read-only, with faults that can be changed while mounted: at a mount point of its own, or at `at`, an
 * empty directory in a larger tree (each path costs the file system several messages: a whole node is slow).
 * Called within a test it unmounts when that test ends, passed or failed; called in `beforeAll` it is for `afterAll` to unmount.
 * Should this process die, the file system unmounts itself.
 */
export async function mountFaults(sourceDir: string, at?: string): Promise<FaultFs> {
  const path = at ?? mkdtempSync(join(tmpdir(), 'faultfs-'));
  const log = at === undefined ? `${path}.reads` : `${sourceDir}.reads`;
  // A session of its own: Ctrl-C must reach us first, not a file system that our own reads may be waiting for.
  const child = spawn(PYTHON, [PROGRAM, sourceDir, path, log], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const control = new Control(child);
  const reads = new ReadLog(log);
  const unmount = onlyOnce(() => {
    reads.counts(); // the log goes with the mount, what it said stays
    return unmountAndEnd(path, log, child);
  });
  try {
    await control.ready(MOUNT_DEADLINE_MS);
  } catch (error) {
    await unmount();
    throw error;
  }
  if (TestRunner.getCurrentTest()) onTestFinished(unmount);
  const inside = (pattern: string) =>
    pattern.startsWith(path) ? relative(path, pattern) : pattern.replace(/^\/+/, '');
  const set = (pattern: string, fault: Fault) => control.order({ op: 'set', pattern: inside(pattern), fault });
  return {
    path,
    set,
    clear: (pattern) =>
      control.order(pattern === undefined ? { op: 'clear' } : { op: 'clear', pattern: inside(pattern) }),
    vanish: (subtree) => set(subtree, { vanish: true }),
    reads: (file) => reads.counts().get(inside(file)) ?? 0,
    allReads: () => reads.counts(),
    unmount,
  };
}

interface Deferred {
  promise: Promise<void>;
  resolve: () => void;
  reject: (error: Error) => void;
}

function deferred(): Deferred {
  let resolve = () => {};
  let reject: Deferred['reject'] = () => {};
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;
type Answer = { id?: number; ready?: true; error?: string };

/** Orders to the file system and its confirmations, in order. */
class Control {
  readonly #child: Child;
  readonly #waiting = new Map<number, Deferred>();
  readonly #ready = deferred();
  #nextId = 1;
  #stderr = '';
  #ended: Error | undefined;

  constructor(child: Child) {
    this.#child = child;
    this.#ready.promise.catch(() => {});
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-4000);
    });
    createInterface({ input: child.stdout }).on('line', (line) => this.#answer(JSON.parse(line) as Answer));
    child.stdin.on('error', () => {}); // told by 'close' too, with the reason
    child.once('error', (error) => this.#end(error));
    child.once('close', (code, signal) =>
      this.#end(new Error(`faultfs ended (${signal ?? code}): ${this.#stderr.trim()}`)),
    );
  }

  async ready(deadlineMs: number): Promise<void> {
    const late = () =>
      this.#ready.reject(new Error(`faultfs not mounted after ${deadlineMs} ms: ${this.#stderr.trim()}`));
    const timer = setTimeout(late, deadlineMs);
    await this.#ready.promise.finally(() => clearTimeout(timer));
  }

  async order(order: object): Promise<void> {
    if (this.#ended) throw this.#ended;
    const id = this.#nextId++;
    const answered = deferred();
    this.#waiting.set(id, answered);
    this.#child.stdin.write(`${JSON.stringify({ id, ...order })}\n`);
    await answered.promise;
  }

  #answer({ id, ready, error }: Answer): void {
    if (ready) this.#ready.resolve();
    if (id === undefined) return;
    const asker = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) asker?.resolve();
    else asker?.reject(new Error(`faultfs refused: ${error}`));
  }

  #end(error: Error): void {
    this.#ended = error;
    this.#ready.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** Counts the lines of the read log; each call reads only what is new, and without waiting for the event loop. */
class ReadLog {
  readonly #file: string;
  readonly #counts = new Map<string, number>();
  #offset = 0;

  constructor(file: string) {
    this.#file = file;
  }

  counts(): ReadonlyMap<string, number> {
    if (!existsSync(this.#file)) return this.#counts;
    const fd = openSync(this.#file, 'r');
    const chunks: Buffer[] = [];
    for (;;) {
      const chunk = Buffer.alloc(65_536);
      const length = readSync(fd, chunk, 0, chunk.length, this.#offset);
      if (length === 0) break;
      this.#offset += length;
      chunks.push(chunk.subarray(0, length));
    }
    closeSync(fd);
    // Lines are appended whole, so what is new ends with a line.
    for (const line of Buffer.concat(chunks).toString().split('\n').slice(0, -1)) {
      this.#counts.set(line, (this.#counts.get(line) ?? 0) + 1);
    }
    return this.#counts;
  }
}

/** Lazy unmount first: a reader that waits for us would make any other kind fail. Ending the process then frees such readers. */
async function unmountAndEnd(path: string, log: string, child: Child): Promise<void> {
  await promisify(execFile)('fusermount3', ['-uz', path]).catch(() => {}); // never mounted, or unmounted by someone else
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }
  rmSync(log, { force: true });
  if (existsSync(path)) rmdirSync(path);
}

function onlyOnce(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= action();
    return done;
  };
}
