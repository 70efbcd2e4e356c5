/**
 * A checked condition as a function. Connectives are ours and know three values (Kleene's: what is false whatever the
 * unknown turns out to be is false); each leaf is computed by json-logic-js, and only on values that are known.
 * Within, unknown is `undefined`: no value is.
 */
/// <reference path="./json-logic.d.ts" />
import jsonLogic from 'json-logic-js';
import type { Fact, Scope, TraceEntry } from '../../model/policy.ts';
import {
  type Expression,
  type Leaf,
  type Logic,
  type Probe,
  textOf,
  type Value,
  type VariableUse,
} from './expression.ts';

export type Evaluator = (scope: Scope, trace: TraceEntry[] | undefined) => Value | undefined;

type Operand = TraceEntry['operands'][number];

/** Why a label of a trigger has no value although there is a trigger: its sender did not say. What a default stands for. */
export const NOT_SENT = 'not_sent';

/** A number as senders of labels write it; not `0x10`, not an empty text, not `1e999`. */
const NUMBER = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

export function compileExpression(expression: Expression): Evaluator {
  switch (expression.kind) {
    case 'constant': {
      const { value } = expression;
      return () => value;
    }
    case 'variable':
      return compileVariable(expression);
    case 'probe':
      return compileProbe(expression);
    case 'number':
      return compileNumber(expression);
    case 'logic':
      return compileLogic(expression);
    case 'leaf':
      return compileLeaf(expression);
  }
}

function compileVariable(variable: VariableUse): Evaluator {
  const { path, type, default: fallback } = variable;
  return (scope) => known(scope.get(path), type, fallback);
}

/** The value of a fact, if it is one of the type that was declared and, for a number, finite. */
function known(fact: Fact, type: VariableUse['type'], fallback: Value | undefined): Value | undefined {
  if (!('value' in fact)) return fact.unknown === NOT_SENT ? fallback : undefined;
  const { value } = fact;
  if (typeof value !== type) return undefined;
  return typeof value === 'number' && !Number.isFinite(value) ? undefined : value;
}

type Ask = Extract<Probe, { kind: 'probe' }>;

function compileProbe(probe: Ask): Evaluator {
  const { path, type } = probe.of;
  const ask: Record<Ask['operator'], (scope: Scope) => Value | undefined> = {
    known: (scope) => known(scope.get(path), type, undefined) !== undefined,
    age: (scope) => ageMs(scope.get(path), scope.now, 1000),
    in_window: (scope) => known(scope.get(path), type, undefined),
  };
  const evaluate = ask[probe.operator];
  return (scope, trace) => {
    const value = evaluate(scope);
    if (trace !== undefined) record(trace, probe, [seen(probe.of, scope, undefined)], value);
    return value;
  };
}

/** Age of a value, also of one that is too old to be used; nothing that was never there has an age. In ms, or parts of it. */
function ageMs(fact: Fact, now: number, per = 1): number | undefined {
  if (fact.at === undefined || !('value' in fact || fact.unknown === 'stale')) return undefined;
  return Math.max(0, now - fact.at) / per;
}

function compileNumber(probe: Extract<Probe, { kind: 'number' }>): Evaluator {
  const of = compileExpression(probe.of);
  return (scope, trace) => {
    const text = of(scope, trace);
    const number = typeof text === 'string' && NUMBER.test(text) ? Number(text) : Number.NaN;
    const value = Number.isFinite(number) ? number : undefined;
    if (trace !== undefined) record(trace, probe, [seen(probe.of, scope, text)], value);
    return value;
  };
}

function compileLogic(logic: Logic): Evaluator {
  const operands = logic.operands.map(compileExpression);
  if (logic.operator === 'if') return compileIf(logic, operands);
  if (logic.operator === 'and') return compileJunction(logic, operands, false);
  if (logic.operator === 'or') return compileJunction(logic, operands, true);
  const [only] = operands as [Evaluator];
  const negated = logic.operator === '!';
  return (scope, trace) => {
    const inner = only(scope, trace);
    const value = inner === undefined ? undefined : negated ? !inner : inner;
    if (trace !== undefined) record(trace, logic, [seen(logic.operands[0]!, scope, inner)], value);
    return value;
  };
}

/** `and` is decided by the first false, `or` by the first true. Traced, all are looked at: people ask what else would matter. */
function compileJunction(logic: Logic, operands: readonly Evaluator[], decisive: boolean): Evaluator {
  return (scope, trace) => {
    if (trace !== undefined) return traceJunction(logic, operands, decisive, scope, trace);
    let unknown = false;
    for (const operand of operands) {
      const value = operand(scope, undefined);
      if (value === decisive) return decisive;
      if (value === undefined) unknown = true;
    }
    return unknown ? undefined : !decisive;
  };
}

function traceJunction(
  logic: Logic,
  operands: readonly Evaluator[],
  decisive: boolean,
  scope: Scope,
  trace: TraceEntry[],
): Value | undefined {
  const values = operands.map((operand) => operand(scope, trace));
  const value = values.includes(decisive) ? decisive : values.includes(undefined) ? undefined : !decisive;
  record(
    trace,
    logic,
    logic.operands.map((operand, i) => seen(operand, scope, values[i])),
    value,
  );
  return value;
}

/** Without a known condition no branch is taken. */
function compileIf(logic: Logic, operands: readonly Evaluator[]): Evaluator {
  const last = operands.length - 1;
  return (scope, trace) => {
    let taken = last;
    let value: Value | undefined;
    let unknown = false;
    const looked: Operand[] = [];
    for (let i = 0; i < last; i += 2) {
      const condition = operands[i]!(scope, trace);
      if (trace !== undefined) looked.push(seen(logic.operands[i]!, scope, condition));
      unknown = condition === undefined;
      if (unknown || condition === true) {
        taken = i + 1;
        break;
      }
    }
    if (!unknown) {
      value = operands[taken]!(scope, trace);
      if (trace !== undefined) looked.push(seen(logic.operands[taken]!, scope, value));
    }
    if (trace !== undefined) record(trace, logic, looked, value);
    return value;
  };
}

function compileLeaf(leaf: Leaf): Evaluator {
  const order = leaf.order ?? leaf.operands.map((_, i) => i);
  const operands = leaf.operands.map(compileExpression);
  const ordered = order.map((i) => operands[i]!);
  // One rule for all evaluations, its operands filled in each time: a leaf makes no garbage of its own.
  const values: unknown[] = ordered.map(() => null);
  if (leaf.list !== undefined) values.push(leaf.list.map(({ value }) => value));
  const rule = { [leaf.rule]: values };
  const compute = (): Value | undefined => {
    const result = jsonLogic.apply(rule, null) as Value;
    return typeof result === 'number' && !Number.isFinite(result) ? undefined : result;
  };
  return (scope, trace) => {
    if (trace !== undefined) return traceLeaf(leaf, operands, order, values, compute, scope, trace);
    for (let i = 0; i < ordered.length; i++) {
      const value = ordered[i]!(scope, undefined);
      if (value === undefined) return undefined;
      values[i] = value;
    }
    return compute();
  };
}

function traceLeaf(
  leaf: Leaf,
  operands: readonly Evaluator[],
  order: readonly number[],
  values: unknown[],
  compute: () => Value | undefined,
  scope: Scope,
  trace: TraceEntry[],
): Value | undefined {
  const found = operands.map((operand) => operand(scope, trace));
  let value: Value | undefined;
  if (!found.includes(undefined)) {
    order.forEach((from, to) => {
      values[to] = found[from];
    });
    value = compute();
  }
  const looked: Operand[] = leaf.operands.map((operand, i) => seen(operand, scope, found[i]));
  for (const { text, value: of } of leaf.list ?? []) looked.push({ text, value: of });
  record(trace, leaf, looked, value);
  return value;
}

function record(
  trace: TraceEntry[],
  { pointer, operator }: Logic | Leaf | Probe,
  operands: readonly Operand[],
  value: Value | undefined,
): void {
  trace.push({ pointer, operator, operands, result: value ?? 'unknown' });
}

/** One operand as it was seen: a variable with its age and source, or with the reason why it has no value. */
function seen(expression: Expression, scope: Scope, value: Value | undefined): Operand {
  const text = textOf(expression);
  if (expression.kind !== 'variable') return value === undefined ? { text, unknown: 'unknown' } : { text, value };
  const fact = scope.get(expression.path);
  const found = known(fact, expression.type, expression.default);
  const age = ageMs(fact, scope.now);
  return {
    text,
    ...(found === undefined ? { unknown: reasonOf(fact, expression.type) } : { value: found }),
    ...(age === undefined ? {} : { ageMs: age }),
    ...(fact.source === undefined ? {} : { source: fact.source }),
  };
}

function reasonOf(fact: Fact, type: VariableUse['type']): string {
  if (!('value' in fact)) return fact.unknown;
  return typeof fact.value === type ? 'not_a_number' : 'wrong_type';
}
