import { posix } from 'node:path';
import type { Entry } from '../../sim/tree.ts';

/** Reads a rendered tree as a file system would: links are followed in every part of a path. */
export interface Reader {
  text(path: string): string;
  bytes(path: string): Uint8Array;
  /** Where the path leads, or undefined where it leads nowhere. */
  resolve(path: string): string | undefined;
  list(path: string): string[];
}

export function reader(files: ReadonlyMap<string, Entry>): Reader {
  const children = new Map<string, Set<string>>();
  for (const path of files.keys()) {
    const parts = path.split('/');
    for (let depth = parts.length - 1; depth >= 0; depth--) {
      const parent = parts.slice(0, depth).join('/');
      if (!children.has(parent)) children.set(parent, new Set());
      children.get(parent)?.add(parts[depth] as string);
    }
  }
  const resolve = (path: string, hops = 0): string | undefined => {
    if (hops > 40) return undefined;
    let at = '';
    for (const part of posix.normalize(path).split('/')) {
      const next = at === '' ? part : `${at}/${part}`;
      const entry = files.get(next);
      if (entry && 'link' in entry) {
        const target = resolve(posix.join(posix.dirname(next), entry.link), hops + 1);
        if (target === undefined) return undefined;
        at = target;
      } else if (entry || children.has(next)) at = next;
      else return undefined;
    }
    return at;
  };
  const content = (path: string): string | Uint8Array => {
    const entry = files.get(resolve(path) ?? '');
    if (!entry || 'link' in entry) throw new Error(`no file ${path}`);
    return entry.content;
  };
  return {
    resolve: (path) => resolve(path),
    text: (path) => {
      const found = content(path);
      if (typeof found !== 'string') throw new Error(`${path} is binary`);
      return found;
    },
    bytes: (path) => {
      const found = content(path);
      if (typeof found === 'string') throw new Error(`${path} is text`);
      return found;
    },
    list: (path) => {
      const found = resolve(path);
      return found === undefined ? [] : [...(children.get(found) ?? [])].sort();
    },
  };
}

/** `key value` lines. */
export function properties(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ') as [string, string]),
  );
}
