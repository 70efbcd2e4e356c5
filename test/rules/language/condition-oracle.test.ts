import fc from 'fast-check';
import jsonLogic from 'json-logic-js';
import { describe, expect, it } from 'vitest';
import { compile, evaluate, scope, type Values } from './condition-support.ts';

const NUMBERS = ['signal.value', 'signal.state.a', 'signal.state.b', 'gpu.number'];
const TEXTS = ['alert.labels.job', 'alert.labels.tier', 'alert.name'];
const TRUTHS = ['window.night'];
const WORDS = ['', 'a', 'ab', 'batch', '0', 'false'];

const variable = (paths: readonly string[]) => fc.constantFrom(...paths).map((path) => ({ var: path }));

/** Conditions of every operator that JSON Logic has too. Numbers stay small and divisors off zero: what overflows is ours. */
const { condition } = fc.letrec((tie) => {
  const pair = (one: fc.Arbitrary<unknown>) => fc.tuple(one, one);
  const rule = (names: readonly string[], operands: fc.Arbitrary<unknown>) =>
    fc.tuple(fc.constantFrom(...names), operands).map(([name, given]) => ({ [name]: given }));
  const number = tie('number');
  const text = tie('text');
  const truth = tie('condition');
  const few = (one: fc.Arbitrary<unknown>, minLength: number) => fc.array(one, { minLength, maxLength: 3 });
  return {
    number: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      variable(NUMBERS),
      fc.integer({ min: -5, max: 5 }),
      rule(['+', '*', 'min', 'max'], few(number, 2)),
      rule(['-'], fc.oneof(pair(number), fc.tuple(number))),
      rule(['/', '%'], fc.tuple(number, fc.constantFrom(-4, 2, 3, 0.5))),
      rule(['if', '?:'], fc.tuple(truth, number, number)),
    ),
    text: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      variable(TEXTS),
      fc.constantFrom(...WORDS),
      rule(['cat'], few(fc.oneof(text, number), 1)),
      rule(['substr'], fc.tuple(text, fc.integer({ min: -2, max: 2 }), fc.integer({ min: -2, max: 2 }))),
    ),
    condition: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      variable(TRUTHS),
      fc.boolean(),
      rule(['>', '>=', '<', '<=', '==', '===', '!=', '!=='], pair(number)),
      rule(['<', '<='], fc.tuple(number, number, number)),
      rule(['==', '!=', '===', '!=='], pair(text)),
      rule(['in'], pair(text)),
      rule(['in'], fc.tuple(text, fc.subarray(WORDS, { minLength: 1 }))),
      rule(['in'], fc.tuple(number, fc.uniqueArray(fc.integer({ min: -3, max: 3 }), { minLength: 1 }))),
      rule(['and', 'or'], few(truth, 1)),
      rule(['!', '!!'], fc.oneof(truth, fc.tuple(truth))),
      rule(['if', '?:'], fc.oneof(fc.tuple(truth, truth, truth), fc.tuple(truth, truth, truth, truth, truth))),
    ),
  };
});

const known: fc.Arbitrary<Values> = fc.record({
  ...Object.fromEntries(NUMBERS.map((path) => [path, fc.integer({ min: -4, max: 4 })])),
  ...Object.fromEntries(TEXTS.map((path) => [path, fc.constantFrom(...WORDS)])),
  ...Object.fromEntries(TRUTHS.map((path) => [path, fc.boolean()])),
});

/** Values by path as the nested data that JSON Logic wants. */
function nested(values: Values): unknown {
  const root: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(values)) {
    const steps = path.split('.');
    const last = steps.pop() as string;
    let at = root;
    for (const step of steps) {
      at[step] ??= {};
      at = at[step] as Record<string, unknown>;
    }
    at[last] = value;
  }
  return root;
}

describe('conditions', () => {
  it('are on known data what JSON Logic says', () => {
    fc.assert(
      fc.property(condition, known, (source, values) => {
        expect(evaluate(source, values)).toBe(jsonLogic.apply(source, nested(values)));
      }),
      { numRuns: 1000 },
    );
  });

  it('that are known without some of the data are the same whatever these turn out to be', () => {
    let decided = 0;
    fc.assert(
      fc.property(condition, known, fc.subarray([...NUMBERS, ...TEXTS, ...TRUTHS]), (source, values, missing) => {
        const partly = Object.fromEntries(Object.entries(values).filter(([path]) => !missing.includes(path)));
        const truth = evaluate(source, partly);
        if (truth === 'unknown') return;
        decided += 1;
        expect(truth).toBe(jsonLogic.apply(source, nested(values)));
      }),
      { numRuns: 1000 },
    );
    expect(decided).toBeGreaterThan(100);
  });

  it('are traced to the same result', () => {
    fc.assert(
      fc.property(condition, known, fc.subarray(NUMBERS), (source, values, missing) => {
        const partly = scope(Object.fromEntries(Object.entries(values).filter(([path]) => !missing.includes(path))));
        const compiled = compile(source);
        expect(compiled.evaluate(partly, [])).toBe(compiled.evaluate(partly));
      }),
    );
  });
});
