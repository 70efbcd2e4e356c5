import { configurationError, environmentError, errnoOf, type NightshiftError, toError } from '../../base/errors.ts';

/** What can go wrong between a command and the actuator, each with what the person can do. */

/** Nobody is there, or the system does not let us through to it. */
export function unreachable(where: string, cause: unknown): NightshiftError {
  const errno = errnoOf(cause);
  if (errno === 'EACCES' || errno === 'EPERM') {
    return environmentError(
      'ACTUATOR_DENIED',
      `you may not speak to the actuator at ${where}`,
      'Use sudo, or become a member of the group that its folder belongs to.',
      { cause },
    );
  }
  const why = errno === 'ECONNREFUSED' || errno === 'ENOENT' ? '' : ` (${errno ?? toError(cause).message})`;
  return environmentError(
    'ACTUATOR_UNREACHABLE',
    `no actuator answers at ${where}${why}`,
    'Start it, or say where it is: --ledger or --actuator.url. What a dead one left is undone by: nightshift revert --offline.',
    { cause },
  );
}

/** An answer that is no success, by its status and what its body says. */
export function refused(where: string, status: number, body: unknown): NightshiftError {
  const { code, message } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const told = typeof message === 'string' ? message : `HTTP ${status}`;
  if (status === 401) {
    return configurationError(
      'ACTUATOR_DENIED',
      `the actuator at ${where} wants to know who you are`,
      'Give --web.bearer-token-file, or ask at its Unix socket: --actuator.url=unix:/path.',
    );
  }
  if (status === 403) {
    return configurationError(
      'ACTUATOR_DENIED',
      `the actuator at ${where} does this only for people who are known`,
      'Ask at its Unix socket (--ledger or --actuator.url=unix:/path, with sudo where its folder asks for it), or give --web.bearer-token-file.',
    );
  }
  if (status === 503) {
    return environmentError(
      'ACTUATOR_UNABLE',
      `the actuator at ${where} cannot do that now: ${told}`,
      'Nothing was changed; its log says more.',
    );
  }
  if (status >= 400 && status < 500 && typeof code === 'string') {
    return configurationError('ACTUATOR_REFUSED', told, HINTS[code] ?? 'See --help.');
  }
  return notOurs(where, `it answers HTTP ${status}`);
}

const HINTS: Readonly<Record<string, string>> = {
  POLICY_UNKNOWN: 'nightshift explain names those that are loaded.',
  CASE_UNKNOWN: 'nightshift cases shows those that are open.',
  GPU_UNKNOWN: 'Use a number or a PCI address.',
  NOTHING_TO_EXPLAIN: 'nightshift cases shows cases, nightshift explain all policies.',
  NOT_PAUSED: 'nightshift cases tells of pauses, and of the breaker, which --breaker closes.',
  TRIGGER_NOT_OPEN: 'It has ended by itself, or was about another GPU.',
};

export const notOurs = (where: string, why: string): NightshiftError =>
  environmentError('ACTUATOR_ANSWER', `what answers at ${where} is no actuator: ${why}`, 'Check --actuator.url.');
