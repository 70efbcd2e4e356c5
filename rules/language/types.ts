/** Types and units of operands: numbers of one unit, texts written with a unit as numbers, values that a text can have. */
import { closest } from '../../base/closest.ts';
import type { Unit } from '../../model/units.ts';
import { type Constant, type Expression, textOf } from './expression.ts';
import { fail, type Place, type Reader } from './reader.ts';
import { exampleHint, looksLikeMeasure, nameOf, parseQuantity, readMeasure } from './units.ts';

/** An operand and where it stands. */
export interface Placed {
  operand: Expression;
  place: Place;
}

export interface SameKind {
  operands: Expression[];
  type: Expression['type'];
  unit?: Unit;
}

export function typeName({ type }: Pick<Expression, 'type'>): string {
  return type === 'number' ? 'a number' : type === 'string' ? 'a text' : 'true or false';
}

/** All of one type, and numbers of one unit; undefined where they are not, which was told. */
export function asSameKind(reader: Reader, operator: string, placed: readonly Placed[]): SameKind | undefined {
  if (placed.some(({ operand }) => operand.type === 'number')) return asNumbers(reader, operator, placed);
  const type = placed[0]!.operand.type;
  const other = placed.find(({ operand }) => operand.type !== type);
  if (other !== undefined) {
    const message = `${operator} compares ${typeName({ type })} with ${typeName(other.operand)}`;
    return fail(reader, other.place, 'CONDITION_TYPE', message, 'Both sides must be of one type.');
  }
  return valuesFit(reader, placed) ? { operands: placed.map(({ operand }) => operand), type } : undefined;
}

/** Numbers of one unit. A text such as "85°C" becomes the number that it is in the unit of what it stands with. */
export function asNumbers(reader: Reader, operator: string, placed: readonly Placed[]): SameKind | undefined {
  const leader = placed.find(({ operand }) => operand.type === 'number' && operand.unit !== undefined);
  const unit = leader?.operand.unit;
  const operands = placed.map(({ operand, place }) => {
    const number = asNumber(reader, operator, operand, place, unit);
    if (number === undefined || number.unit === undefined || number.unit === unit) return number;
    const message = `${textOf(operand)} is in ${nameOf(number.unit)}, what it stands with in ${nameOf(unit!)}`;
    return fail(reader, place, 'CONDITION_UNIT', message, exampleHint(unit));
  });
  if (operands.includes(undefined)) return undefined;
  return { operands: operands as Expression[], type: 'number', ...(unit === undefined ? {} : { unit }) };
}

/** One number; `unit` is that of what it stands with, `own` takes it in whatever unit it has. */
export function asNumber(
  reader: Reader,
  operator: string,
  operand: Expression,
  place: Place,
  unit: Unit | undefined | 'own',
): Expression | undefined {
  if (operand.type === 'number') return operand;
  if (operand.type === 'string' && operand.kind === 'constant') {
    return measured(reader, operator, operand, place, unit);
  }
  const hint =
    operand.type === 'string'
      ? 'Make it a number: { number: { var: … } }.'
      : 'Compare numbers, and join with and / or.';
  return fail(reader, place, 'CONDITION_TYPE', `${operator} takes numbers, not ${typeName(operand)}`, hint);
}

function measured(
  reader: Reader,
  operator: string,
  constant: Constant,
  place: Place,
  unit: Unit | undefined | 'own',
): Constant | undefined {
  const text = String(constant.value);
  const measure = readMeasure(text);
  if (measure === undefined) {
    if (/^[+-]?\d+(\.\d+)?$/.test(text)) {
      return fail(
        reader,
        place,
        'CONDITION_TYPE',
        `"${text}" is a text`,
        `Write ${text} without quotes, or with its unit.`,
      );
    }
    const quantity = looksLikeMeasure(text) ? parseQuantity(text) : undefined;
    if (quantity !== undefined && 'code' in quantity) {
      return fail(reader, place, 'CONDITION_UNIT', quantity.message, quantity.hint);
    }
    const message = `${operator} takes numbers, not the text ${constant.text}`;
    return fail(reader, place, 'CONDITION_TYPE', message, exampleHint(unit === 'own' ? undefined : unit));
  }
  if (unit === undefined) {
    const hint = 'Write a plain number: what it is compared with has no unit.';
    return fail(reader, place, 'CONDITION_UNIT', `${constant.text} has a unit`, hint);
  }
  return { ...constant, type: 'number', ...measure };
}

/** A text that can have only certain values is compared with one of them. */
function valuesFit(reader: Reader, placed: readonly Placed[]): boolean {
  const variable = placed.find(({ operand }) => operand.kind === 'variable' && operand.values !== undefined);
  if (variable?.operand.kind !== 'variable') return true;
  const { path, values = [] } = variable.operand;
  let fit = true;
  for (const { operand, place } of placed) {
    if (operand.kind !== 'constant' || values.includes(String(operand.value))) continue;
    const meant = closest(String(operand.value), values);
    const hint = meant === undefined ? `It is one of ${values.join(', ')}.` : `Did you mean ${meant}?`;
    fail(reader, place, 'CONDITION_VALUE', `${path} is never ${operand.text}`, hint);
    fit = false;
  }
  return fit;
}
