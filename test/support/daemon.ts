import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** The built command; tests of processes run what users run. */
export const NIGHTSHIFT = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface Daemon {
  readonly child: ChildProcess;
  readonly pid: number;
  /** All that it has written to standard error so far. */
  log(): string;
  /** Resolves when a line of the log contains this; rejects when the process ends before. */
  says(text: string): Promise<void>;
  /** Signals, waits for the end, and tells how it ended and how long that took. */
  stop(signal?: NodeJS.Signals): Promise<Ending>;
  ended: Promise<Ending>;
}

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** From the signal, or from the start where there was none. */
  ms: number;
}

/** Runs a program, by default `nightshift`, until it ends or the test does. */
export function daemon(args: readonly string[], command: readonly string[] = [process.execPath, NIGHTSHIFT]): Daemon {
  const [program, ...before] = command as [string, ...string[]];
  let since = performance.now();
  const child = spawn(program, [...before, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  let isOver = false;
  const listeners = new Set<() => void>();
  const take = (chunk: Buffer): void => {
    log += chunk;
    for (const listener of listeners) listener();
  };
  child.stderr?.on('data', take);
  child.stdout?.on('data', take);
  const ended = once(child, 'exit').then(([code, signal]): Ending => {
    isOver = true;
    return { code, signal, ms: performance.now() - since };
  });
  onTestFinished(async () => {
    if (isOver) return;
    child.kill('SIGKILL');
    await ended;
  });
  return {
    child,
    get pid() {
      return child.pid as number;
    },
    log: () => log,
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!log.includes(text)) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
        void ended.then(() => reject(new Error(`it ended without saying "${text}": ${log}`)));
      }),
    stop(signal = 'SIGTERM') {
      since = performance.now();
      child.kill(signal);
      return ended;
    },
    ended,
  };
}

/** A port of loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Processes whose parent this is. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && statusOf(Number(name))?.parent === pid)
    .map(Number);
}

/** Whether the process runs; one that has ended and was not collected does not. */
export function isRunning(pid: number): boolean {
  const state = statusOf(pid)?.state;
  return state !== undefined && state !== 'Z' && state !== 'X';
}

function statusOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state = '', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
