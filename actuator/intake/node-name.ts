import { isIP } from 'node:net';
import { isLoopbackHost } from '../../base/listen.ts';

/** Whom an alert is about: this node, another one, or nobody said. */
export type Whose = 'ours' | 'other' | 'unsaid';

/**
 * Reads the label `node`, or without it the host part of `instance`, against our own name. An empty label is none, as in
 * Prometheus. A target that was scraped over loopback has an `instance` that names no node.
 */
export function whoseAlert(labels: Readonly<Record<string, string>>, node: string): Whose {
  const named = labels.node || hostOf(labels.instance ?? '');
  if (named === '' || isLoopbackHost(named)) return 'unsaid';
  return sameNode(named, node) ? 'ours' : 'other';
}

/**
 * Names are compared without regard to case and a closing dot. Where one of the two is short (has no dot), it is compared
 * with the first part of the other: hosts call themselves `mi300x-07`, and are scraped as `mi300x-07.lab.example`. Two
 * qualified names must be equal, and so must addresses.
 */
export function sameNode(one: string, other: string): boolean {
  const [a, b] = [plain(one), plain(other)];
  if (a === b) return true;
  if (isIP(a) !== 0 || isIP(b) !== 0 || a.includes('.') === b.includes('.')) return false;
  return firstPart(a) === firstPart(b);
}

const plain = (name: string): string => name.trim().toLowerCase().replace(/\.$/, '');
const firstPart = (name: string): string => name.split('.')[0] ?? '';

/** `host:port`, `[v6]:port`, a host alone, or a URL as probes have it. */
function hostOf(instance: string): string {
  const text = instance.trim().replace(/^[a-z][a-z0-9+.-]*:\/\//i, '');
  const [authority = ''] = text.split(/[/?#]/);
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(authority)?.[1];
  if (bracketed !== undefined) return bracketed;
  return isIP(authority) === 6 ? authority : authority.replace(/:\d*$/, '');
}
