import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Compare } from './bcrypt.ts';

export type AuthAnswer =
  | { outcome: 'granted'; user: string }
  | { outcome: 'denied' }
  /** Too many passwords wait to be checked: nothing is known about this one. */
  | { outcome: 'overloaded' };

export interface BasicAuth {
  /** Judges an Authorization header. */
  check(header: string | undefined): Promise<AuthAnswer>;
}

export interface BasicAuthOptions {
  /** Name → bcrypt hash, asked at every check, so that a reload acts at once. */
  users: () => ReadonlyMap<string, string>;
  compare: Compare;
  /** Proven credentials that are remembered. */
  cacheSize?: number;
  /** Different credentials that may wait for bcrypt at the same time. */
  maxPending?: number;
}

/** The challenge that goes with a 401. */
export const CHALLENGE = 'Basic realm="nightshift", charset="UTF-8"';

/** User and password of a Basic header; undefined where it is none. */
export function parseBasic(header: string | undefined): { user: string; password: string } | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/**
 * Basic authentication against bcrypt hashes. Credentials that were proven once are recognised by a keyed SHA-256 of user,
 * password and stored hash: a changed hash or a removed user is refused at once. Refusals are never remembered.
 */
export function basicAuth(options: BasicAuthOptions): BasicAuth {
  const { users, compare, cacheSize = 128, maxPending = 32 } = options;
  // With a key that nobody else knows, the time of a look-up says nothing about the digests that are stored.
  const key = randomBytes(32);
  const proven = new Map<string, Buffer>();
  const pending = new Map<string, Promise<boolean>>();

  function digest(...parts: string[]): Buffer {
    const hmac = createHmac('sha256', key);
    for (const part of parts) hmac.update(`${Buffer.byteLength(part)}:`).update(part);
    return hmac.digest();
  }

  /** An unknown user is compared as well, with a cost that a known one has, so that time does not tell who exists. */
  function decoy(user: string): string {
    const hashes = [...users().values()];
    const like = hashes[digest(user).readUInt32BE(0) % hashes.length];
    return `${like?.slice(0, 7) ?? '$2b$10$'}${'.'.repeat(53)}`;
  }

  function remember(id: string, mark: Buffer): void {
    proven.delete(id);
    proven.set(id, mark);
    if (proven.size > cacheSize) proven.delete(proven.keys().next().value!);
  }

  /** The same credentials asked twice at the same time cost one comparison. */
  function compareOnce(id: string, password: string, hash: string): Promise<boolean> {
    const running = pending.get(id);
    if (running) return running;
    const answer = compare(password, hash).finally(() => pending.delete(id));
    pending.set(id, answer);
    return answer;
  }

  return {
    async check(header) {
      const given = parseBasic(header);
      if (!given) return { outcome: 'denied' };
      const { user, password } = given;
      const stored = users().get(user);
      const hash = stored ?? decoy(user);
      const mark = digest(user, password, hash);
      const id = mark.toString('base64');
      const known = proven.get(id);
      if (stored !== undefined && known && timingSafeEqual(known, mark)) {
        remember(id, mark);
        return { outcome: 'granted', user };
      }
      if (pending.size >= maxPending && !pending.has(id)) return { outcome: 'overloaded' };
      const same = await compareOnce(id, password, hash);
      // The users may have changed while bcrypt was at work.
      if (!same || stored === undefined || users().get(user) !== stored) return { outcome: 'denied' };
      remember(id, mark);
      return { outcome: 'granted', user };
    },
  };
}
