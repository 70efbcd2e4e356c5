/**
 * Conditions of policies: JSON Logic with types, units and three values, checked as a whole when it is loaded. Paths of
 * variables are one text (`alert.labels.kubernetes.io/hostname`): everything behind `alert.labels.` is the label's name.
 */
import type { Condition, Scope, TraceEntry, Truth } from '../../model/policy.ts';
import { compileExpression } from './evaluate.ts';
import { type Expression, walk } from './expression.ts';
import { parseExpression } from './parse.ts';
import { type ConditionError, fail, type Reader } from './reader.ts';
import { typeName } from './types.ts';
import type { Vocabulary } from './vocabulary.ts';

export type { ConditionError } from './reader.ts';

/** A condition with what it was made of, for checks that compare conditions with each other. */
export interface CompiledCondition extends Condition {
  readonly expression: Expression;
}

/**
 * Checks and compiles one condition. All errors are told, each with its path into `source`; there is a condition only where
 * there is none. Thresholds are put in with the value they have now: an open case keeps the version that began it.
 */
export function compileCondition(
  source: unknown,
  vocabulary: Vocabulary,
  named: Readonly<Record<string, unknown>> = {},
): { condition?: CompiledCondition; errors: ConditionError[] } {
  const reader: Reader = { vocabulary, named, within: [], errors: [], budget: { nodes: 0 } };
  const place = { path: [], pointer: '', depth: 1 };
  const expression = parseExpression(reader, source, place);
  if (expression !== undefined && expression.type !== 'boolean') {
    const hint = 'Compare it with a value.';
    fail(reader, place, 'CONDITION_TYPE', `a condition is true or false, not ${typeName(expression)}`, hint);
  }
  if (expression === undefined || reader.errors.length > 0) return { errors: reader.errors };
  const evaluator = compileExpression(expression);
  return {
    errors: [],
    condition: {
      source: putIn(source, named),
      variables: variablesOf(expression),
      senderSetsBounds: hasBoundOfSender(expression),
      expression,
      evaluate: (scope: Scope, trace?: TraceEntry[]): Truth => {
        const value = evaluator(scope, trace);
        return value === undefined ? 'unknown' : (value as boolean);
      },
    },
  };
}

/** Paths of all variables, thresholds included, each once, in the order in which they stand. */
function variablesOf(expression: Expression): string[] {
  const found = new Set<string>();
  walk(expression, (part) => {
    if (part.kind === 'variable') found.add(part.path);
    else if (part.kind === 'constant' && isThreshold(part.text)) found.add(part.text);
    else if (part.kind === 'leaf') for (const { text } of part.list ?? []) if (isThreshold(text)) found.add(text);
  });
  return [...found];
}

function hasBoundOfSender(expression: Expression): boolean {
  let found = false;
  walk(expression, (part) => {
    if (part.kind !== 'leaf') return;
    const paths = variablesOf(part);
    const has = (rooms: RegExp): boolean => paths.some((path) => rooms.test(path));
    found ||= has(/^(?:alert|signal)\./) && has(/^(?:gpu|partition|node)\./);
  });
  return found;
}

/** Texts of constants are quoted, names of thresholds are not. */
const isThreshold = (text: string): boolean => text.startsWith('threshold.');

/** The condition with named conditions in the place of their names. Only for what was found to be sound, hence finite. */
function putIn(source: unknown, named: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(source)) return source.map((item) => putIn(item, named));
  if (typeof source !== 'object' || source === null) return source;
  const [name, operand] = Object.entries(source)[0] as [string, unknown];
  if (name === 'condition') return putIn(named[String(operand)], named);
  return { [name]: putIn(operand, named) };
}
