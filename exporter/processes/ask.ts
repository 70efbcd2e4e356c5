import type { LanePool, Task } from '../../amdgpu/lanes/pool.ts';
import type { Entry } from '../../amdgpu/lanes/protocol.ts';
import type { Clock } from '../../base/clock.ts';

/** Files and directories of one item: small enough that one slow slice costs little. */
const FILES_PER_ITEM = 64;
const DIRS_PER_ITEM = 20;
/** The pool gives this owner a lane of its own. */
const OWNER = 'proc';

const decoder = new TextDecoder('utf-8');

/** Errno (positive), or undefined where there was no answer in time. */
export type Failure = number | undefined;

/**
 * Reads and lists through the process lane, in slices, until one common deadline. The lane takes one batch at a time, so
 * calls are to be awaited one after the other.
 */
export class Ask {
  readonly #pool: Pick<LanePool, 'run'>;
  readonly #clock: Clock;
  readonly #end: number;

  constructor(pool: Pick<LanePool, 'run'>, clock: Clock, deadlineMs: number) {
    this.#pool = pool;
    this.#clock = clock;
    this.#end = clock.monotonic() + deadlineMs;
  }

  /** Text of each file, in order. */
  async read(files: readonly string[]): Promise<(string | Failure)[]> {
    const slices = slicesOf(files, FILES_PER_ITEM);
    const outcomes = await this.#run(slices.map((slice) => ({ owner: OWNER, item: { op: 'read', files: slice } })));
    return slices.flatMap((slice, i) => {
      const outcome = outcomes[i];
      return slice.map((_, k) => {
        const result = outcome?.op === 'read' ? outcome.files[k] : undefined;
        return result instanceof Uint8Array ? decoder.decode(result) : result;
      });
    });
  }

  /** Names in each directory, in order. */
  async names(dirs: readonly string[]): Promise<(string[] | Failure)[]> {
    const listings = await this.#list(dirs, true);
    return listings.map((entries) => (Array.isArray(entries) ? entries.map(({ name }) => name) : entries));
  }

  /** Entries of each directory with the targets of links, in order: dearer than names by one call an entry. */
  links(dirs: readonly string[]): Promise<(Entry[] | Failure)[]> {
    return this.#list(dirs, false);
  }

  async #list(dirs: readonly string[], names: boolean): Promise<(Entry[] | Failure)[]> {
    const slices = slicesOf(dirs, DIRS_PER_ITEM);
    const outcomes = await this.#run(
      slices.map((slice) => ({ owner: OWNER, item: { op: 'list', dirs: slice, names } })),
    );
    return slices.flatMap((slice, i) => {
      const outcome = outcomes[i];
      return slice.map((_, k) => (outcome?.op === 'list' ? outcome.dirs[k] : undefined));
    });
  }

  async #run(tasks: Task[]) {
    const left = this.#end - this.#clock.monotonic();
    if (tasks.length === 0 || left <= 0) return [];
    return this.#pool.run(tasks, left);
  }
}

function slicesOf(all: readonly string[], size: number): string[][] {
  const slices: string[][] = [];
  for (let from = 0; from < all.length; from += size) slices.push(all.slice(from, from + size));
  return slices;
}
