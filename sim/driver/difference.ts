import type { Entry } from '../files/entry.ts';
import type { NodeDescription } from '../node.ts';
import { renderNode } from '../tree.ts';
import type { Answer } from './control.ts';
import { accepted, refused, type WriteResult } from './result.ts';

/** Runs a change that may show in any file, and finds by comparison which read otherwise now, came or went. */
export function withDifference(node: NodeDescription, change: () => Answer): WriteResult {
  const before = renderNode(node);
  const answer = change();
  if (typeof answer === 'string') return refused(answer);
  const after = renderNode(node);
  const paths = new Set([...before.keys(), ...after.keys()]);
  return accepted([...paths].filter((path) => !same(before.get(path), after.get(path))));
}

function same(one: Entry | undefined, other: Entry | undefined): boolean {
  if (!one || !other) return one === other;
  if ('link' in one || 'link' in other) return 'link' in one && 'link' in other && one.link === other.link;
  return one.mode === other.mode && bytes(one.content).equals(bytes(other.content));
}

const bytes = (content: string | Uint8Array): Buffer =>
  typeof content === 'string' ? Buffer.from(content) : Buffer.from(content);
