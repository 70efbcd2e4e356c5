import { rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { describe, environmentError, errnoOf, NightshiftError } from '../../base/errors.ts';
import { clearStaleSocket, withFileMode } from '../../base/unix-socket.ts';

/**
 * How a living node is spoken to: a Unix socket in its folder, open to its owner alone. One line of JSON asks for an event and one
 * line answers.
 */

const SOCKET = '.control';
/** What the kernel takes as the name of a socket. */
const LONGEST = 107;
const LONGEST_LINE = 4096;

const request = z.strictObject({
  event: z.string(),
  args: z.array(z.union([z.string(), z.number()])).max(10),
});
const answer = z.union([
  z.strictObject({ said: z.string() }),
  z.strictObject({
    code: z.string(),
    message: z.string(),
    hint: z.string(),
    fault: z.enum(['configuration', 'environment', 'hardware', 'bug']),
  }),
]);
type Answer = z.infer<typeof answer>;

export interface Spoken {
  event(name: string, ...args: (string | number)[]): string;
}

export class Console {
  readonly #path: string;
  readonly #node: Spoken;
  readonly #server: Server;
  readonly #connections = new Set<Socket>();

  constructor(dir: string, node: Spoken) {
    this.#path = socketPath(dir);
    this.#node = node;
    this.#server = createServer((connection) => this.#serve(connection));
  }

  async start(): Promise<void> {
    await clearStaleSocket(this.#path);
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).once('listening', resolve);
      withFileMode(0o600, () => this.#server.listen(this.#path));
    });
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections) connection.destroy();
    await closed;
    rmSync(this.#path, { force: true });
  }

  #serve(connection: Socket): void {
    this.#connections.add(connection);
    connection.on('error', () => {}); // told by 'close' too
    connection.once('close', () => this.#connections.delete(connection));
    let text = '';
    connection.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end >= 0) connection.end(`${JSON.stringify(this.#answer(text.slice(0, end)))}\n`);
      else if (text.length > LONGEST_LINE) connection.destroy();
    });
  }

  #answer(line: string): Answer {
    try {
      const { event, args } = request.parse(JSON.parse(line));
      return { said: this.#node.event(event, ...args) };
    } catch (error) {
      if (error instanceof NightshiftError)
        return { code: error.code, message: error.message, hint: error.hint, fault: error.fault };
      return { code: 'BUG', message: describe(error), hint: '', fault: 'bug' };
    }
  }
}

function socketPath(dir: string): string {
  const path = join(dir, SOCKET);
  if (Buffer.byteLength(path) <= LONGEST) return path;
  throw environmentError(
    'SIMULATION_SOCKET',
    `${path} is too long for a socket`,
    `Name a folder whose path has at most ${LONGEST - SOCKET.length - 1} bytes.`,
  );
}

/** Tells the node that lives in `dir` of an event; its answer. Throws what the node threw, or SIMULATION_NOT_RUNNING. */
export async function tell(dir: string, event: string, args: readonly (string | number)[]): Promise<string> {
  const path = socketPath(dir);
  const line = await new Promise<string>((resolve, reject) => {
    let text = '';
    const connection = connect(path, () => connection.write(`${JSON.stringify({ event, args })}\n`));
    connection.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    connection.once('end', () => resolve(text)).once('error', (cause) => reject(silent(dir, cause)));
  });
  const told = answer.parse(JSON.parse(line));
  if ('said' in told) return told.said;
  throw new NightshiftError(told);
}

function silent(dir: string, cause: Error): Error {
  const why = errnoOf(cause) === 'ENOENT' || errnoOf(cause) === 'ECONNREFUSED' ? '' : ` (${errnoOf(cause)})`;
  return environmentError(
    'SIMULATION_NOT_RUNNING',
    `no simulated node lives in ${dir}${why}`,
    `Start one: nightshift sim start ${dir}.`,
    { cause },
  );
}
