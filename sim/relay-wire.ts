import type { Socket } from 'node:net';
import type { WriteResult } from './driver/result.ts';

/** What goes over the relay's socket: one JSON document a line, answered in order on the same connection. */

export type Request =
  | { op: 'write'; path: string; text: string }
  | { op: 'read'; path: string }
  /** The connection of a mounted side, over which it is told what to go by. */
  | { op: 'attach'; dir: string }
  | { op: 'ready' }
  | { op: 'done'; order: number };

/** A page of the kernel in base64, a path, and room. */
const LONGEST_LINE = 65_536;

/** Hands requests on one after another. Whoever sends something else is cut off. */
export function readLines(connection: Socket, answer: (request: Request) => Promise<void>): void {
  let rest = '';
  let last: Promise<void> = Promise.resolve();
  connection.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() as string;
    for (const line of lines) {
      const request = line.length <= LONGEST_LINE ? parseRequest(line) : undefined;
      if (!request) {
        connection.destroy();
        return;
      }
      last = last.then(() => answer(request));
    }
    if (rest.length > LONGEST_LINE) connection.destroy();
  });
}

/** Undefined where the line is no request. */
export function parseRequest(line: string): Request | undefined {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { op, path, data, dir, order } = (json ?? {}) as Record<string, unknown>;
  if (op === 'write' && isPath(path) && typeof data === 'string')
    return { op, path, text: Buffer.from(data, 'base64').toString('utf8') };
  if (op === 'read' && isPath(path)) return { op, path };
  if (op === 'attach' && typeof dir === 'string') return { op, dir };
  if (op === 'done' && typeof order === 'number') return { op, order };
  return op === 'ready' ? { op } : undefined;
}

const isPath = (path: unknown): path is string => typeof path === 'string' && path !== '' && !path.includes('\0');

export function answerLine(result: WriteResult): string {
  return `${JSON.stringify(result.ok ? { ok: true } : { ok: false, errno: result.errno })}\n`;
}
