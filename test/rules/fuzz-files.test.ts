import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRules } from '../../actuator/rules-folder.ts';
import type { Policy } from '../../model/policy.ts';
import { loadRules } from '../../rules/language/load.ts';
import type { RuleFile } from '../../rules/language/sheet.ts';
import { revivePolicy, serializePolicy } from '../../rules/language/version.ts';
import { pciOf, policyYaml, World } from '../actuator/decide/world.ts';

const RULES = join(import.meta.dirname, '../../rules');
const shipped = readRules([RULES]);

/**
 * What must hold of any texts: errors with a place in them, or rules that can be written down, read again as the same version,
 * and decided on. Says whether they loaded.
 */
function expectSound(files: readonly RuleFile[]): boolean {
  const { rules, problems } = loadRules(files);
  for (const { file, line, column, code, message, severity, snippet } of problems) {
    expect(files.map((one) => one.file)).toContain(file);
    expect(code).toMatch(/^(RULE|CONDITION|POLICY)_[A-Z_]+$/);
    expect([line >= 1, column >= 1, message !== '']).toEqual([true, true, true]);
    expect(['error', 'warning']).toContain(severity);
    expect(snippet).not.toContain('\n');
  }
  if (rules === undefined) {
    expect(problems.some(({ severity }) => severity === 'error')).toBe(true);
    return false;
  }
  for (const policy of rules.policies) {
    expectReadable(policy);
    const source = serializePolicy(policy);
    const revived = revivePolicy(source);
    expect(revived.version).toBe(policy.version);
    expect(serializePolicy(revived)).toBe(source);
  }
  expect(loadRules(files).rules?.version).toBe(rules.version);
  decideOn(rules.policies);
  return true;
}

/** Numbers that are none, or without end, would act on every card or on none. */
function expectReadable({ forMs, leaseMs, cooldownMs, dwellMs, limits }: Policy): void {
  const times = [forMs, leaseMs, cooldownMs, ...(dwellMs === 'manual' ? [] : [dwellMs])];
  expect(times.every((ms) => Number.isFinite(ms) && ms >= 0)).toBe(true);
  expect(Object.values(limits).every((limit) => Number.isFinite(limit) && limit > 0)).toBe(true);
}

/** A life with them: every trigger that they name opens and closes, cards are hot, cool, silent, and time passes. */
function decideOn(policies: readonly Policy[]): void {
  const world = new World(policyYaml(), 3);
  world.book.rules = { ...world.book.rules, policies };
  world.card(1).health = 'silent';
  const triggers = policies.flatMap(({ on }) => on.map(({ source, name, labels }) => ({ source, name, labels })));
  for (const [i, { source, name, labels = {} }] of triggers.slice(0, 20).entries()) {
    for (const phase of ['open', 'renew', 'close'] as const) {
      for (const junction of [95, undefined, 30]) {
        world.card(0).junction = junction;
        world.trigger({
          source,
          name,
          phase,
          key: `k${i}`,
          values: labels,
          target: { kind: 'gpu', pci: pciOf(i % 3) },
        });
      }
      world.pass(2);
    }
  }
  world.pass(1);
  for (const claims of world.book.claims.values()) {
    for (const claim of claims) {
      expect(Number.isFinite(claim.atMost) && claim.atMost > 0).toBe(true);
      // The floor of our own and the default of the card bound whatever a file says.
      if (claim.knob === 'power_cap') expect(claim.atMost).toBeGreaterThanOrEqual(40);
    }
  }
}

const named = (text: string): RuleFile[] => [{ file: 'rules.yaml', text }];
const beside = (file: string, text: string): RuleFile[] =>
  shipped.map((one) => (one.file === file ? { file, text } : one));

/** What YAML makes something of, and what it only seems to. */
const PIECES = [
  ...[
    ':',
    '- ',
    '? ',
    '{',
    '}',
    '[',
    ']',
    ',',
    '#',
    '|',
    '>',
    '&a ',
    '*a',
    '!',
    '!!js/function ',
    '%YAML 1.1\n',
    '---\n',
    '...\n',
  ],
  ...[
    '<<: *a\n',
    '\t',
    '\r\n',
    '\r',
    '\u0000',
    '\ufeff',
    '\u2028',
    '\ud800',
    '🔥',
    '"',
    "'",
    '\\',
    '~',
    'null',
    'no',
    'yes',
    '.nan',
    '.inf',
  ],
  ...[
    '-0',
    '1e999',
    '0x10',
    '22:00',
    '__proto__',
    'constructor',
    'toString',
    '100%',
    '0%',
    '-1s',
    '9999999999d',
    '85°C',
    '1e3W',
    'NaN',
  ],
  ...[
    'version: 1\n',
    'policies:\n',
    'when: ',
    'until: ',
    'do: ',
    'limits: ',
    'manual',
    'enforce',
    '{ var: gpu.power }',
    '{}',
    '[]',
    '  ',
  ],
];
const piece = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...PIECES) },
  fc.string({ unit: 'binary', maxLength: 8 }),
);

type Edit = { at: number; cut: number; put: string };
const edits = fc.array(
  fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), cut: fc.nat(12), put: fc.oneof(fc.constant(''), piece) }),
  { minLength: 1, maxLength: 4 },
);

function edited(text: string, list: readonly Edit[]): string {
  let now = text;
  for (const { at, cut, put } of list) {
    const from = Math.floor(at * now.length);
    now = now.slice(0, from) + put + now.slice(from + cut);
  }
  return now;
}

/** A value of the text, exchanged for another: what is left is YAML, and often still a policy. */
function exchanged(text: string, nth: number, put: string): string {
  const values = [...text.matchAll(/(?<=[:[,] )[^\s,{}[\]"]+/g)];
  const one = values[nth % Math.max(1, values.length)];
  return one === undefined ? text : text.slice(0, one.index) + put + text.slice(one.index + one[0].length);
}

describe('rule files that can be anything', () => {
  it.each([
    ['any text', fc.string({ unit: 'binary', maxLength: 400 }), 300],
    ['pieces of YAML', fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join('')), 600],
    ['any JSON', fc.json(), 200],
  ])(
    'are refused with places, or load: %s',
    (_what, texts, numRuns) => {
      fc.assert(
        fc.property(texts, (text) => {
          void expectSound(named(text));
          void expectSound(named(`version: 1\npolicies:\n${text}`));
        }),
        { numRuns },
      );
    },
    120_000,
  );

  const file = fc.constantFrom(...shipped.map((one) => one.file));
  const textOf = (name: string): string => shipped.find((one) => one.file === name)?.text ?? '';

  it('are so with any few characters of a shipped file turned', () => {
    let loaded = 0;
    fc.assert(
      fc.property(file, edits, (name, list) => {
        if (expectSound(beside(name, edited(textOf(name), list)))) loaded += 1;
      }),
      { numRuns: 40 },
    );
    // Words of a description and comments are most of the text.
    expect(loaded).toBeGreaterThan(0);
  }, 120_000);

  it('are so with values of a policy exchanged', () => {
    const value = fc.oneof(
      fc.constantFrom(
        '1s',
        '0s',
        '3d',
        'manual',
        '50%',
        '100%',
        '1%',
        '300W',
        '1W',
        '85°C',
        '1500MHz',
        '1',
        '0',
        'gpu',
        'node',
        'enforce',
        'off',
        'a',
      ),
      piece.map((text) => text.trim()),
    );
    const text = readFileSync(join(RULES, 'policies/hot-junction.yaml'), 'utf8');
    const [name] = shipped.map((one) => one.file).filter((one) => one.endsWith('hot-junction.yaml'));
    let loaded = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(80), value), { minLength: 1, maxLength: 2 }), (list) => {
        const made = list.reduce((now, [nth, put]) => exchanged(now, nth, put), text);
        if (expectSound(beside(name ?? '', made))) loaded += 1;
      }),
      { numRuns: 60 },
    );
    expect(loaded).toBeGreaterThan(5);
  }, 120_000);

  it('mean the same with CRLF and a byte order mark', () => {
    const { rules } = loadRules(shipped);
    const other = shipped.map(({ file: name, text }) => ({
      file: name,
      text: `\ufeff${text.replaceAll('\n', '\r\n')}`,
    }));
    expect(loadRules(other).rules?.version).toBe(rules?.version);
  });
});

describe('rule files made to do harm', () => {
  const policy = (rest: string): string =>
    `version: 1\npolicies:\n  - name: a\n    on: [{ alert: A }]\n    target: gpu\n    do: [{ notify: x }]\n    ${rest}\n`;
  const letters = [...'bcdefghij'];
  const doublings = letters.map((name, i) => `${name}: &${name} [${new Array(9).fill(`*${letters[i - 1] ?? 'a'}`)}]`);

  it.each([
    ['aliases that multiply', `version: 1\na: &a [x, x]\n${doublings.join('\n')}\n`],
    ['a condition that holds itself', policy('when: &w { "!": *w }')],
    ['operands that hold themselves', policy('when: { and: &w [true, *w] }')],
    ['a list of policies that holds itself', 'version: 1\npolicies: &p [*p]\n'],
    ['a name that holds itself', policy('description: &d [*d]')],
    ['a merge key', policy('<<: { mode: enforce }')],
    ['the prototype as key', policy('__proto__: { mode: enforce }')],
    ['the prototype as name', policy('when: { known: alert.labels.__proto__ }').replace('name: a', 'name: __proto__')],
    ['a condition of the prototype', policy('when: { condition: __proto__ }')],
    ['an operator of the prototype', policy('when: { __proto__: [1] }')],
    ['a tag', policy('when: !!js/function "() => true"')],
    ['lists in lists', '['.repeat(2_000)],
    ['blocks in blocks', `${'{a: '.repeat(2_000)}1${'}'.repeat(2_000)}`],
    ['dashes', `${'- '.repeat(2_000)}a`],
    ['a deep condition', policy(`when: ${'{"!": '.repeat(2_000)}true${'}'.repeat(2_000)}`)],
    ['as deep a condition as YAML takes', policy(`when: ${'{"!": '.repeat(60)}true${'}'.repeat(60)}`)],
    ['a wide condition', policy(`when: { and: [${'true, '.repeat(5_000)}] }`)],
    ['many policies', `version: 1\npolicies:\n${'  - name: a\n'.repeat(3_000)}`],
    ['many unknown keys', policy(Array.from({ length: 1_000 }, (_, i) => `k${i}: 1`).join('\n    '))],
    ['many keys twice', 'a: 1\n'.repeat(2_000)],
    ['a mebibyte and one', '#'.repeat(1_048_577)],
    ['tabs', '\t'.repeat(100_000)],
    ['empty lines', '\n'.repeat(50_000)],
    ['quotes', '"'.repeat(5_000)],
    ['zeros', '\u0000'.repeat(5_000)],
  ])(
    'are refused, or do none: %s',
    (_what, text) => {
      expect(() => expectSound(named(text))).not.toThrow();
      expect(Object.prototype).not.toHaveProperty('mode');
    },
    60_000,
  );
});
