import { describe, expect, it } from 'vitest';
import { loadRules } from '../../../rules/language/load.ts';
import { file, policyWith } from './files.ts';

const THRESHOLDS = file('version: 1\nthresholds: { hot: { value: 85°C }, cool: { value: 75°C } }\n', 't.yaml');
const T = '{ var: gpu.temperature.junction }';

/** Codes of warnings and errors of a policy, but for those of a pair of thresholds that it does not use. */
const codes = (own: Readonly<Record<string, string>>): string[] =>
  loadRules([file(policyWith(own)), THRESHOLDS])
    .problems.map(({ code }) => code)
    .filter((code) => code !== 'RULE_UNUSED');

describe('release against act', () => {
  /** `when`, `until`, what is said of them and why. */
  it.each([
    [`{ ">=": [${T}, 60] }`, `{ "<": [${T}, 55] }`, [], 'a gap between them'],
    [`{ ">=": [${T}, 60] }`, `{ "<": [${T}, 65] }`, ['RULE_RELEASE_OVERLAPS'], '60 to 65 does both'],
    [`{ ">=": [${T}, 60] }`, `{ "<=": [${T}, 60] }`, ['RULE_RELEASE_OVERLAPS'], '60 itself does both'],
    [`{ ">=": [${T}, 60] }`, `{ "<": [${T}, 60] }`, ['RULE_RELEASE_TOUCHES'], 'no gap'],
    [`{ "<": [60, ${T}] }`, `{ ">": [55, ${T}] }`, [], 'written the other way round'],
    [`{ ">=": [${T}, "60°C"] }`, `{ "<": [${T}, "65C"] }`, ['RULE_RELEASE_OVERLAPS'], 'values with units'],
    [`{ ">=": [${T}, { var: threshold.hot }] }`, `{ "<": [${T}, { var: threshold.cool }] }`, [], 'thresholds apart'],
    [
      `{ ">=": [${T}, { var: threshold.cool }] }`,
      `{ "<": [${T}, { var: threshold.hot }] }`,
      ['RULE_RELEASE_OVERLAPS'],
      'thresholds the wrong way round',
    ],
    [`{ between: [${T}, 60, 90] }`, `{ "!": { between: [${T}, 50, 95] } }`, [], 'outside of a band, with a gap'],
    [
      `{ between: [${T}, 60, 90] }`,
      `{ between: [${T}, 90, 95] }`,
      ['RULE_RELEASE_OVERLAPS'],
      'ends of bands belong to them',
    ],
    [
      `{ "<": [40, ${T}, 90] }`,
      `{ or: [{ "<": [${T}, 30] }, { ">": [${T}, 95] }] }`,
      [],
      'a band, released on both sides',
    ],
    [
      `{ and: [{ ">=": [${T}, 60] }, { ">": [{ var: gpu.power }, 100] }] }`,
      `{ "<": [${T}, 65] }`,
      ['RULE_RELEASE_MAY_OVERLAP'],
      'power may keep them apart, and may not',
    ],
    [
      `{ and: [{ ">=": [${T}, 60] }, { ">": [{ var: gpu.power }, 100] }] }`,
      `{ and: [{ "<": [${T}, 65] }, { "<": [{ var: gpu.power }, 50] }] }`,
      [],
      'power keeps them apart',
    ],
    [`{ ">=": [${T}, 60] }`, '{ "<": [{ var: gpu.power }, 50] }', [], 'two variables: nobody can say'],
    [`{ ">=": [${T}, 60] }`, `{ "!": { ">=": [${T}, 60] } }`, ['RULE_RELEASE_TOUCHES'], 'the plain opposite'],
    [`{ ">=": [${T}, 60] }`, 'true', [], 'a condition that says nothing of the variable'],
  ])('when %s until %s: %j', (when, until, expected, _why) => {
    expect(codes({ when, until })).toEqual(expected);
  });
});

describe('conditions that are never true', () => {
  it.each([
    [`{ and: [{ ">": [${T}, 90] }, { "<": [${T}, 80] }] }`, ['RULE_NEVER_TRUE']],
    [`{ ">": [${T}, "500°C"] }`, ['RULE_NEVER_TRUE']],
    [`{ between: [${T}, 90, 80] }`, ['RULE_NEVER_TRUE']],
    ['false', ['RULE_NEVER_TRUE']],
    [`{ or: [{ ">": [${T}, 500] }, { ">": [${T}, 80] }] }`, []],
    [`{ "!": { "<": [${T}, 80] } }`, []],
  ])('%s: %j', (when, expected) => {
    expect(codes({ when, until: `{ "<": [${T}, 50] }` })).toEqual(expected);
  });
});

describe('a single policy', () => {
  const until = `{ "<": [${T}, 50] }`;
  it.each([
    [{ until }, [], 'all in order'],
    [{}, ['RULE_NO_RELEASE'], 'no until'],
    [{ on: '[{ manual: m }]' }, [], 'what a person opened ends with it'],
    [{ do: '[{ notify: hi }]' }, [], 'there is nothing to release'],
    [{ until, lease: '2m' }, ['RULE_LEASE_SHORT'], 'one lost notice ends it'],
    [{ until, on: '[{ manual: m }]', lease: '2m' }, [], 'no alert, no heartbeat'],
    [{ until, mode: 'off' }, ['RULE_POLICY_OFF'], 'it is never looked at'],
    [{ until, target: 'node' }, ['RULE_VARIABLE_OF_GPU'], 'the junction of which GPU?'],
    [{ until: '{ "<": [{ var: node.gpus }, 3] }', target: 'node' }, [], 'a value of the node'],
    [{ until, target: 'workload' }, ['RULE_TARGET_LATER'], 'nobody knows workloads yet'],
    [{ until, do: '[{ throttle: { power_cap: 39% } }]' }, ['RULE_WISH_BELOW_FLOOR'], 'it gets 40 %'],
    [{ until, do: '[{ throttle: { power_cap: 40% } }]' }, [], 'the floor itself'],
    [{ until, do: '[{ throttle: { power_cap: 100W } }]' }, [], 'of which card? nobody can say'],
    [
      {
        until,
        do: `[{ ladder: { on: gpu.temperature.junction, hysteresis: 3°C, rungs: [{ at: 80°C, power_cap: 60% }, { at: 90°C, power_cap: 30% }] } }]`,
      },
      ['RULE_WISH_BELOW_FLOOR'],
      'one rung of it',
    ],
    [{ until, when: '{ ">": [{ var: gpu.temperature.foo }, 60] }' }, ['RULE_LABEL_UNKNOWN'], 'no sensor of this name'],
    [{ until: '{ "<": [{ var: gpu.temperature.outlet }, 60] }' }, ['RULE_LABEL_UNKNOWN'], 'it would never release'],
    [{ until, when: '{ ">": [{ var: gpu.temperature.hbm7 }, 60] }' }, [], 'stacks are numbered'],
    [{ until, when: '{ ">": [{ var: gpu.ras_errors.foo.corrected }, 0] }' }, [], 'a label of which no list is known'],
  ] as [Record<string, string>, string[], string][])('%j: %j', (own, expected, _why) => {
    expect(codes(own)).toEqual(expected);
  });

  it('says how many cards at once', () => {
    const text = policyWith({ until }).replace('    limits: { gpus: 1 }\n', '');
    expect(loadRules([file(text)]).problems.map(({ code }) => code)).toEqual(['RULE_NO_LIMITS']);
  });
});

describe('two policies', () => {
  const pair = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): string[] => {
    const until = `{ "<": [${T}, 50] }`;
    const files = [file(policyWith({ until, ...a }), 'a.yaml'), file(policyWith({ name: 'b', until, ...b }), 'b.yaml')];
    return loadRules(files).problems.map(({ file: name, code }) => `${name} ${code}`);
  };
  const cap = (share: string): string => `[{ throttle: { power_cap: ${share} } }]`;

  it.each([
    [{ do: cap('70%') }, { do: cap('450W') }, ['b.yaml RULE_KNOB_SHARED'], 'shares and watts cannot be compared here'],
    [{ do: cap('70%') }, { do: cap('80%') }, ['b.yaml RULE_SHADOWED'], 'the second never lowers anything'],
    [{ do: cap('80%') }, { do: cap('70%') }, ['a.yaml RULE_SHADOWED'], 'nor does the first'],
    [{ do: cap('70%') }, { do: '[{ throttle: { clock_max: 1GHz } }]' }, [], 'two knobs'],
    [{ on: '[{ alert: A }]' }, { on: '[{ alert: B }]' }, [], 'two triggers'],
    [{ on: '[{ alert: A, labels: { s: x } }]' }, { on: '[{ alert: A, labels: { s: y } }]' }, [], 'no alert has both'],
    [{ when: `{ between: [${T}, 60, 70] }` }, { when: `{ between: [${T}, 80, 90] }` }, [], 'never at once'],
    [
      { when: `{ ">": [${T}, 70] }`, do: cap('70%') },
      { when: `{ ">": [${T}, 60] }`, do: cap('80%') },
      ['b.yaml RULE_KNOB_SHARED'],
      'between 60 and 70 only the second acts',
    ],
    [
      { mode: 'dry_run', do: cap('70%') },
      { mode: 'enforce', do: cap('80%') },
      ['b.yaml RULE_KNOB_SHARED'],
      'a dry run holds nothing',
    ],
    [{ mode: 'off' }, {}, ['a.yaml RULE_POLICY_OFF'], 'what is off meets nobody'],
  ] as [Record<string, string>, Record<string, string>, string[], string][])(
    '%j and %j: %j',
    (a, b, expected, _why) => {
      expect(pair(a, b)).toEqual(expected);
    },
  );
});

describe('what is used nowhere', () => {
  it('is told at its name', () => {
    const policies = policyWith({ on: '[{ manual: m }]' }).replace(
      'policies:',
      'conditions: { idle: true }\npolicies:',
    );
    const { problems, rules } = loadRules([
      file(policies, 'a.yaml'),
      file('version: 1\nwindows: { w: { zone: UTC, from: "22:00", to: "06:00" } }\n', 'w.yaml'),
      file('version: 1\nmodes: { m: { limits: { power_cap: 80% } } }\n', 'm.yaml'),
      THRESHOLDS,
    ]);
    expect(problems.map(({ file: name, line, column, code }) => `${name}:${line}:${column} ${code}`)).toEqual([
      'a.yaml:2:15 RULE_UNUSED',
      'm.yaml:2:10 RULE_UNUSED',
      't.yaml:2:15 RULE_UNUSED',
      't.yaml:2:37 RULE_UNUSED',
      'w.yaml:2:12 RULE_UNUSED',
    ]);
    expect(rules).toBeDefined();
  });

  it('is not what a named condition uses', () => {
    const policies = policyWith({ when: '{ condition: b }', until: `{ "<": [${T}, 50] }` }).replace(
      'policies:',
      `conditions: { a: { ">": [${T}, { var: threshold.hot }] }, b: { and: [{ condition: a }, { in_window: w }] } }\npolicies:`,
    );
    const files = [
      file(policies, 'a.yaml'),
      file('version: 1\nwindows: { w: { zone: UTC, from: "22:00", to: "06:00" } }\n', 'w.yaml'),
      file('version: 1\nthresholds: { hot: { value: 85°C } }\n', 't.yaml'),
    ];
    expect(loadRules(files).problems).toEqual([]);
  });
});
