import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { JobEnd, JobSignal, OnTerm } from '../jobs/job.ts';

/** Real processes that stand for jobs. The only module of the simulator that starts any. */

export interface Worker {
  readonly pid: number | undefined;
  kill(signal: JobSignal): void;
  /** It has saved, and ends with 0. */
  finish(): void;
}

export interface WorkerEvents {
  /** It is up and hears signals. */
  ready(): void;
  /** A signal came for which it did not end. */
  heard(signal: JobSignal): void;
  /** Once, however it ended; also where it could not be started. */
  ended(end: JobEnd): void;
}

export interface WorkerTerms {
  term: OnTerm;
  /** What `ps` shows of it. */
  title: string;
  environ: Readonly<Record<string, string>>;
}

export type StartWorker = (terms: WorkerTerms, on: WorkerEvents) => Worker;

/** Node 20 cannot run TypeScript: when we run from sources (tests), the child is the built one. */
function childModule(): string {
  const here = import.meta.url;
  const built = here.endsWith('.ts')
    ? new URL('../../dist/sim/jobs/child.js', here)
    : new URL('../jobs/child.js', here);
  return fileURLToPath(built);
}

/** It keeps nothing: the smallest heap that Node starts with. */
const V8_FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=16', '--single-threaded-gc', '--lite-mode'];

const living = new Set<ChildProcess>();
/** A child watches its channel too, which closes when we are killed. */
const killAll = (): void => {
  for (const child of living) child.kill('SIGKILL');
};

export const startChild: StartWorker = ({ term, title, environ }, on) => {
  const child: ChildProcess = fork(childModule(), [term, title], {
    execArgv: V8_FLAGS,
    env: environ,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  if (living.size === 0) process.once('exit', killAll);
  living.add(child);
  const end = (code: number | null, signal: string | null): void => {
    if (!living.delete(child)) return;
    if (living.size === 0) process.off('exit', killAll);
    on.ended({ code, signal });
  };
  child.on('message', (message) => {
    if (message === 'ready') on.ready();
    else if (message === 'SIGUSR1' || message === 'SIGTERM') on.heard(message);
  });
  child.once('exit', end);
  child.once('error', () => {
    if (child.pid === undefined) end(null, null);
  });
  child.unref();
  child.channel?.unref();
  return {
    pid: child.pid,
    kill: (signal) => void child.kill(signal),
    finish: () => {
      child.send?.('finish', () => {});
    },
  };
};
