import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { Descriptors, errnoOf } from '../../../amdgpu/lanes/files.ts';
import type { Outcome, Task } from '../../../amdgpu/lanes/pool.ts';

const readFile = (path: string): Uint8Array | number => {
  try {
    return readFileSync(path);
  } catch (error) {
    return errnoOf(error);
  }
};

/** Does at once, in this process, what the process lane does; and fails as told. */
export class FakePool {
  readonly tasks: Task[] = [];
  readonly read: string[] = [];
  readonly listed: string[] = [];
  /** Paths whose item gets no answer. */
  silent: (path: string) => boolean = () => false;
  /** Paths that may not be opened. */
  denied: (path: string) => boolean = () => false;
  /** Called before each path is touched: processes may vanish there. */
  before: (path: string) => void = () => {};
  readonly #lane = new Descriptors(0, () => 0);
  #busy = false;

  async run(tasks: readonly Task[], deadline: number): Promise<Outcome[]> {
    if (this.#busy) throw new Error('the process lane does one batch at a time');
    if (!(deadline > 0)) throw new Error('a deadline is to lie ahead');
    this.#busy = true;
    await Promise.resolve();
    this.#busy = false;
    this.tasks.push(...tasks);
    return tasks.map(({ item }) => this.#do(item));
  }

  forget(): void {
    this.read.length = 0;
    this.listed.length = 0;
    this.tasks.length = 0;
  }

  #do(item: Task['item']): Outcome {
    const paths = item.op === 'list' ? item.dirs : (item.files ?? []);
    if (paths.some((path) => this.silent(path))) return { op: 'timeout' };
    if (item.op === 'list')
      return {
        op: 'list',
        dirs: paths.map((path) => this.#touch(path, this.listed, (dir) => this.#lane.list(dir, item.names === true))),
      };
    const files = paths.map((path) => this.#touch(path, this.read, readFile));
    return { op: 'read', asleep: false, files, milliseconds: 0 };
  }

  #touch<T>(path: string, log: string[], look: (path: string) => T): T | number {
    this.before(path);
    log.push(path);
    return this.denied(path) ? constants.errno.EACCES : look(path);
  }
}
