import { posix } from 'node:path';
import type { LanePool, Outcome } from '../../amdgpu/lanes/pool.ts';
import type { Entry, Item } from '../../amdgpu/lanes/protocol.ts';
import { errnoName } from './errno.ts';

/** What stands at one path of the archive. */
export type Content = { dir: true } | { link: string } | { bytes: Uint8Array };

/** A read or a listing that failed. */
export interface Fault {
  path: string;
  op: 'read' | 'list';
  /** Errno name; `TIMEOUT` for no answer, `UNTRIED` for files behind one that gave none, `ASLEEP` for a card that was not woken. */
  errno: string;
}

interface Wanted {
  path: string;
  owner: string;
  gate?: string;
}

const MOST_LINKS = 40;

/**
 * One of the two trees, `sys` or `proc`, as it is taken: paths are relative to its root and canonical, links are kept as links on the
 * way. Every listing and read goes through the lanes.
 */
export class Walk {
  readonly contents = new Map<string, Content>();
  readonly faults: Fault[] = [];
  readonly #pool: LanePool;
  readonly #root: string;
  readonly #name: string;
  readonly #deadlineMs: number;
  readonly #lists = new Map<string, Entry[]>();
  readonly #wanted = new Map<string, Wanted>();

  constructor(pool: LanePool, root: string, name: 'sys' | 'proc', deadlineMs: number) {
    this.#pool = pool;
    this.#root = root;
    this.#name = name;
    this.#deadlineMs = deadlineMs;
  }

  /** Entries of a directory, itself noted as one; empty (and a fault) where it cannot be listed. */
  async list(dir: string, owner: string, optional = false): Promise<Entry[]> {
    const known = this.#lists.get(dir);
    if (known !== undefined) return known;
    const [outcome] = await this.#pool.run(
      [{ owner, item: { op: 'list', dirs: [this.#absolute(dir)] } }],
      this.#deadlineMs,
    );
    const result = outcome?.op === 'list' ? outcome.dirs[0] : undefined;
    const entries = Array.isArray(result) ? result : [];
    this.#lists.set(dir, entries);
    if (Array.isArray(result)) this.#note(dir, { dir: true });
    else if (!optional || result === undefined) this.#fault(dir, 'list', result);
    return entries;
  }

  /** Entries of a directory that is not noted unless something below it is; other people's processes are no fault. */
  async peek(dir: string, owner: string): Promise<Entry[]> {
    const [outcome] = await this.#pool.run(
      [{ owner, item: { op: 'list', dirs: [this.#absolute(dir)] } }],
      this.#deadlineMs,
    );
    const result = outcome?.op === 'list' ? outcome.dirs[0] : undefined;
    return Array.isArray(result) ? result : [];
  }

  /** The place without links that a path leads to, links on the way noted; undefined where it leads nowhere or out of the tree. */
  async canonical(path: string, owner: string): Promise<string | undefined> {
    let at = '';
    let rest = path.split('/').filter((part) => part !== '');
    for (let links = 0; rest.length > 0; ) {
      const [part, ...after] = rest as [string, ...string[]];
      rest = after;
      if (part === '..') {
        if (at === '') return undefined;
        at = posix.dirname(at) === '.' ? '' : posix.dirname(at);
        continue;
      }
      const entry = (await this.list(at, owner, true)).find(({ name }) => name === part);
      if (entry === undefined) return undefined;
      const full = at === '' ? part : `${at}/${part}`;
      if (entry.kind !== 'link') {
        at = full;
        continue;
      }
      if (!this.link(full, entry) || ++links > MOST_LINKS) return undefined;
      rest = [...(entry.target as string).split('/').filter((p) => p !== '' && p !== '.'), ...rest];
    }
    return at;
  }

  /** Notes a link of the tree; false for one that leads out of it. */
  link(path: string, entry: Entry): boolean {
    const { target } = entry;
    if (target === undefined || target.startsWith('/')) return false;
    this.#note(path, { link: target });
    return true;
  }

  /** A link whose target is only a text to us: `/proc/PID/fd/N`. */
  text(path: string, target: string): void {
    this.#note(path, { link: target });
  }

  /** Has a file read with all others. `path` is canonical. */
  want(path: string, owner: string, gate?: string): void {
    if (this.#wanted.has(path)) return;
    this.#wanted.set(path, { path, owner, ...(gate === undefined ? {} : { gate: this.#absolute(gate) }) });
  }

  /** Everything below a directory to the depth given; `take` says which files, by path relative to it. */
  async deep(
    dir: string,
    owner: string,
    depth: number,
    take: (relative: string) => boolean,
    gate: (relative: string) => string | undefined = () => undefined,
    prefix = '',
  ): Promise<void> {
    for (const entry of await this.list(dir, owner, true)) {
      const relative = `${prefix}${entry.name}`;
      const path = `${dir}/${entry.name}`;
      if (entry.kind === 'link') this.link(path, entry);
      else if (entry.kind === 'file') {
        if (take(relative)) this.want(path, owner, gate(relative));
      } else if (depth > 1) await this.deep(path, owner, depth - 1, take, gate, `${relative}/`);
    }
  }

  /** Reads what is wanted: one item a file, so that a file that hangs is known by name. */
  async read(): Promise<void> {
    const wanted = [...this.#wanted.values()];
    this.#wanted.clear();
    const outcomes = await this.#pool.run(
      wanted.map(({ path, owner, gate }) => {
        const files = [this.#absolute(path)];
        const item: Item = gate === undefined ? { op: 'read', files } : { op: 'read', files, gate };
        return { owner, item };
      }),
      this.#deadlineMs,
    );
    const hung = new Set<string>();
    wanted.forEach(({ path, owner }, i) => {
      const answered = outcomes[i]?.op === 'read';
      if (!answered && hung.has(owner)) this.#untried(path);
      else this.#took(path, outcomes[i]);
      if (!answered) hung.add(owner);
    });
  }

  #took(path: string, outcome: Outcome | undefined): void {
    if (outcome?.op !== 'read') this.#fault(path, 'read', undefined);
    else if (outcome.asleep) this.faults.push({ path: `${this.#name}/${path}`, op: 'read', errno: 'ASLEEP' });
    else {
      const result = outcome.files[0];
      if (result instanceof Uint8Array) this.#note(path, { bytes: result.slice() });
      else this.#fault(path, 'read', result);
    }
  }

  /** Nothing more is asked of a card once one of its files hangs. */
  #untried(path: string): void {
    this.faults.push({ path: `${this.#name}/${path}`, op: 'read', errno: 'UNTRIED' });
  }

  #fault(path: string, op: Fault['op'], errno: number | undefined): void {
    this.faults.push({ path: `${this.#name}/${path}`, op, errno: errno === undefined ? 'TIMEOUT' : errnoName(errno) });
  }

  #note(path: string, content: Content): void {
    const full = path === '' ? this.#name : `${this.#name}/${path}`;
    if (!this.contents.has(full)) this.contents.set(full, content);
  }

  #absolute(path: string): string {
    return path === '' ? this.#root : `${this.#root}/${path}`;
  }
}
