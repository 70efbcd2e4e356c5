import { setTimeout as wait } from 'node:timers/promises';
import { refused, type WriteErrno, type WriteResult } from './driver/result.ts';

/** What a read or an opening can end in besides; the relay takes any name of errno(3) that Python knows. */
export type ReadErrno = WriteErrno | 'EAGAIN' | 'ENODATA' | 'ENODEV' | 'ENOMEM' | 'EREMOTEIO' | 'ETIME' | 'ETIMEDOUT';

/**
 * What happens to a file instead of what its driver says. `on`: reads or writes alone; both, where it is left out.
 *
 * - `errno`: fails; at open for EACCES, ENOENT and EROFS, else in the read or write itself.
 * - `delayMs`: answers as usual, that much later, or when the fault is cleared.
 * - `ignoreWrites`: every write succeeds and does nothing.
 * - `vanish`: the path and all below it is not there; descriptors opened before answer ENODEV for good.
 */
export type RelayFault =
  | { errno: ReadErrno; on?: 'read' | 'write' }
  | { delayMs: number; on?: 'read' | 'write' }
  | { ignoreWrites: true }
  | { vanish: true };

/** A fault in force, with a key by which a waiting access learns that it was cleared. */
interface Rule {
  key: number;
  pattern: string;
  fault: RelayFault;
  regex: RegExp;
  cleared: AbortController;
}

/** How the mounted side is told: expressions that JavaScript and Python read alike, and what to do where. */
export interface FaultOrder {
  key: number;
  match: string;
  vanish?: true;
  /** Names of errno. */
  openRead?: ReadErrno;
  openWrite?: ReadErrno;
  read?: ReadErrno;
  /** Seconds before a read is answered. */
  delay?: number;
}

const AT_OPEN: readonly string[] = ['EACCES', 'ENOENT', 'EROFS'];

/** The faults in force; of several that match a path the one set last wins. */
export class Faults {
  readonly #rules: Rule[] = [];
  #next = 1;

  set(pattern: string, fault: RelayFault): void {
    this.clear(pattern);
    const regex = new RegExp(`^${expressionOf(pattern, 'vanish' in fault)}$`);
    this.#rules.push({ key: this.#next++, pattern, fault, regex, cleared: new AbortController() });
  }

  /** Takes back what was set for this very pattern, or everything. */
  clear(pattern?: string): void {
    for (let at = this.#rules.length - 1; at >= 0; at--)
      if (pattern === undefined || this.#rules[at]?.pattern === pattern) this.#rules.splice(at, 1)[0]?.cleared.abort();
  }

  /** Suffers what is set on writes of a path. Undefined: now the driver is to answer. */
  async beforeWrite(path: string): Promise<WriteResult | undefined> {
    const rule = this.#rules.findLast(({ regex, fault }) => regex.test(path) && strikes(fault, 'write'));
    if (!rule) return undefined;
    const { fault, cleared } = rule;
    if ('errno' in fault) return refused(fault.errno as WriteErrno);
    if ('delayMs' in fault) await wait(fault.delayMs, undefined, { signal: cleared.signal }).catch(() => {});
    return 'ignoreWrites' in fault ? { ok: true, changed: [] } : undefined;
  }

  orders(): FaultOrder[] {
    return this.#rules.map(({ key, pattern, fault }) => {
      const order: FaultOrder = { key, match: expressionOf(pattern, 'vanish' in fault) };
      if ('vanish' in fault) return { ...order, vanish: true };
      const reading = strikes(fault, 'read');
      if ('delayMs' in fault) return reading ? { ...order, delay: fault.delayMs / 1000 } : order;
      if (!('errno' in fault)) return order;
      const { errno } = fault;
      if (!AT_OPEN.includes(errno)) return reading ? { ...order, read: errno } : order;
      return {
        ...order,
        ...(reading && { openRead: errno }),
        ...(strikes(fault, 'write') && { openWrite: errno }),
      };
    });
  }
}

function strikes(fault: RelayFault, access: 'read' | 'write'): boolean {
  if ('vanish' in fault) return false;
  return 'ignoreWrites' in fault ? access === 'write' : fault.on === undefined || fault.on === access;
}

/** `*` and `?` stay within one part of a path, `**` crosses parts, and `**` with its slash also matches no part at all. */
export function expressionOf(pattern: string, withBelow = false): string {
  const wild: Record<string, string> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };
  const body = pattern.replace(/\*\*\/|\*\*|\*|\?|[.+^${}()|[\]\\]/g, (token) => wild[token] ?? `\\${token}`);
  return withBelow ? `${body}(?:/.*)?` : body;
}
