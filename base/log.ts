import { writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import { type Clock, systemClock } from './clock.ts';
import { baseError, errnoOf, NightshiftError } from './errors.ts';
import { renderLogfmt } from './logfmt.ts';
import { CENSOR, redactText, SECRET_PATHS } from './redact.ts';

export { type OnceLog, onceLog } from './once-log.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export const LOG_FORMATS = ['logfmt', 'json'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export type Log = Logger;

/** Where finished lines go; a line ends with a newline. */
export interface LogDestination {
  write(line: string): void;
}

export interface LogOptions {
  level?: string;
  format?: string;
  destination?: LogDestination;
  clock?: Clock;
}

/** A logger that writes at once, in this thread. Unknown levels and formats are configuration errors. */
export function createLog(options: LogOptions = {}): Log {
  const { clock = systemClock } = options;
  const level = oneOf('level', options.level ?? 'info', LOG_LEVELS);
  const format = oneOf('format', options.format ?? 'logfmt', LOG_FORMATS);
  const destination = options.destination ?? stderrDestination(format);
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: serializeError },
      redact: { paths: [...SECRET_PATHS], censor: CENSOR },
    },
    { write: format === 'json' ? (line) => destination.write(redactText(line)) : logfmtWriter(destination) },
  );
}

/** A child whose lines all say which part of the program speaks. */
export function componentLog(log: Log, component: string): Log {
  return log.child({ component });
}

function oneOf<T extends string>(what: string, value: string, known: readonly T[]): T {
  const found = known.find((name) => name === value);
  if (found) return found;
  throw baseError('LOG_OPTION_INVALID', `log ${what} "${value}" is not known`, `Use one of ${known.join(', ')}.`);
}

function logfmtWriter(destination: LogDestination): (line: string) => void {
  return (line) => destination.write(`${redactText(renderLogfmt(JSON.parse(line)))}\n`);
}

/** An expected error needs no stack; anything else is of no use without one. */
function serializeError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const { name: type, message, stack } = thrown;
  if (!(thrown instanceof NightshiftError)) return { type, message, code: errnoOf(thrown), stack };
  const { code, fault, hint, at, problems, cause } = thrown;
  return {
    code,
    message,
    fault,
    hint: hint || undefined,
    at,
    problems: problems.length > 0 ? problems : undefined,
    cause: cause instanceof Error ? cause.message : undefined,
    stack: fault === 'bug' ? stack : undefined,
  };
}

/** How long one line may wait for a reader that does not read, ms. */
const PATIENCE = 50;

/**
 * Standard error, written synchronously so that the last words of a dying process are not lost. A reader that has gone, or
 * that stalls a non-blocking pipe for too long, costs lines (their number is told later), never the process.
 */
export function stderrDestination(
  format: LogFormat = 'logfmt',
  write: (bytes: Uint8Array) => number = (bytes) => writeSync(2, bytes),
): LogDestination {
  let lost = 0;
  return {
    write(line) {
      const record = { level: 'warn', msg: 'log lines were lost, nobody read them', lost };
      const note = lost > 0 ? `${format === 'json' ? JSON.stringify(record) : renderLogfmt(record)}\n` : '';
      if (writeAll(note + line, write)) lost = 0;
      else lost += 1;
    },
  };
}

function writeAll(text: string, write: (bytes: Uint8Array) => number): boolean {
  let rest: Uint8Array = Buffer.from(text);
  for (let waited = 0; rest.length > 0; ) {
    try {
      rest = rest.subarray(write(rest));
    } catch (error) {
      if (errnoOf(error) !== 'EAGAIN' || waited >= PATIENCE) return false;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      waited += 1;
    }
  }
  return true;
}
