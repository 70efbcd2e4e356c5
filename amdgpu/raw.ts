import { constants } from 'node:os';
import type { Reason } from '../model/reading.ts';
import type { FileResult } from './lanes/protocol.ts';

const E = constants.errno;
const BY_ERRNO = new Map<number, Reason>([
  [E.EBUSY, 'busy'],
  [E.EAGAIN, 'busy'],
  [E.EACCES, 'denied'],
  [E.EROFS, 'denied'],
  [E.EOPNOTSUPP, 'unsupported'],
  [E.ENOTSUP, 'unsupported'],
  [E.ENODATA, 'absent'],
  [E.ENODEV, 'gone'],
  [E.ENXIO, 'gone'],
  [E.ENOENT, 'gone'],
  [E.ETIME, 'timeout'],
  [E.ETIMEDOUT, 'timeout'],
  [E.EIO, 'timeout'],
  // EREMOTEIO: Linux only, and not named by os.constants.
  [121, 'timeout'],
  [E.EMFILE, 'exhausted'],
  [E.ENFILE, 'exhausted'],
]);

/**
 * What an errno from a read of one of the driver's files means.
 *
 * EPERM from amdgpu says "in reset, in suspend" (Linux up to 6.17; the callers have excluded runtime suspend by the gate);
 * from KFD topology it says that a device cgroup hides the GPU, which the caller knows by where it read.
 */
export function reasonOf(errno: number): Reason {
  if (errno === E.EPERM) return 'busy';
  return BY_ERRNO.get(errno) ?? 'failed';
}

/** Out of descriptors or memory: says nothing about what is there. */
const OUR_FAULTS = new Set([E.EMFILE, E.ENFILE, E.ENOMEM]);

export function isOurFault(result: unknown): boolean {
  return typeof result === 'number' && OUR_FAULTS.has(result);
}

interface Kept {
  result: FileResult;
  /** Set anew since it was last taken. */
  fresh: boolean;
  parser?: unknown;
  parsed?: unknown;
}

const decoder = new TextDecoder('utf-8');

/**
 * The newest bytes of each file of one card, by name below the device directory (`hwmon/temp1_input` whatever hwmonN is).
 * A parse is done once for the same bytes: most files say the same at every pass.
 */
export class RawFiles {
  readonly #files = new Map<string, Kept>();

  /** `copy` where the bytes are kept for long: they are a window on a whole frame. */
  set(name: string, result: FileResult, copy = false): void {
    const kept = this.#files.get(name);
    if (kept === undefined) {
      this.#files.set(name, { result: copy ? copyOf(result) : result, fresh: true });
      return;
    }
    kept.fresh = true;
    if (sameBytes(kept.result, result)) return;
    kept.result = copy ? copyOf(result) : result;
    kept.parser = undefined;
    kept.parsed = undefined;
  }

  delete(name: string): void {
    this.#files.delete(name);
  }

  has(name: string): boolean {
    return this.#files.has(name);
  }

  /** Whether the file was read since this was last asked: for contents that a read uses up. */
  takeFresh(name: string): boolean {
    const kept = this.#files.get(name);
    if (kept === undefined) return false;
    const { fresh } = kept;
    kept.fresh = false;
    return fresh;
  }

  /** Same names with the same results. */
  equals(other: RawFiles): boolean {
    if (this.#files.size !== other.#files.size) return false;
    for (const [name, { result }] of this.#files) {
      const theirs = other.#files.get(name);
      if (theirs === undefined || !sameBytes(result, theirs.result)) return false;
    }
    return true;
  }

  names(): IterableIterator<string> {
    return this.#files.keys();
  }

  bytes(name: string): Uint8Array | undefined {
    const result = this.#files.get(name)?.result;
    return typeof result === 'number' ? undefined : result;
  }

  /** Errno (positive) of the last read; undefined where it answered or is not read at all. */
  errno(name: string): number | undefined {
    const result = this.#files.get(name)?.result;
    return typeof result === 'number' ? result : undefined;
  }

  text(name: string): string | undefined {
    const bytes = this.bytes(name);
    return bytes === undefined ? undefined : decoder.decode(bytes);
  }

  /** The parser's result on this file's text; undefined where there is no text. Parsers are pure and named functions. */
  parse<T>(name: string, parser: (text: string) => T | undefined): T | undefined {
    const kept = this.#files.get(name);
    if (kept === undefined || typeof kept.result === 'number') return undefined;
    if (kept.parser !== parser) {
      kept.parsed = parser(decoder.decode(kept.result));
      kept.parser = parser;
    }
    return kept.parsed as T | undefined;
  }
}

/** Not by slice(): a Buffer's own makes a window on the same memory. */
function copyOf(result: FileResult): FileResult {
  return typeof result === 'number' ? result : new Uint8Array(result);
}

function sameBytes(a: FileResult, b: FileResult): boolean {
  if (typeof a === 'number' || typeof b === 'number') return a === b;
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
