import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { type Clock, type Stoppable, systemClock } from './clock.ts';

export type Compare = (password: string, hash: string) => Promise<boolean>;

export interface BcryptThread {
  compare: Compare;
  stop(): Promise<void>;
}

/** The thread's program. CommonJS text, so that it runs alike from sources and from the compiled package. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const bcrypt = require(workerData);
parentPort.on('message', ({ id, password, hash }) => {
  let answer;
  try { answer = { id, same: bcrypt.compareSync(password, hash) }; } catch (error) { answer = { id, failure: String(error) }; }
  parentPort.postMessage(answer);
});`;

/** After this long without work the thread ends and gives its memory back, ms. */
const IDLE_MS = 10_000;

interface Job {
  resolve(same: boolean): void;
  reject(error: Error): void;
}

/**
 * bcrypt off the main thread: pure JavaScript holds its thread for the tenths of a second that a hash takes, in which
 * no scrape would be answered and no sample taken. One thread, started when needed, one hash at a time.
 */
export function bcryptThread(clock: Clock = systemClock): BcryptThread {
  const bcryptPath = createRequire(import.meta.url).resolve('bcryptjs');
  const jobs = new Map<number, Job>();
  let worker: Worker | undefined;
  let idle: Stoppable | undefined;
  let lastId = 0;

  function finish(id: number): Job | undefined {
    const job = jobs.get(id);
    jobs.delete(id);
    if (jobs.size === 0) {
      worker?.unref();
      idle = clock.timer(IDLE_MS, () => void stop());
    }
    return job;
  }

  function start(): Worker {
    const started = new Worker(PROGRAM, { eval: true, workerData: bcryptPath, name: 'bcrypt' });
    started.on('message', ({ id, same, failure }: { id: number; same?: boolean; failure?: string }) => {
      const job = finish(id);
      if (failure === undefined) job?.resolve(same === true);
      else job?.reject(new Error(failure));
    });
    started.on('error', (error) => end(started, error));
    started.on('exit', () => end(started, new Error('the bcrypt thread ended')));
    return started;
  }

  function end(ended: Worker, error: Error): void {
    if (worker !== ended) return;
    worker = undefined;
    const open = [...jobs.values()];
    jobs.clear();
    for (const job of open) job.reject(error);
  }

  async function stop(): Promise<void> {
    idle?.stop();
    const stopping = worker;
    if (!stopping) return;
    end(stopping, new Error('the bcrypt thread was stopped'));
    await stopping.terminate();
  }

  return {
    compare(password, hash) {
      idle?.stop();
      worker ??= start();
      worker.ref();
      const id = ++lastId;
      const answer = new Promise<boolean>((resolve, reject) => jobs.set(id, { resolve, reject }));
      worker.postMessage({ id, password, hash });
      return answer;
    },
    stop,
  };
}
