import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fact, Scope, TraceEntry } from '../../model/policy.ts';
import { compileCondition } from '../../rules/language/condition.ts';
import { OPERATORS, REFUSED } from '../../rules/language/operators.ts';
import { vocabulary } from './language/condition-support.ts';

/** Names that are something on every object, and texts that are hardly texts. */
const ODD = [
  '__proto__',
  'constructor',
  'toString',
  'length',
  'hasOwnProperty',
  '',
  '\ud800',
  '\u0000',
  '\ufeff',
  '🔥',
];
const PATHS = [
  'gpu.temperature.junction',
  'gpu.number',
  'gpu.model',
  'alert.name',
  'alert.labels.kubernetes.io/hostname',
  'alert.labels.__proto__',
  'signal.value',
  'signal.state.constructor',
  'time.hour',
  'window.night',
  'threshold.junction_hot',
  'threshold.__proto__',
];

const text = fc.oneof(fc.constantFrom(...ODD, ...PATHS, '85°C', '1e999', '-0', 'NaN'), fc.string({ unit: 'binary' }));
const scalar = fc.oneof(
  text,
  fc.double(),
  fc.constantFrom<unknown>(0, -0, 1e308, Number.NaN, Number.POSITIVE_INFINITY, true, false, null, undefined),
);

/** What looks like a condition: every operator, known and refused, over operands of every kind and number. */
const { rule } = fc.letrec((tie) => ({
  rule: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.constantFrom(...PATHS).map((path) => ({ var: path })),
    fc
      .tuple(
        fc.constantFrom(...OPERATORS.keys(), ...REFUSED.keys(), ...ODD),
        fc.oneof(fc.array(tie('rule'), { maxLength: 4 }), tie('rule')),
      )
      .map(([name, operands]) => own(name, operands)),
    fc.dictionary(text, tie('rule'), { maxKeys: 3 }),
  ),
}));

/** Also where the name is that of the prototype. */
function own(name: string, value: unknown): Record<string, unknown> {
  return JSON.parse(`{${JSON.stringify(name)}:0}`, (key, old) => (key === name ? value : old)) as Record<
    string,
    unknown
  >;
}

const fact: fc.Arbitrary<Fact> = fc.oneof(
  fc.record({
    value: fc.oneof(fc.double(), fc.string({ unit: 'binary' }), fc.boolean()),
    at: fc.oneof(fc.integer(), fc.constant(Number.NaN)),
    source: fc.constant('fuzz'),
  }),
  fc.record({ unknown: fc.constantFrom('no_reading', 'stale', 'not_sent') }),
);
const facts = fc.array(fact, { minLength: 1, maxLength: PATHS.length });

/** Answers every path that is asked for, with one fact or the other. */
function scopeOf(given: readonly Fact[]): Scope {
  const asked = new Map<string, Fact>();
  return {
    now: 1_000_000,
    get(path) {
      const known = asked.get(path) ?? given[asked.size % given.length]!;
      asked.set(path, known);
      return known;
    },
  };
}

/** Either errors, each of which can be told to people, or a condition that answers whatever it is asked about. */
function expectSound(source: unknown, given: readonly Fact[], named: Record<string, unknown> = {}): boolean {
  const { condition, errors } = compileCondition(source, vocabulary, named);
  expect(condition === undefined).toBe(errors.length > 0);
  for (const { path, code, message, hint } of errors) {
    expect(code).toMatch(/^CONDITION_[A-Z_]+$/);
    expect([typeof message, typeof hint, Array.isArray(path)]).toEqual(['string', 'string', true]);
  }
  if (condition === undefined) return false;
  const truth = condition.evaluate(scopeOf(given));
  expect([true, false, 'unknown']).toContain(truth);
  const trace: TraceEntry[] = [];
  // Traced, all operands are looked at, and so the paths are asked for in another order: one fact for all has to do.
  const [one] = given as [Fact];
  expect(condition.evaluate(scopeOf([one]), trace)).toBe(condition.evaluate(scopeOf([one])));
  expect(() => JSON.stringify(trace)).not.toThrow();
  const again = compileCondition(JSON.parse(JSON.stringify(condition.source)), vocabulary);
  expect(again.errors).toEqual([]);
  return true;
}

describe('a condition that can be anything', () => {
  it.each([
    ['any JSON', fc.jsonValue({ noUnicodeString: false }) as fc.Arbitrary<unknown>, 500],
    ['any value that YAML can make', fc.anything({ withNullPrototype: true, maxDepth: 4 }), 500],
    ['what looks like one', rule as fc.Arbitrary<unknown>, 3_000],
  ])('is refused with words, or answers: %s', (_what, sources, numRuns) => {
    fc.assert(
      fc.property(sources, facts, (source, given) => void expectSound(source, given)),
      { numRuns },
    );
  });

  it.each([
    [{ var: ['alert.name', Object.create(null), 0] }],
    [{ var: ['alert.labels.severity', Object.create(null)] }],
    [{ condition: Object.create(null) }],
  ])('is refused with words where a part has no text of its own: %j', (source) => {
    expect(expectSound(source, [{ unknown: 'no_reading' }])).toBe(false);
  });

  it('is now and then a good one, so that evaluation is tried as well', () => {
    let good = 0;
    const truth = fc.oneof(
      fc.boolean(),
      fc
        .tuple(
          fc.constantFrom('>', '>=', '<', '<=', '==', '!='),
          fc.constantFrom('signal.value', 'gpu.number'),
          fc.double({ noNaN: true, noDefaultInfinity: true }),
        )
        .map(([operator, path, number]) => ({ [operator]: [{ var: path }, number] })),
      fc.constantFrom(...PATHS).map((path) => ({ known: path })),
    );
    const nested = fc.tuple(fc.constantFrom('and', 'or'), fc.array(truth, { minLength: 1, maxLength: 5 }));
    fc.assert(
      fc.property(nested, facts, ([operator, operands], given) => {
        if (expectSound({ [operator]: operands }, given)) good += 1;
      }),
      { numRuns: 500 },
    );
    expect(good).toBeGreaterThan(200);
  });

  it('may use named ones that are anything, or lead in circles', () => {
    const named = fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor'), rule);
    const use = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString').map((name) => ({ condition: name }));
    fc.assert(
      fc.property(fc.oneof(use, rule), named, facts, (source, names, given) => {
        const circular = { ...names, b: { '!': [{ condition: 'a' }] } };
        void expectSound(source, given, names);
        void expectSound(source, given, circular);
      }),
      { numRuns: 500 },
    );
  });

  const nest = (depth: number, wrap: (inner: unknown) => unknown): unknown => {
    let source: unknown = true;
    for (let i = 0; i < depth; i++) source = wrap(source);
    return source;
  };
  const circle: Record<string, unknown> = {};
  circle['!'] = [circle];

  it.each([
    ['deep in objects', nest(100_000, (inner) => ({ '!': inner }))],
    ['deep in lists', nest(100_000, (inner) => [inner])],
    ['deep in operands', nest(100_000, (inner) => ({ and: [inner] }))],
    ['wide', { and: new Array(1_000_000).fill(true) }],
    ['wide in each of many', { and: new Array(90).fill({ or: new Array(90).fill(true) }) }],
    ['a long list', { in: [{ var: 'alert.name' }, new Array(1_000_000).fill('a')] }],
    ['a block of many keys', Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i]))],
    ['a long text', { '==': [{ var: 'alert.name' }, 'x'.repeat(1_000_000)] }],
    ['an operator as long as a book', { ['x'.repeat(1_000_000)]: 1 }],
    ['holding itself', circle],
  ])('does not take the process with it: %s', (_how, source) => {
    const start = performance.now();
    const { condition, errors } = compileCondition(source, vocabulary);
    expect(condition === undefined).toBe(errors.length > 0);
    // Bounded work, not a race: a reader without bounds needs minutes, or the whole stack.
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});
