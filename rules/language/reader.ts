/** What conditions are read with: the words that are known, where one stands in the text, and where problems are put. */
import { spell } from '../../base/yaml.ts';
import type { ConditionCode } from './condition-codes.ts';
import type { Constant } from './expression.ts';
import type { Vocabulary } from './vocabulary.ts';

export type ConditionPath = readonly (string | number)[];

export interface ConditionError {
  /** Into the condition as written; of what is wrong within a named condition, the place that names it. */
  path: (string | number)[];
  code: ConditionCode;
  message: string;
  hint: string;
}

/** Bounds of one condition, named conditions put in. */
export const MAX_DEPTH = 32;
export const MAX_NODES = 500;
export const MAX_LIST = 100;

/** What is read with: the words that are known, and where problems are put. */
export interface Reader {
  vocabulary: Vocabulary;
  named: Readonly<Record<string, unknown>>;
  /** Named conditions that are being put in, outermost first. */
  within: readonly string[];
  errors: ConditionError[];
  /** Shared by all that one condition is made of. */
  budget: { nodes: number };
}

/** Where one value stands: as written, and with named conditions put in. */
export interface Place {
  path: ConditionPath;
  pointer: string;
  depth: number;
}

export const inside = (place: Place, ...steps: (string | number)[]): Place => ({
  path: [...place.path, ...steps],
  pointer: place.pointer + steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  depth: place.depth + 1,
});

export function fail(reader: Reader, place: Place, code: ConditionCode, message: string, hint = ''): undefined {
  reader.errors.push({ path: [...place.path], code, message, hint });
  return undefined;
}

/** A text, a number, true or false. */
export function parseConstant(reader: Reader, source: unknown, place: Place): Constant | undefined {
  const { pointer } = place;
  if (
    typeof source === 'string' ||
    typeof source === 'boolean' ||
    (typeof source === 'number' && Number.isFinite(source))
  ) {
    const type = typeof source as Constant['type'];
    return { kind: 'constant', type, value: source, text: JSON.stringify(source), pointer };
  }
  const what = source === null || source === undefined ? 'nothing' : spell(source);
  const hint = Array.isArray(source)
    ? 'A list stands only as second operand of in.'
    : 'Write a rule, a number, a text, true or false; for a value that may be missing there is known.';
  return fail(reader, place, 'CONDITION_NOT_A_RULE', `${what} stands where a value is needed`, hint);
}

/** Counts a node. Beyond the bounds it is told once, and nothing deeper is looked at. */
export function affordable(reader: Reader, place: Place): boolean {
  if (reader.budget.nodes > MAX_NODES) return false;
  reader.budget.nodes += 1;
  if (reader.budget.nodes > MAX_NODES) {
    fail(reader, place, 'CONDITION_TOO_LARGE', `the condition has more than ${MAX_NODES} parts`, 'Split the policy.');
    return false;
  }
  if (place.depth <= MAX_DEPTH) return true;
  fail(reader, place, 'CONDITION_TOO_LARGE', `the condition is more than ${MAX_DEPTH} levels deep`, 'Make it flatter.');
  return false;
}
