import { existsSync, realpathSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { configurationError, environmentError, errnoOf, toError } from '../base/errors.ts';
import { clearStaleSocket, withFileMode } from '../base/unix-socket.ts';
import { refused, type WriteResult } from './driver/result.ts';
import { expressionOf, Faults, type RelayFault } from './relay-faults.ts';
import { answerLine, type Request, readLines } from './relay-wire.ts';
import { isSimulatedTree } from './tree.ts';

export type { ReadErrno, RelayFault } from './relay-faults.ts';

/** Who answers for the node's files. Paths are relative to the root of the tree, their links resolved. */
export interface RelayTarget {
  /** One write. The files show what it changed when the promise resolves: a reader may look at once. */
  write(path: string, text: string): WriteResult | Promise<WriteResult>;
  /** A read of a file that matches `readsWithEffect`, before its content is given out. */
  read(path: string): WriteResult | Promise<WriteResult>;
  readonly readsWithEffect: readonly string[];
  /** Modes of files by path. One that is not listed is read-only, for root too. */
  modes(): ReadonlyMap<string, number>;
  /** What `write` or `read` threw: the access ended in EIO. */
  failed?(error: Error): void;
}

export interface Relay {
  readonly socket: string;
  /** Resolves when a file system of ours is mounted. */
  mounted(): Promise<void>;
  /** In force when the promise resolves. `*` and `?` stay within one part of a path, `**` crosses parts. The one set last wins. */
  fault(patterns: string | readonly string[], fault: RelayFault): Promise<void>;
  /** Takes back what was set for these very patterns, or everything; what waits goes on. */
  clear(patterns?: string | readonly string[]): Promise<void>;
  /** Tells the mounted side that files came or went. */
  refresh(): Promise<void>;
  /** Ends all connections, upon which the file system unmounts itself, and removes the socket. */
  close(): Promise<void>;
}

const PYTHON = '/usr/bin/python3';
/** Beside the source, also when this file runs from the build. */
const PROGRAMS = ['fuse.py', '../../sim/fuse.py'].map((path) => fileURLToPath(new URL(path, import.meta.url)));

/**
 * The command that shows the node in DIR at MOUNT, an empty directory, and sends every write through SOCKET. It stays in the
 * foreground, prints `{"ready": true}` when it is mounted, unmounts on SIGTERM, and leaves when the relay does. Debian's own
 * interpreter, for another would not see Debian's python3-fusepy.
 */
export function relayCommand(dir: string, mount: string, socket: string): string[] {
  const program = PROGRAMS.find((path) => existsSync(path)) ?? (PROGRAMS[0] as string);
  return [PYTHON, '-I', program, dir, mount, socket];
}

/**
 * Serves a file system that `relayCommand` mounts: over a Unix socket that nobody else may open, line by line. Throws where DIR was
 * not written by the simulator, or where the socket cannot be made.
 */
export async function startRelay(dir: string, socket: string, target: RelayTarget): Promise<Relay> {
  if (!isSimulatedTree(dir)) {
    const hint = 'Name the folder in which the simulator runs.';
    throw configurationError('SIMULATION_FOREIGN_FOLDER', `${dir} holds no simulated node`, hint);
  }
  const service = new Service(realpathSync(dir), target);
  await service.listen(socket);
  const each = (patterns: string | readonly string[], act: (pattern: string) => void): Promise<void> => {
    for (const pattern of typeof patterns === 'string' ? [patterns] : patterns) act(pattern);
    return service.refresh();
  };
  return {
    socket,
    mounted: () => service.mounted.promise,
    fault: (patterns, fault) => each(patterns, (pattern) => service.faults.set(pattern, fault)),
    clear: (patterns) =>
      patterns === undefined
        ? each([''], () => service.faults.clear())
        : each(patterns, (pattern) => service.faults.clear(pattern)),
    refresh: () => service.refresh(),
    close: () => service.close(socket),
  };
}

class Service {
  readonly faults = new Faults();
  readonly mounted = new Moment();
  readonly #dir: string;
  readonly #target: RelayTarget;
  readonly #server: Server;
  readonly #connections = new Set<Socket>();
  /** Mounted sides, each with the orders that it has not confirmed. */
  readonly #mounts = new Map<Socket, Map<number, () => void>>();
  #order = 0;

  constructor(dir: string, target: RelayTarget) {
    this.#dir = dir;
    this.#target = target;
    this.#server = createServer((connection) => this.#serve(connection));
  }

  async listen(socket: string): Promise<void> {
    try {
      await clearStaleSocket(socket);
      await new Promise<void>((resolve, reject) => {
        this.#server.once('error', reject).once('listening', resolve);
        withFileMode(0o600, () => this.#server.listen(socket));
      });
    } catch (cause) {
      const why = errnoOf(cause) ?? toError(cause).message;
      const hint = 'Choose a path of at most 107 bytes in a folder of your own.';
      throw environmentError('SIMULATION_SOCKET', `no relay at ${socket}: ${why}`, hint, { cause });
    }
  }

  #serve(connection: Socket): void {
    this.#connections.add(connection);
    connection.on('error', () => {}); // told by 'close' too
    connection.once('close', () => {
      this.#connections.delete(connection);
      for (const confirm of this.#mounts.get(connection)?.values() ?? []) confirm();
      this.#mounts.delete(connection);
    });
    readLines(connection, (request) => this.#answer(connection, request));
  }

  async #answer(connection: Socket, request: Request): Promise<void> {
    if (request.op === 'attach') return this.#attach(connection, request.dir);
    if (request.op === 'done') return this.#mounts.get(connection)?.get(request.order)?.();
    if (request.op === 'ready') return this.mounted.resolve();
    connection.write(answerLine(await this.#access(request)));
  }

  async #access(request: Extract<Request, { path: string }>): Promise<WriteResult> {
    if (!isInside(request.path)) return refused('ENOENT');
    try {
      if (request.op === 'read') return await this.#target.read(request.path);
      return (await this.faults.beforeWrite(request.path)) ?? (await this.#target.write(request.path, request.text));
    } catch (error) {
      this.#target.failed?.(toError(error));
      return refused('EIO');
    }
  }

  /** A file system of another folder is not ours to answer for. */
  #attach(connection: Socket, dir: string): void {
    if (dir !== this.#dir) {
      connection.end(`${JSON.stringify({ error: `this relay serves ${this.#dir}, not ${dir}` })}\n`);
      return;
    }
    this.#mounts.set(connection, new Map());
    void this.#tell(connection);
  }

  async refresh(): Promise<void> {
    await Promise.all([...this.#mounts.keys()].map((connection) => this.#tell(connection)));
  }

  /** Sends all that the mounted side goes by; resolves when it does, or when it is gone. */
  #tell(connection: Socket): Promise<void> {
    const order = ++this.#order;
    const waiting = this.#mounts.get(connection);
    return new Promise((resolve) => {
      waiting?.set(order, () => {
        waiting.delete(order);
        resolve();
      });
      const state = {
        order,
        faults: this.faults.orders(),
        asked: this.#target.readsWithEffect.map((pattern) => expressionOf(pattern)),
        modes: Object.fromEntries([...this.#target.modes()].filter(([, mode]) => mode !== 0o444)),
      };
      connection.write(`${JSON.stringify(state)}\n`);
    });
  }

  async close(socket: string): Promise<void> {
    this.faults.clear();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections) connection.destroy();
    await closed;
    rmSync(socket, { force: true });
    this.mounted.reject(new Error('the relay was closed before anything was mounted'));
  }
}

/** Something that happens once, or fails to. */
class Moment {
  resolve: () => void = () => {};
  reject: (error: Error) => void = () => {};
  readonly promise = new Promise<void>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });

  constructor() {
    // Nobody need wait for it.
    this.promise.catch(() => {});
  }
}

/** A path as the kernel hands it to a file system: no way out of the tree can be spelt. */
function isInside(path: string): boolean {
  const parts = path.split('/');
  return (parts[0] === 'sys' || parts[0] === 'proc') && !parts.some((part) => ['', '.', '..'].includes(part));
}
