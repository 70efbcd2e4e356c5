import { BASE_CODES, type BaseCode, type Fault } from './codes.ts';

export type { Fault } from './codes.ts';

/** A place in a file; line and column count from 1. */
export interface Place {
  file: string;
  line?: number;
  column?: number;
}

/** One of several things that are wrong at once. */
export interface Problem {
  message: string;
  at?: Place;
}

export interface ErrorDetails {
  code: string;
  fault: Fault;
  message: string;
  /** What to do about it, as a sentence; empty where nothing can be done. */
  hint?: string;
  at?: Place;
  problems?: readonly Problem[];
  cause?: unknown;
}

/** An error that says whose fault it is and what to do. `code` is stable and can be matched on. */
export class NightshiftError extends Error {
  readonly code: string;
  readonly fault: Fault;
  readonly hint: string;
  readonly at?: Place;
  readonly problems: readonly Problem[];

  constructor(details: ErrorDetails) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'NightshiftError';
    this.code = details.code;
    this.fault = details.fault;
    this.hint = details.hint ?? '';
    this.problems = details.problems ?? [];
    if (details.at) this.at = details.at;
  }
}

type Extra = Pick<ErrorDetails, 'at' | 'problems' | 'cause'>;

/** An error of the plumbing; the fault stands in the catalogue of codes. */
export function baseError(code: BaseCode, message: string, hint: string, extra: Extra = {}): NightshiftError {
  return new NightshiftError({ code, fault: BASE_CODES[code].fault, message, hint, ...extra });
}

function maker(fault: Fault) {
  return (code: string, message: string, hint: string, extra: Extra = {}): NightshiftError =>
    new NightshiftError({ code, fault, message, hint, ...extra });
}

export const configurationError: (code: string, message: string, hint: string, extra?: Extra) => NightshiftError =
  maker('configuration');
export const environmentError: (code: string, message: string, hint: string, extra?: Extra) => NightshiftError =
  maker('environment');
export const hardwareError: (code: string, message: string, hint: string, extra?: Extra) => NightshiftError =
  maker('hardware');
export const bugError: (code: string, message: string, hint: string, extra?: Extra) => NightshiftError = maker('bug');

/** 2 where the person who wrote flags or files must act (restarting does not help), otherwise 1. */
export function exitCode(error: unknown): 1 | 2 {
  return error instanceof NightshiftError && error.fault === 'configuration' ? 2 : 1;
}

/** Anything can be thrown; an Error comes back as itself. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  if (typeof thrown === 'string') return new Error(thrown);
  let text: string | undefined;
  try {
    text = JSON.stringify(thrown);
  } catch {
    // A circular object still has a name.
  }
  return new Error(text ?? String(thrown), { cause: thrown });
}

/** The errno name (`ENOENT`) or Node code of a system error. */
export function errnoOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** `file:line:column`, as far as known. */
export function formatPlace(at: Place): string {
  return [at.file, at.line, at.column].filter((part) => part !== undefined).join(':');
}

/** `file:line:column: message`. */
export function formatProblem(problem: Problem): string {
  return problem.at ? `${formatPlace(problem.at)}: ${problem.message}` : problem.message;
}

/** One line a person can act on: `CODE: message. hint`, with places in front of what is wrong there. */
export function describe(thrown: unknown): string {
  const error = toError(thrown);
  if (error instanceof NightshiftError) {
    const message = error.at ? `${formatPlace(error.at)}: ${error.message}` : error.message;
    const body = error.problems.length === 0 ? message : `${message}: ${error.problems.map(formatProblem).join('; ')}`;
    return oneLine(`${error.code}: ${sentence(body)} ${error.hint}`);
  }
  const errno = errnoOf(error);
  if (errno) return oneLine(sentence(error.message.startsWith(errno) ? error.message : `${errno}: ${error.message}`));
  return oneLine(`BUG: ${sentence(`${error.name}: ${error.message}`)} Please report it together with the log.`);
}

function sentence(text: string): string {
  return /[.!?]$/.test(text.trimEnd()) ? text.trimEnd() : `${text.trimEnd()}.`;
}

function oneLine(text: string): string {
  return text.replace(/[\s\x00-\x1f\x7f]+/g, ' ').trim();
}
