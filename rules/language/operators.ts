/** Operators of conditions: how many operands each has, what they must be, and who computes it. */

/** `logic` and `probe` are computed by our walker, which knows unknown; `leaf` by json-logic-js, on known typed values. */
export type Operator =
  | { kind: 'logic'; min: number; max: number }
  | { kind: 'probe' }
  | { kind: 'leaf'; min: number; max: number; form: LeafForm; rule: string; order?: readonly number[] };

/**
 * What a leaf takes and gives. order: numbers of one unit to a truth. equality: two of one type to a truth. sum: numbers of
 * one unit to a number of it. product, quotient: numbers to a number. share: two numbers of one unit to a share of 1.
 */
export type LeafForm = 'order' | 'equality' | 'sum' | 'product' | 'quotient' | 'share' | 'in' | 'text' | 'substr';

const MANY = 100;

const leaf = (form: LeafForm, rule: string, min: number, max: number, order?: readonly number[]): Operator => ({
  kind: 'leaf',
  form,
  rule,
  min,
  max,
  ...(order === undefined ? {} : { order }),
});

export const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['and', { kind: 'logic', min: 1, max: MANY }],
  ['or', { kind: 'logic', min: 1, max: MANY }],
  ['!', { kind: 'logic', min: 1, max: 1 }],
  ['!!', { kind: 'logic', min: 1, max: 1 }],
  ['if', { kind: 'logic', min: 3, max: MANY }],
  ['?:', { kind: 'logic', min: 3, max: MANY }],
  ['==', leaf('equality', '===', 2, 2)],
  ['===', leaf('equality', '===', 2, 2)],
  ['!=', leaf('equality', '!==', 2, 2)],
  ['!==', leaf('equality', '!==', 2, 2)],
  ['>', leaf('order', '>', 2, 2)],
  ['>=', leaf('order', '>=', 2, 2)],
  ['<', leaf('order', '<', 2, 3)],
  ['<=', leaf('order', '<=', 2, 3)],
  ['between', leaf('order', '<=', 3, 3, [1, 0, 2])],
  ['+', leaf('sum', '+', 2, MANY)],
  ['-', leaf('sum', '-', 1, 2)],
  ['%', leaf('sum', '%', 2, 2)],
  ['min', leaf('sum', 'min', 2, MANY)],
  ['max', leaf('sum', 'max', 2, MANY)],
  ['*', leaf('product', '*', 2, MANY)],
  ['/', leaf('quotient', '/', 2, 2)],
  ['share_of', leaf('share', '/', 2, 2)],
  ['in', leaf('in', 'in', 2, 2)],
  ['cat', leaf('text', 'cat', 1, MANY)],
  ['substr', leaf('substr', 'substr', 2, 3)],
  ['var', { kind: 'probe' }],
  ['known', { kind: 'probe' }],
  ['age', { kind: 'probe' }],
  ['number', { kind: 'probe' }],
  ['in_window', { kind: 'probe' }],
  ['condition', { kind: 'probe' }],
]);

const NO_LISTS = 'No variable is a list: compare variables one by one, with and / or.';
const USE_KNOWN = 'Use { known: gpu.power }, which is true where there is a fresh value.';

/** Operators of JSON Logic that are not taken, with what to do instead. */
export const REFUSED: ReadonlyMap<string, string> = new Map([
  ['map', NO_LISTS],
  ['filter', NO_LISTS],
  ['reduce', NO_LISTS],
  ['all', NO_LISTS],
  ['none', NO_LISTS],
  ['some', NO_LISTS],
  ['merge', NO_LISTS],
  ['missing', USE_KNOWN],
  ['missing_some', USE_KNOWN],
  ['log', 'Remove it: nightshift explain shows every step with its values.'],
]);
