/** Operands of what json-logic-js computes: comparisons, arithmetic, texts. */
import type { Unit } from '../../model/units.ts';
import type { Constant, Expression, Leaf } from './expression.ts';
import type { Operator } from './operators.ts';
import { affordable, fail, inside, MAX_LIST, type Place, parseConstant, type Reader } from './reader.ts';
import { asNumber, asNumbers, asSameKind, type Placed, typeName } from './types.ts';

type LeafOperator = Extract<Operator, { kind: 'leaf' }>;
type Given = Pick<Leaf, 'operands' | 'type' | 'unit' | 'list'>;

/** The list of `in`, as written. */
export interface List {
  values: readonly unknown[];
  place: Place;
}

/** `placed` are the operands, undefined where one is wrong: then the list is still looked at, and nothing made. */
export function parseLeaf(
  reader: Reader,
  name: string,
  operator: LeafOperator,
  placed: readonly (Placed | undefined)[],
  list: List | undefined,
  place: Place,
): Leaf | undefined {
  const constants = list === undefined ? [] : parseList(reader, list);
  if (constants === undefined || placed.includes(undefined)) return undefined;
  const whole = placed as readonly Placed[];
  const given = list === undefined ? operands(reader, name, operator, whole) : inList(reader, name, whole, constants);
  if (given === undefined) return undefined;
  const { rule, order } = operator;
  return {
    kind: 'leaf',
    operator: name,
    rule,
    pointer: place.pointer,
    ...given,
    ...(order === undefined ? {} : { order }),
  };
}

function operands(reader: Reader, name: string, { form }: LeafOperator, placed: readonly Placed[]): Given | undefined {
  switch (form) {
    case 'order':
    case 'sum':
    case 'share': {
      const numbers = asNumbers(reader, name, placed);
      if (numbers === undefined) return undefined;
      if (form === 'order') return { operands: numbers.operands, type: 'boolean' };
      const unit = form === 'share' ? 'ratio' : numbers.unit;
      return { operands: numbers.operands, type: 'number', ...(unit === undefined ? {} : { unit }) };
    }
    case 'equality': {
      const same = asSameKind(reader, name, placed);
      return same && { operands: same.operands, type: 'boolean' };
    }
    case 'product':
    case 'quotient':
      return scaled(reader, name, placed, form);
    case 'in':
      return texts(reader, name, placed, 'boolean');
    case 'text':
      return { operands: placed.map(({ operand }) => operand), type: 'string' };
    case 'substr':
      return substring(reader, name, placed);
  }
}

/** Products and quotients: a share or a plain number keeps the other's unit; like divided by like is a share of 1. */
function scaled(
  reader: Reader,
  name: string,
  placed: readonly Placed[],
  form: 'product' | 'quotient',
): Given | undefined {
  const numbers = placed.map(({ operand, place }) => asNumber(reader, name, operand, place, 'own'));
  if (numbers.includes(undefined)) return undefined;
  const units = (numbers as Expression[]).map(({ unit }) => unit);
  const unit = form === 'product' ? unitOfProduct(units) : unitOfQuotient(units[0], units[1]);
  return { operands: numbers as Expression[], type: 'number', ...(unit === undefined ? {} : { unit }) };
}

function unitOfProduct(units: readonly (Unit | undefined)[]): Unit | undefined {
  const real = units.filter((unit) => unit !== undefined && unit !== 'ratio');
  if (real.length === 1) return real[0];
  return real.length === 0 && units.includes('ratio') ? 'ratio' : undefined;
}

function unitOfQuotient(part: Unit | undefined, whole: Unit | undefined): Unit | undefined {
  if (part !== undefined && part === whole) return 'ratio';
  return whole === undefined || whole === 'ratio' ? part : undefined;
}

function parseList(reader: Reader, { values, place }: List): Placed[] | undefined {
  if (values.length === 0 || values.length > MAX_LIST) {
    const code = values.length === 0 ? 'CONDITION_ARITY' : 'CONDITION_TOO_LARGE';
    return fail(reader, place, code, `the list of in has ${values.length} values`, `Give it 1 to ${MAX_LIST}.`);
  }
  const found = values.map((source, i): Placed | undefined => {
    const spot = inside(place, i);
    const operand = affordable(reader, spot) ? parseConstant(reader, source, spot) : undefined;
    return operand && { operand, place: spot };
  });
  return found.includes(undefined) ? undefined : (found as Placed[]);
}

/** `in` with a list: constants of the type and unit of what is looked for. */
function inList(reader: Reader, name: string, needle: readonly Placed[], list: readonly Placed[]): Given | undefined {
  const same = asSameKind(reader, name, [...needle, ...list]);
  if (same === undefined) return undefined;
  return { operands: same.operands.slice(0, 1), type: 'boolean', list: same.operands.slice(1) as Constant[] };
}

function texts(reader: Reader, name: string, placed: readonly Placed[], type: Leaf['type']): Given | undefined {
  const other = placed.find(({ operand }) => operand.type !== 'string');
  if (other === undefined) return { operands: placed.map(({ operand }) => operand), type };
  const hint = 'It looks for a text in a text, or for a value in a list.';
  return fail(reader, other.place, 'CONDITION_TYPE', `${name} takes texts here, not ${typeName(other.operand)}`, hint);
}

function substring(reader: Reader, name: string, placed: readonly Placed[]): Given | undefined {
  const [text, ...bounds] = placed as [Placed, ...Placed[]];
  const whole = texts(reader, name, [text], 'string');
  const odd = bounds.find(({ operand: { kind, type, ...rest } }) => {
    return kind !== 'constant' || type !== 'number' || !Number.isInteger((rest as { value?: unknown }).value);
  });
  if (odd !== undefined) {
    return fail(reader, odd.place, 'CONDITION_TYPE', `${name} takes whole numbers as start and length`, '');
  }
  return whole && { operands: placed.map(({ operand }) => operand), type: 'string' };
}
