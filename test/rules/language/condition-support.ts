import type { Fact, Scope, Threshold, TraceEntry, Truth, Window } from '../../../model/policy.ts';
import { type CompiledCondition, type ConditionError, compileCondition } from '../../../rules/language/condition.ts';
import { buildVocabulary, type Vocabulary } from '../../../rules/language/vocabulary.ts';

export const NOW = 1_000_000;

export const thresholds = new Map<string, Threshold>([
  ['junction_hot', { name: 'junction_hot', value: 85, unit: 'celsius', description: 'The junction is hot.' }],
]);
export const windows = new Map<string, Window>([
  ['night', { name: 'night', zone: 'Europe/Berlin', start: 1320, end: 360, days: [1, 2, 3, 4, 5, 6, 7] }],
]);
export const vocabulary: Vocabulary = buildVocabulary({ thresholds, windows, zone: 'Europe/Berlin' });

export type Values = Record<string, number | string | boolean | Fact>;

/** Values by path; what is not named is unknown. A value is one second old. */
export function scope(values: Values, now: number = NOW): Scope {
  return {
    now,
    get: (path) => {
      if (!Object.hasOwn(values, path)) return { unknown: 'no_reading' };
      const value = values[path]!;
      return typeof value === 'object' ? value : { value, at: now - 1000, source: 'test' };
    },
  };
}

export function compile(source: unknown, named: Record<string, unknown> = {}): CompiledCondition {
  const { condition, errors } = compileCondition(source, vocabulary, named);
  if (condition === undefined) throw new Error(JSON.stringify(errors));
  return condition;
}

export function evaluate(source: unknown, values: Values = {}, trace?: TraceEntry[]): Truth {
  return compile(source).evaluate(scope(values), trace);
}

export function errorsOf(source: unknown, named: Record<string, unknown> = {}): ConditionError[] {
  const { condition, errors } = compileCondition(source, vocabulary, named);
  if ((condition === undefined) !== errors.length > 0) throw new Error('either a condition or errors');
  return errors;
}
