import type { Entry } from '../files/entry.ts';
import { devicePath } from '../files/paths.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import { renderNode } from '../tree.ts';

/** Which files a node has, as somebody finds them who opens a path. */
export interface TreeIndex {
  /** Where a path leads when links are followed in every part of it; undefined where it leads to no file, or out of the tree. */
  resolve(path: string): string | undefined;
  entry(path: string): Extract<Entry, { content: unknown }> | undefined;
  /** Modes of all files, by path. */
  modes(): Map<string, number>;
}

const READ_ONLY = 0o444;
/** As many links as the kernel follows. */
const MOST_LINKS = 40;

interface Cached {
  generation: number;
  index: TreeIndex;
}
const cache = new WeakMap<NodeDescription, Cached>();

/** Kept until the topology changes: which files there are, their modes and links move with nothing else that can be written. */
export function treeIndex(node: NodeDescription): TreeIndex {
  const known = cache.get(node);
  if (known?.generation === node.generation) return known.index;
  const index = indexOf(renderNode(node));
  cache.set(node, { generation: node.generation, index });
  return index;
}

function indexOf(files: ReadonlyMap<string, Entry>): TreeIndex {
  const directories = new Set<string>(['']);
  for (const path of files.keys())
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end);
      if (directories.has(parent)) break;
      directories.add(parent);
    }
  const walk = (start: string, path: string, links: number): string | undefined => {
    let at = start;
    for (const part of path.split('/')) {
      if (part === '' || part === '.') continue;
      if (!directories.has(at)) return undefined;
      if (part === '..') {
        if (at === '') return undefined;
        at = parentOf(at);
        continue;
      }
      const next = at === '' ? part : `${at}/${part}`;
      const entry = files.get(next);
      if (entry && 'link' in entry) {
        const target = links < MOST_LINKS && !entry.link.startsWith('/') ? walk(at, entry.link, links + 1) : undefined;
        if (target === undefined) return undefined;
        at = target;
      } else if (entry || directories.has(next)) at = next;
      else return undefined;
    }
    return at;
  };
  const entryOf: TreeIndex['entry'] = (path) => {
    const entry = files.get(path);
    return entry && 'content' in entry ? entry : undefined;
  };
  return {
    resolve: (path) => {
      const found = path.startsWith('/') ? undefined : walk('', path, 0);
      return found !== undefined && entryOf(found) ? found : undefined;
    },
    entry: entryOf,
    modes: () => {
      const modes = new Map<string, number>();
      for (const [path, entry] of files) if ('content' in entry) modes.set(path, entry.mode ?? READ_ONLY);
      return modes;
    },
  };
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** The GPU whose device directory holds a resolved path, and the rest of the path: `hwmon/power1_cap` whatever the number of hwmon. */
export function ownerOf(node: NodeDescription, path: string): { gpu: Gpu; name: string } | undefined {
  const gpu = node.gpus.find((candidate) => path.startsWith(`${devicePath(candidate)}/`));
  if (!gpu) return undefined;
  return { gpu, name: path.slice(devicePath(gpu).length + 1).replace(/^hwmon\/hwmon\d+\//, 'hwmon/') };
}
