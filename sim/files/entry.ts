/** One file or link of a tree. `mode` is what the kernel gives the file, where that is not 0444. */
export type Entry = { content: string | Uint8Array; mode?: number } | { link: string };
export type Files = Map<string, Entry>;

/** Readable by all, writable by root; and a command that only root may read. */
export const WRITABLE = 0o644;
export const ROOT_ONLY = 0o400;

/** A place in the tree to which files are added. */
export interface Directory {
  readonly path: string;
  /** A text attribute: the newline that the kernel ends it with is added. */
  line(name: string, value: string | number | bigint, mode?: number): void;
  /** Text or bytes exactly as given. */
  raw(name: string, content: string | Uint8Array, mode?: number): void;
  /** A relative link to another path of the tree. */
  link(name: string, target: string): void;
  /** A link whose text is given, also outside the tree. */
  verbatimLink(name: string, text: string): void;
  within(name: string): Directory;
}

export function directory(files: Files, path: string): Directory {
  const add = (name: string, entry: Entry): void => {
    files.set(`${path}/${name}`, entry);
  };
  const raw = (name: string, content: string | Uint8Array, mode?: number): void =>
    add(name, mode === undefined ? { content } : { content, mode });
  return {
    path,
    raw,
    line: (name, value, mode) => raw(name, `${value}\n`, mode),
    link: (name, target) => add(name, { link: relative(`${path}/${name}`, target) }),
    verbatimLink: (name, text) => add(name, { link: text }),
    within: (name) => directory(files, `${path}/${name}`),
  };
}

/** How a link at `from` names `to`; both are paths from the root of the tree. */
function relative(from: string, to: string): string {
  const here = from.split('/').slice(0, -1);
  const there = to.split('/');
  let shared = 0;
  while (shared < here.length && shared < there.length - 1 && here[shared] === there[shared]) shared++;
  return [...here.slice(shared).map(() => '..'), ...there.slice(shared)].join('/');
}

export const hex = (value: number | bigint, digits = 0): string => `0x${value.toString(16).padStart(digits, '0')}`;
