import { configurationError } from '../../base/errors.ts';
import type { Condition, Policy, Threshold, Window } from '../../model/policy.ts';
import { canonical, fingerprint } from './canonical.ts';
import { compileCondition } from './condition.ts';
import { buildVocabulary } from './vocabulary.ts';

/** What a policy's conditions take from other files: with it they can be compiled again when those have changed or gone. */
export interface Uses {
  thresholds: readonly Threshold[];
  windows: readonly Window[];
  /** Zone of `time.*`. */
  zone?: string;
}

/** A policy that knows what it was made of. */
export interface LoadedPolicy extends Policy {
  readonly uses: Uses;
}

const NO_USES: Uses = { thresholds: [], windows: [] };

/** As JSON can hold it: conditions as source. */
function plain({ when, until, ...rest }: Omit<Policy, 'version'>): Record<string, unknown> {
  return {
    uses: NO_USES,
    ...rest,
    ...(when === undefined ? {} : { when: when.source }),
    ...(until === undefined ? {} : { until: until.source }),
  };
}

/**
 * Fingerprint of all that decides. Comments, the description and the place in the file do not: an edit of those must not make
 * a new version that open cases do not have.
 */
export function versionOf(policy: Omit<Policy, 'version'>): string {
  const { at: _at, description: _description, ...rest } = policy;
  return fingerprint(plain(rest as Omit<Policy, 'version'>));
}

/** One line of JSON from which `revivePolicy` makes the policy again, whatever became of its file. */
export function serializePolicy(policy: Policy): string {
  return canonical({ ...plain(policy), version: policy.version });
}

interface Serialized extends Omit<LoadedPolicy, 'when' | 'until'> {
  when?: unknown;
  until?: unknown;
}

/**
 * A policy as it was when `serializePolicy` wrote it down, its conditions compiled anew.
 * @throws POLICY_SOURCE_INVALID (configuration) for what this version cannot read, such as a variable that is no more
 */
export function revivePolicy(source: string): LoadedPolicy {
  const { when, until, ...rest } = parse(source);
  const vocabulary = buildVocabulary({
    thresholds: new Map(rest.uses.thresholds.map((one) => [one.name, one])),
    windows: new Map(rest.uses.windows.map((one) => [one.name, one])),
    ...(rest.uses.zone === undefined ? {} : { zone: rest.uses.zone }),
  });
  const compile = (key: string, condition: unknown): Condition => {
    const { condition: compiled, errors } = compileCondition(condition, vocabulary);
    if (compiled !== undefined) return compiled;
    throw unreadable(`${rest.name}: ${key}: ${errors[0]?.message ?? 'cannot be compiled'}`);
  };
  return {
    ...rest,
    ...(when === undefined ? {} : { when: compile('when', when) }),
    ...(until === undefined ? {} : { until: compile('until', until) }),
  };
}

function parse(source: string): Serialized {
  let value: Partial<Serialized> | null;
  try {
    value = JSON.parse(source) as Partial<Serialized> | null;
  } catch (cause) {
    throw unreadable('it is not JSON', cause);
  }
  const complete =
    typeof value?.name === 'string' &&
    typeof value.version === 'string' &&
    Array.isArray(value.do) &&
    Array.isArray(value.on) &&
    Array.isArray(value.uses?.thresholds) &&
    Array.isArray(value.uses.windows);
  if (!complete) throw unreadable('parts of it are missing');
  return value as Serialized;
}

function unreadable(why: string, cause?: unknown): Error {
  return configurationError(
    'POLICY_SOURCE_INVALID',
    `a policy as the ledger kept it cannot be read: ${why}`,
    'Its cases are given back at the end of their lease; nightshift revert does it now.',
    cause === undefined ? {} : { cause },
  );
}
