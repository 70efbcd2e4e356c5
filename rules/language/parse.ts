/** JSON Logic as written → a checked expression, with everything that is wrong, each at its place. */
import { closest } from '../../base/closest.ts';
import type { Expression, Logic, VariableUse } from './expression.ts';
import { parseLeaf } from './leaves.ts';
import { OPERATORS, REFUSED } from './operators.ts';
import {
  affordable,
  type ConditionError,
  fail,
  inside,
  MAX_LIST,
  type Place,
  parseConstant,
  type Reader,
} from './reader.ts';
import { asSameKind, typeName } from './types.ts';
import { parseVariable, parseWindow } from './variable-use.ts';

/** Any operand: a constant or a rule. Undefined where something in it is wrong, which was told. */
export function parseExpression(reader: Reader, source: unknown, place: Place): Expression | undefined {
  if (!affordable(reader, place)) return undefined;
  if (typeof source === 'object' && source !== null && !Array.isArray(source)) return parseRule(reader, source, place);
  return parseConstant(reader, source, place);
}

function parseRule(reader: Reader, source: object, place: Place): Expression | undefined {
  const keys = Object.keys(source);
  const [name] = keys;
  if (name === undefined || keys.length > 1) {
    const message =
      name === undefined ? 'an empty block is no rule' : `a rule has one operator, not ${keys.join(' and ')}`;
    const hint = name === undefined ? 'Write an operator, or remove it.' : 'Join them: { and: [{ … }, { … }] }.';
    return fail(reader, place, 'CONDITION_NOT_A_RULE', message, hint);
  }
  const operator = OPERATORS.get(name);
  if (operator === undefined) return unknownOperator(reader, name, place);
  const raw = (source as Record<string, unknown>)[name];
  if (operator.kind === 'probe') return parseProbe(reader, name, raw, place);
  const operands = Array.isArray(raw) ? (raw as unknown[]) : [raw];
  const at = (i: number): Place => (Array.isArray(raw) ? inside(place, name, i) : inside(place, name));
  if (!arityFits(reader, name, operands.length, operator.min, operator.max, inside(place, name))) return undefined;
  if (operator.kind === 'leaf') {
    // The list of `in` is no operand: it holds constants alone.
    const list = operator.form === 'in' && Array.isArray(operands[1]) ? (operands[1] as unknown[]) : undefined;
    const sources = list === undefined ? operands : operands.slice(0, 1);
    const parsed = sources.map((source, i) => parseExpression(reader, source, at(i)));
    const placed = parsed.map((operand, i) => operand && { operand, place: at(i) });
    return parseLeaf(reader, name, operator, placed, list && { values: list, place: at(1) }, place);
  }
  return parseLogic(reader, name, operands, at, place);
}

function unknownOperator(reader: Reader, name: string, place: Place): undefined {
  const refused = REFUSED.get(name);
  if (refused !== undefined) {
    return fail(reader, inside(place, name), 'CONDITION_OPERATOR_REFUSED', `${name} is not taken here`, refused);
  }
  const meant = WORDS.get(name.toLowerCase()) ?? closest(name, OPERATORS.keys());
  const hint = meant === undefined ? `There are ${[...OPERATORS.keys()].join(' ')}.` : `Did you mean ${meant}?`;
  const message = `there is no operator ${JSON.stringify(name)}`;
  return fail(reader, inside(place, name), 'CONDITION_OPERATOR_UNKNOWN', message, hint);
}

/** What other languages call them. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['not', '!'],
  ['&&', 'and'],
  ['||', 'or'],
  ['=', '=='],
  ['<>', '!='],
  ['=>', '>='],
  ['=<', '<='],
  ['gt', '>'],
  ['ge', '>='],
  ['gte', '>='],
  ['lt', '<'],
  ['le', '<='],
  ['lte', '<='],
  ['eq', '=='],
  ['ne', '!='],
  ['window', 'in_window'],
  ['variable', 'var'],
]);

function arityFits(reader: Reader, name: string, count: number, min: number, max: number, place: Place): boolean {
  const odd = (name === 'if' || name === '?:') && count % 2 === 0;
  if (count >= min && count <= max && !odd) return true;
  const range =
    count > MAX_LIST
      ? `at most ${MAX_LIST}`
      : min === max
        ? `${min}`
        : max >= MAX_LIST
          ? `at least ${min}`
          : `${min} or ${max}`;
  const hint =
    name === 'if' || name === '?:'
      ? 'Write condition, value, and what it is otherwise; more pairs may stand before the last.'
      : (name === '>' || name === '>=') && count === 3
        ? 'Use between, or < and <= with three operands.'
        : '';
  const message = `${name} takes ${range} operand${range === '1' ? '' : 's'}${odd ? ', an odd number of them' : ''}, not ${count}`;
  fail(reader, place, count > MAX_LIST ? 'CONDITION_TOO_LARGE' : 'CONDITION_ARITY', message, hint);
  return false;
}

function parseLogic(
  reader: Reader,
  name: string,
  sources: readonly unknown[],
  at: (i: number) => Place,
  place: Place,
): Logic | undefined {
  const operator = (name === '?:' ? 'if' : name) as Logic['operator'];
  const operands = sources.map((source, i) => parseExpression(reader, source, at(i)));
  const isCondition = (i: number): boolean => operator !== 'if' || (i % 2 === 0 && i < operands.length - 1);
  const sound = operands.map((operand, i) => {
    if (operand === undefined) return false;
    return !isCondition(i) || isBoolean(reader, operand, name, at(i));
  });
  if (sound.includes(false)) return undefined;
  const whole = operands as Expression[];
  const { pointer } = place;
  if (operator !== 'if') return { kind: 'logic', operator, operands: whole, type: 'boolean', pointer };
  const branches = whole.flatMap((operand, i) => (isCondition(i) ? [] : [{ operand, place: at(i), index: i }]));
  const same = asSameKind(reader, name, branches);
  if (same === undefined) return undefined;
  branches.forEach(({ index }, i) => {
    whole[index] = same.operands[i]!;
  });
  const unit = same.unit === undefined ? {} : { unit: same.unit };
  return { kind: 'logic', operator, operands: whole, type: same.type, pointer, ...unit };
}

/** Truth is never made of a number or a text: "0", "false" and {} would be true. */
function isBoolean(reader: Reader, operand: Expression, name: string, place: Place): boolean {
  if (operand.type === 'boolean') return true;
  const hint =
    operand.kind === 'variable'
      ? 'Compare it with a value, or ask { known: … } whether it is there.'
      : 'Compare it with a value.';
  fail(reader, place, 'CONDITION_TYPE', `${name} takes conditions, not ${typeName(operand)}`, hint);
  return false;
}

function parseProbe(reader: Reader, name: string, raw: unknown, place: Place): Expression | undefined {
  const here = inside(place, name);
  if (name === 'var') return parseVariable(reader, raw, here, place.pointer);
  if (name === 'condition') return parseNamed(reader, raw, here, place);
  if (Array.isArray(raw) && raw.length !== 1) {
    return fail(reader, here, 'CONDITION_ARITY', `${name} takes 1 operand, not ${raw.length}`);
  }
  const operand: unknown = Array.isArray(raw) ? raw[0] : raw;
  const at = Array.isArray(raw) ? inside(place, name, 0) : here;
  if (name === 'in_window') return parseWindow(reader, operand, at, place);
  if (name === 'number') return parseNumber(reader, operand, at, place);
  const of = parseNameOrVariable(reader, name, operand, at);
  if (of === undefined) return undefined;
  if (name === 'known') return { kind: 'probe', operator: 'known', of, type: 'boolean', pointer: place.pointer };
  return { kind: 'probe', operator: 'age', of, type: 'number', unit: 'seconds', pointer: place.pointer };
}

/** `known` and `age` take a variable by name or as `{ var: name }`. */
function parseNameOrVariable(reader: Reader, name: string, source: unknown, place: Place): VariableUse | undefined {
  if (typeof source === 'string')
    return asUse(parseVariable(reader, source, place, place.pointer), reader, name, place);
  const of = parseExpression(reader, source, place);
  return of === undefined ? undefined : asUse(of, reader, name, place);
}

function asUse(of: Expression | undefined, reader: Reader, name: string, place: Place): VariableUse | undefined {
  if (of === undefined || of.kind === 'variable') return of;
  const what = of.kind === 'constant' && of.text.startsWith('threshold.') ? 'a threshold' : typeName(of);
  return fail(
    reader,
    place,
    'CONDITION_TYPE',
    `${name} takes a variable, not ${what}`,
    `Write { ${name}: gpu.power }.`,
  );
}

function parseNumber(reader: Reader, source: unknown, at: Place, place: Place): Expression | undefined {
  const of = parseExpression(reader, source, at);
  if (of === undefined) return undefined;
  if (of.type === 'string' && of.kind !== 'constant') {
    return { kind: 'number', operator: 'number', of, type: 'number', pointer: place.pointer };
  }
  const hint = of.kind === 'constant' ? 'Write the number itself.' : 'Remove number.';
  return fail(reader, at, 'CONDITION_TYPE', `number reads a text such as a label, not ${typeName(of)}`, hint);
}

/** Puts a named condition in. It is checked where it is written; here it is enough to say that something is wrong with it. */
function parseNamed(reader: Reader, raw: unknown, here: Place, place: Place): Expression | undefined {
  const name: unknown = Array.isArray(raw) && raw.length === 1 ? raw[0] : raw;
  if (typeof name !== 'string' || !Object.hasOwn(reader.named, name)) {
    const names = Object.keys(reader.named);
    const meant = typeof name === 'string' ? closest(name, names) : undefined;
    const hint =
      meant !== undefined ? `Did you mean ${meant}?` : `Named conditions are: ${names.join(', ') || 'none'}.`;
    const message =
      typeof name === 'string' ? `there is no named condition ${name}` : 'condition takes the name of one';
    return fail(reader, here, 'CONDITION_NAMED_UNKNOWN', message, hint);
  }
  if (reader.within.includes(name)) {
    const circle = [...reader.within.slice(reader.within.indexOf(name)), name].join(' → ');
    return fail(
      reader,
      here,
      'CONDITION_CYCLE',
      `named conditions lead in a circle: ${circle}`,
      'Cut it at one of them.',
    );
  }
  const errors: ConditionError[] = [];
  const deeper = { ...reader, within: [...reader.within, name], errors };
  const found = parseExpression(deeper, reader.named[name], { ...place, depth: place.depth + 1 });
  const [first] = errors;
  if (first === undefined) return found;
  const passedOn = first.code === 'CONDITION_CYCLE' || first.code === 'CONDITION_TOO_LARGE';
  if (passedOn) return fail(reader, here, first.code, first.message, first.hint);
  return fail(reader, here, 'CONDITION_NAMED_INVALID', `the condition ${name} is wrong: ${first.message}`, first.hint);
}
