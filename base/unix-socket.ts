import { lstatSync, statSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { baseError, errnoOf } from './errors.ts';
import { listenError } from './listen.ts';

/** How long another process may take to accept before it counts as living, ms. */
const ANSWER_MS = 500;

/** Removes a socket file that nobody serves any more. Throws where somebody does, or where the file is no socket. */
export async function clearStaleSocket(path: string): Promise<void> {
  const address = { kind: 'unix', path } as const;
  let isSocket: boolean;
  try {
    // A bind would tell a missing folder as a missing right.
    statSync(dirname(path));
  } catch (error) {
    throw listenError(address, error);
  }
  try {
    isSocket = lstatSync(path).isSocket();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return;
    throw listenError(address, error);
  }
  if (!isSocket) {
    const message = `cannot listen on unix:${path}: a file that is no socket stands there`;
    throw baseError('LISTEN_FAILED', message, 'Move it away or choose another path with --web.listen-address.');
  }
  if (await answers(path)) throw listenError(address, Object.assign(new Error('in use'), { code: 'EADDRINUSE' }));
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw listenError(address, error);
  }
}

/** Only a refused connection proves that nobody is there: a full queue or a missing right does not. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const done = (living: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(living);
    };
    const timer = setTimeout(done, ANSWER_MS, true);
    socket.once('connect', () => done(true));
    socket.once('error', (error) => done(!['ECONNREFUSED', 'ENOENT'].includes(errnoOf(error) ?? '')));
  });
}

/**
 * Runs `bind` so that a file it creates never has more than `mode`: setting the mode afterwards alone would leave a moment in
 * which anybody can connect. `bind` must create the file before it returns.
 */
export function withFileMode(mode: number, bind: () => void): void {
  // Threads share the mask of the process and may not set it.
  if (!isMainThread) {
    bind();
    return;
  }
  const before = process.umask(0o777 & ~mode);
  try {
    bind();
  } finally {
    process.umask(before);
  }
}
