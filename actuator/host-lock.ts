import { realpathSync, statSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { z } from 'zod';
import { environmentError, errnoOf, type NightshiftError } from '../base/errors.ts';

/**
 * One writer for each host and tree of cards. The lock is a Unix socket in the abstract name space (unix(7)): the kernel
 * takes it away with its process, however that ends, and no file stays behind. Its name holds device and inode of the
 * resolved sysfs root, so that a simulated tree is another one than the host's, and two paths to one tree are the same.
 *
 * Abstract names belong to a network name space: an actuator in a container is seen where it uses the host's network. Any
 * user can take a name, and so keep an actuator from starting; no user can take one away from it.
 */

const holder = z.object({ pid: z.number().int().positive(), ledger: z.string() });
/** Who holds a lock, as it says itself. */
export type Holder = z.infer<typeof holder>;

export interface HostLock {
  /** Gives the lock back; it is free when this resolves. */
  release(): Promise<void>;
}

/** How long a holder may take to say who it is, and a visitor to hear it, ms. */
const ANSWER_MS = 500;
const LONGEST_ANSWER = 8_192;
/** A holder that dies between our two looks is tried again so often. */
const TRIES = 5;

/**
 * Takes the lock for the cards below `sysfs`. Throws HOST_LOCK_HELD, which says by whom, HOST_LOCK_FAILED where the system
 * has no such sockets or `sysfs` is not there. It keeps no process alive.
 */
export async function takeHostLock(sysfs: string, self: Holder): Promise<HostLock> {
  const name = nameOf(sysfs);
  for (let tries = 1; ; tries += 1) {
    const server = await listen(name, self, sysfs);
    if (server) return server;
    const answer = await ask(name);
    if (answer !== 'nobody' || tries === TRIES) throw held(sysfs, answer);
  }
}

/** Who acts on the cards below `sysfs`: `unknown` where somebody does and does not say who, undefined where nobody does. */
export async function hostLockHolder(sysfs: string): Promise<Holder | 'unknown' | undefined> {
  const answer = await ask(nameOf(sysfs));
  return answer === 'nobody' ? undefined : answer;
}

function nameOf(sysfs: string): string {
  try {
    const { dev, ino } = statSync(realpathSync(sysfs), { bigint: true });
    return `\0nightshift-actuator/${dev}/${ino}`;
  } catch (error) {
    throw failed(sysfs, `it cannot be found (${errnoOf(error)})`, error);
  }
}

/** Undefined where the name is taken. */
function listen(name: string, self: Holder, sysfs: string): Promise<HostLock | undefined> {
  const visitors = new Set<Socket>();
  const server: Server = createServer((socket) => {
    visitors.add(socket);
    socket.unref();
    socket.on('close', () => visitors.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setTimeout(ANSWER_MS, () => socket.destroy());
    socket.resume();
    socket.end(`${JSON.stringify(self)}\n`);
  });
  server.maxConnections = 32;
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      if (errnoOf(error) === 'EADDRINUSE') resolve(undefined);
      else reject(failed(sysfs, `${errnoOf(error)}`, error));
    });
    server.listen(name, () => {
      server.unref();
      resolve({
        release: () =>
          new Promise((done) => {
            server.close(() => done());
            for (const visitor of visitors) visitor.destroy();
          }),
      });
    });
  });
}

function ask(name: string): Promise<Holder | 'unknown' | 'nobody'> {
  return new Promise((resolve) => {
    const socket = connect(name);
    let text = '';
    const done = (answer: Holder | 'unknown' | 'nobody'): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => done('unknown'), ANSWER_MS);
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      text += chunk;
      if (text.length > LONGEST_ANSWER) done('unknown');
    });
    socket.once('end', () => done(read(text)));
    // Only a refusal proves that nobody is there.
    socket.on('error', (error) => done(errnoOf(error) === 'ECONNREFUSED' ? 'nobody' : 'unknown'));
  });
}

function read(text: string): Holder | 'unknown' {
  try {
    return holder.parse(JSON.parse(text));
  } catch {
    return 'unknown';
  }
}

function held(sysfs: string, by: Holder | 'unknown' | 'nobody'): NightshiftError {
  const who =
    typeof by === 'string'
      ? 'another process, which does not say who it is,'
      : `process ${by.pid} (ledger ${by.ledger})`;
  return environmentError(
    'HOST_LOCK_HELD',
    `${who} already acts on the cards of ${sysfs}`,
    'Two actuators would undo each other: ask the running one, or stop it first.',
  );
}

const failed = (sysfs: string, why: string, cause: unknown): NightshiftError =>
  environmentError('HOST_LOCK_FAILED', `the cards of ${sysfs} cannot be locked: ${why}`, 'Check --path.sysfs.', {
    cause,
  });
