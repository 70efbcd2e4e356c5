/** A checked condition: types known, named conditions put in, constants in base units. */
import type { Unit } from '../../model/units.ts';
import type { VariableType } from './variable.ts';

export type Value = number | string | boolean;

interface Typed {
  /** JSON pointer into the condition with named conditions put in. */
  pointer: string;
  type: VariableType;
  /** Base unit of a number; absent: a plain number, which takes on the unit of what it meets. */
  unit?: Unit;
}

export interface Constant extends Typed {
  kind: 'constant';
  value: Value;
  /** As written, `"85°C"`, or the name of a threshold. */
  text: string;
}

export interface VariableUse extends Typed {
  kind: 'variable';
  path: string;
  /** All values it can have, where they are known. */
  values?: readonly string[];
  /** Stands for what the sender of a trigger left out. */
  default?: Value;
}

/** `known`, `age` and `in_window` ask about a variable, `number` reads a text. */
export type Probe = Typed &
  (
    | { kind: 'probe'; operator: 'known' | 'age' | 'in_window'; of: VariableUse }
    | { kind: 'number'; operator: 'number'; of: Expression }
  );

export interface Logic extends Typed {
  kind: 'logic';
  operator: 'and' | 'or' | '!' | '!!' | 'if';
  operands: readonly Expression[];
}

/** Computed by json-logic-js under the name `rule`. */
export interface Leaf extends Typed {
  kind: 'leaf';
  operator: string;
  rule: string;
  operands: readonly Expression[];
  /** Order in which `rule` wants the operands, where it is not as written. */
  order?: readonly number[];
  /** Second operand of `in`, where it is a list. */
  list?: readonly Constant[];
}

export type Expression = Constant | VariableUse | Probe | Logic | Leaf;

/** An expression in one line, for people. */
export function textOf(expression: Expression): string {
  switch (expression.kind) {
    case 'constant':
      return expression.text;
    case 'variable':
      return expression.path;
    case 'probe':
      return `${expression.operator}(${expression.of.path})`;
    case 'number':
      return `number(${textOf(expression.of)})`;
    default: {
      const operands = expression.operands.map(textOf);
      if (expression.kind === 'leaf' && expression.list) {
        operands.push(`[${expression.list.map(({ text }) => text).join(', ')}]`);
      }
      return `${expression.operator}(${operands.join(', ')})`;
    }
  }
}

/** Calls with an expression and everything in it, outer first. */
export function walk(expression: Expression, visit: (expression: Expression) => void): void {
  visit(expression);
  if (expression.kind === 'probe' || expression.kind === 'number') walk(expression.of, visit);
  else if (expression.kind === 'logic' || expression.kind === 'leaf') {
    for (const operand of expression.operands) walk(operand, visit);
  }
}
