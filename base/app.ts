import { constants } from 'node:os';
import { type Clock, systemClock } from './clock.ts';
import { describe, exitCode, NightshiftError, toError } from './errors.ts';
import { Lifecycle } from './lifecycle.ts';
import type { Log } from './log.ts';

export { Lifecycle, startOrRelease } from './lifecycle.ts';

/** What a daemon needs of its process; tests pass their own. */
export interface Host {
  on(event: string, listener: (value: unknown) => void): unknown;
  off(event: string, listener: (value: unknown) => void): unknown;
  exit(code: number): unknown;
}

/** The part of a running daemon that its components may use. */
export interface Daemon {
  life: Lifecycle;
  /** Ends the process for an error that it cannot live with. */
  fail(error: unknown): void;
}

export interface RunOptions {
  /** Starts everything, registering each release on `life` as soon as there is something to release. */
  start: (daemon: Daemon) => unknown;
  /** SIGHUP. An error is logged and changes nothing. */
  reload?: () => unknown;
  log: Log;
  /** Time from the signal to the exit, ms. */
  stopMs?: number;
  clock?: Clock;
  host?: Host;
}

type Ending = { signal: 'SIGTERM' | 'SIGINT' } | { error: unknown };

/** Nothing else need hold the event loop: a daemon runs until it is told to stop. */
const HEARTBEAT_MS = 3_600_000;

/**
 * Runs a daemon: SIGTERM and SIGINT release everything and exit, a second one exits at once; SIGHUP reloads. Exits with 0
 * after a clean stop, 2 for a configuration error, 1 for any other, also one while stopping. Returns the code after `exit`,
 * which in a real process does not return.
 */
export async function runUntilSignal(options: RunOptions): Promise<number> {
  const { start, reload, log, stopMs = 900, clock = systemClock, host = process as Host } = options;
  const life = new Lifecycle(clock);
  const heartbeat = clock.every(HEARTBEAT_MS, () => undefined, { keepAlive: true });
  let end: (ending: Ending) => void = () => undefined;
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  const reloads = reloadQueue(reload, log);
  const listeners = listenTo(host, { end, reload: reloads.ask });

  // Not awaited alone: a signal may come while the start still hangs.
  void (async () => {
    try {
      await start({ life, fail: (error) => end({ error }) });
      if (!life.ended) reloads.open();
    } catch (error) {
      end({ error });
    }
  })();

  const ending = await ended;
  if ('signal' in ending) log.info({ signal: ending.signal }, 'stopping');
  else logFatal(log, ending.error);
  const errors = await life.release(stopMs);
  for (const error of errors) log.warn({ err: error }, 'while stopping');
  heartbeat.stop();
  const code = 'error' in ending ? exitCode(ending.error) : errors.length > 0 ? 1 : 0;
  log.info({ code }, 'stopped');
  listeners.stop();
  host.exit(code);
  return code;
}

function logFatal(log: Log, thrown: unknown): void {
  const error = toError(thrown);
  if (error instanceof NightshiftError && error.fault !== 'bug') log.error(describe(error));
  else log.error({ err: error }, describe(error));
}

/** One reload at a time; those asked for meanwhile, or before the start is through, become one more afterwards. */
function reloadQueue(reload: (() => unknown) | undefined, log: Log): { ask(): void; open(): void } {
  let open = false;
  let running = false;
  let asked = false;
  async function run(): Promise<void> {
    if (!open || running || !asked) return;
    running = true;
    while (asked) {
      asked = false;
      try {
        await reload?.();
        log.info(reload ? 'reloaded' : 'nothing to reload');
      } catch (error) {
        log.error(`reload failed, what was in force stays: ${describe(error)}`);
      }
    }
    running = false;
  }
  return {
    ask() {
      asked = true;
      void run();
    },
    open() {
      open = true;
      void run();
    },
  };
}

function listenTo(host: Host, on: { end(ending: Ending): void; reload(): void }): { stop(): void } {
  let stopping = false;
  const terminate = (signal: 'SIGTERM' | 'SIGINT') => () => {
    if (stopping) host.exit(128 + constants.signals[signal]);
    stopping = true;
    on.end({ signal });
  };
  const crash = (error: unknown) => on.end({ error });
  const listeners: [string, (value: unknown) => void][] = [
    ['SIGTERM', terminate('SIGTERM')],
    ['SIGINT', terminate('SIGINT')],
    ['SIGHUP', on.reload],
    ['uncaughtException', crash],
    ['unhandledRejection', crash],
  ];
  for (const [event, listener] of listeners) host.on(event, listener);
  return {
    stop() {
      for (const [event, listener] of listeners) host.off(event, listener);
    },
  };
}
