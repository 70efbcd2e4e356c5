import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadRules } from '../../../rules/language/load.ts';
import type { RuleFile } from '../../../rules/language/sheet.ts';
import { isInWindow } from '../../../rules/language/window.ts';
import { file, findings, policyWith } from './files.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures/rules');

/** The shape that the actuator is specified by. */
const HOT = `version: 1
policies:
  - name: hot-junction
    description: cap the card at 70 % of its default while the junction is hot
    mode: enforce
    on: [{ alert: AmdGpuJunctionHot }]
    target: gpu
    when: { ">=": [{ var: gpu.temperature.junction }, 60] }
    do: [{ throttle: { power_cap: 70% } }]
    until: { "<": [{ var: gpu.temperature.junction }, 55] }
    dwell: 2s
    lease: 2m
    cooldown: 10s
    limits: { gpus: 8, percent: 100 }
`;

describe('a policy file', () => {
  it('becomes a policy with units converted and conditions compiled', () => {
    const { rules, problems } = loadRules([file(HOT)]);
    expect(problems.map(({ code, severity }) => [code, severity])).toEqual([['RULE_LEASE_SHORT', 'warning']]);
    expect(rules?.policies).toHaveLength(1);
    expect(rules?.policies[0]).toMatchObject({
      name: 'hot-junction',
      mode: 'enforce',
      on: [{ source: 'alert', name: 'AmdGpuJunctionHot' }],
      target: 'gpu',
      forMs: 0,
      do: [{ kind: 'throttle', powerCap: { share: 0.7 } }],
      dwellMs: 2_000,
      leaseMs: 120_000,
      cooldownMs: 10_000,
      limits: { gpus: 8, percent: 100 },
      thermal: true,
      at: { file: 'rules.yaml', line: 3 },
    });
    const scope = (value: number) => ({ now: 0, get: () => ({ value, at: 0, source: 'test' }) });
    const { when, until } = rules!.policies[0]!;
    expect([59, 60].map((value) => when?.evaluate(scope(value)))).toEqual([false, true]);
    expect([55, 54].map((value) => until?.evaluate(scope(value)))).toEqual([false, true]);
  });

  it('has the defaults of this program, then those of its file, then its own words', () => {
    const text = (defaults: string, own: string) =>
      `version: 1\n${defaults}policies: [{ name: a, on: [{ manual: m }], target: gpu, do: [{ notify: hi }]${own} }]\n`;
    const policy = (defaults: string, own = '') => loadRules([file(text(defaults, own))]).rules?.policies[0];
    expect(policy('')).toMatchObject({
      mode: 'dry_run',
      forMs: 0,
      dwellMs: 60_000,
      leaseMs: 360_000,
      cooldownMs: 300_000,
      limits: {},
      notify: [],
    });
    const defaults = 'defaults: { mode: enforce, lease: 9m, dwell: manual, limits: { gpus: 2 }, notify: [acted] }\n';
    const ours = { mode: 'enforce', leaseMs: 540_000, dwellMs: 'manual', limits: { gpus: 2 }, notify: ['acted'] };
    expect(policy(defaults)).toMatchObject(ours);
    expect(policy(defaults, ', lease: 7m, mode: "off"')).toMatchObject({ ...ours, leaseMs: 420_000, mode: 'off' });
  });

  it.each([
    ['power_cap: 450W', { powerCap: { watts: 450 } }],
    ['power_cap: 0.45kW', { powerCap: { watts: 450 } }],
    ['power_cap: 75%', { powerCap: { share: 0.75 } }],
    ['clock_max: 1.5GHz', { clockMax: 1500 }],
    ['memory_clock_max: 900MHz', { memClockMax: 900 }],
  ])('reads %s', (written, wish) => {
    const { rules } = loadRules([file(policyWith({ do: `[{ throttle: { ${written} } }]` }))]);
    expect(rules?.policies[0]?.do[0]).toEqual({ kind: 'throttle', ...wish });
  });

  it('puts modes, windows and thresholds of other files in', () => {
    const policies = `version: 1
policies:
  - name: night
    on: [{ schedule: night }]
    target: gpu
    when: { "<": [{ var: gpu.temperature.junction }, { var: threshold.hot }] }
    do: [{ mode: eco }, { ladder: { on: gpu.temperature.mem, hysteresis: 3°C, rungs: [{ at: 90°C, clock_max: 1GHz }] } }]
    limits: { gpus: 1 }
`;
    const { rules, problems } = loadRules([
      file(policies, 'a.yaml'),
      file(
        'version: 1\nwindows: { night: { zone: UTC, from: "22:00", to: "06:00", days: [fri..sun, tue] } }\n',
        'w.yaml',
      ),
      file(
        'version: 1\nmodes: { eco: { limits: { power_cap: 80% }, models: { MI210: { power_cap: 230W } } } }\n',
        'm.yaml',
      ),
      file('version: 1\nthresholds: { hot: { value: 85°C, description: hot } }\n', 't.yaml'),
    ]);
    expect(problems).toEqual([]);
    expect(rules?.windows.get('night')).toEqual({
      name: 'night',
      zone: 'UTC',
      start: 1320,
      end: 360,
      days: [2, 5, 6, 7],
    });
    expect(rules?.thresholds.get('hot')).toEqual({ name: 'hot', value: 85, unit: 'celsius', description: 'hot' });
    expect(rules?.policies[0]?.do).toEqual([
      {
        kind: 'mode',
        mode: 'eco',
        any: { powerCap: { share: 0.8 } },
        byModel: { MI210: { powerCap: { watts: 230 } } },
      },
      { kind: 'ladder', variable: 'gpu.temperature.mem', hysteresis: 3, rungs: [{ at: 90, clockMax: 1000 }] },
    ]);
  });

  it('takes a whole day from 00:00 to 24:00', () => {
    const whole = 'version: 1\nwindows: { all: { zone: Europe/Berlin, from: "00:00", to: "24:00", days: sun } }\n';
    const { rules } = loadRules([file(whole, 'w.yaml')]);
    const all = rules?.windows.get('all');
    expect(all).toMatchObject({ start: 0, end: 1440, days: [7] });
    // The Sunday on which clocks go forward has 23 hours.
    const hours = (from: string, to: string): boolean[] => [from, to].map((at) => isInWindow(all!, Date.parse(at)));
    expect(hours('2026-03-28T22:59:59Z', '2026-03-28T23:00:00Z')).toEqual([false, true]);
    expect(hours('2026-03-29T21:59:59Z', '2026-03-29T22:00:00Z')).toEqual([true, false]);
  });

  it('takes one zone for time.* over all files, and refuses a second one', () => {
    const timed = policyWith({ when: '{ ">=": [{ var: time.hour }, 22] }', until: '{ "<": [{ var: time.hour }, 6] }' });
    const other = policyWith({ name: 'b', on: '[{ manual: b }]' });
    expect(findings([file(timed)])).toContainEqual(expect.stringContaining('CONDITION_VARIABLE_REFUSED'));
    const zoned = (zone: string, text: string) => text.replace('policies:', `defaults: { zone: ${zone} }\npolicies:`);
    const both = loadRules([file(timed, 'a.yaml'), file(zoned('Asia/Shanghai', other), 'b.yaml')]);
    expect(both.rules?.zone).toBe('Asia/Shanghai');
    const two = [file(zoned('UTC', timed), 'a.yaml'), file(zoned('Asia/Shanghai', other), 'b.yaml')];
    expect(findings(two)).toEqual(['b.yaml:2:19 RULE_VALUE_INVALID']);
  });
});

describe('what is wrong', () => {
  it('is told all at once, each with line and column', () => {
    const text = readFileSync(join(FIXTURES, 'ten-mistakes.yaml'), 'utf8');
    const { rules, problems } = loadRules([file(text, 'ten.yaml')]);
    expect(rules).toBeUndefined();
    expect(problems.map(({ line, column, code, hint }) => `${line}:${column} ${code} ${hint}`)).toEqual([
      '3:9 RULE_VALUE_INVALID Did you mean enforce?',
      '4:10 RULE_VALUE_INVALID Write 6m.',
      '6:11 RULE_VALUE_INVALID Write hot-junction.',
      '7:12 RULE_KEY_UNKNOWN Did you mean "alert"?',
      '9:27 CONDITION_VARIABLE_UNKNOWN Did you mean gpu.temperature.junction?',
      '11:32 RULE_VALUE_INVALID Write 70% or 450W.',
      '12:15 RULE_REFERENCE_UNKNOWN These files have no mode at all.',
      '13:55 CONDITION_UNIT Write it like 85°C.',
      '14:5 RULE_KEY_UNKNOWN Did you mean "dwell"?',
      '19:5 RULE_KEY_LATER Begin with limits: { gpus: 1 }.',
    ]);
    const lines = text.split('\n');
    for (const { line, snippet } of problems) expect(snippet).toBe(lines[line - 1]);
  });

  /** Each with why it is one: files that look right and are not. */
  it.each([
    ['a tab', 'version: 1\npolicies:\n\t- name: a\n', '3:1 RULE_YAML_INVALID'],
    ['a key twice, of which one would win', 'version: 1\nversion: 1\npolicies: []\n', '2:1 RULE_YAML_INVALID'],
    ['YAML 1.1, in which no is false and 22:00 is 1320', '%YAML 1.1\n---\nversion: 1\n', '1:1 RULE_YAML_INVALID'],
    ['a tag', 'version: 1\npolicies: !function {}\n', '2:11 RULE_YAML_INVALID'],
    ['a second document', 'version: 1\npolicies: []\n---\nversion: 1\n', '3:1 RULE_YAML_INVALID'],
    ['an alias to nothing', 'version: 1\npolicies: *a\n', '1:1 RULE_YAML_INVALID'],
    ['nothing', '', '1:1 RULE_FILE_KIND'],
    ['a list', '- a\n', '1:1 RULE_FILE_KIND'],
    ['a slip in the one key that says what it is', 'version: 1\npolicie: []\n', '2:1 RULE_FILE_KIND'],
    ['two things in one file', 'version: 1\npolicies: []\nwindows: {}\n', '3:1 RULE_FILE_KIND'],
    ['a file of a later version', 'version: 1\nworkloads: []\n', '2:1 RULE_FILE_LATER'],
    ['no version', 'policies: []\n', '1:1 RULE_KEY_MISSING'],
    ['another version', 'version: 2\npolicies: []\n', '1:10 RULE_VALUE_INVALID'],
    ['a merge key, which YAML 1.2 does not have', 'version: 1\npolicies: []\n<<: {}\n', '3:1 RULE_KEY_UNKNOWN'],
    ['a time of day without quotes is one in 1.2, a number is none', window('from: 22'), '2:35 RULE_VALUE_INVALID'],
    ['a time of day with one digit', window('from: "6:00"'), '2:35 RULE_VALUE_INVALID'],
    ['a window of no length', window('from: "06:00"'), '2:48 RULE_VALUE_INVALID'],
    ['a zone that is an offset', window('from: "22:00"', '+01:00'), '2:23 RULE_VALUE_INVALID'],
    ['a zone that is a place of no zone', window('from: "22:00"', 'Europe/Atlantis'), '2:23 RULE_VALUE_INVALID'],
    ['no zone', 'version: 1\nwindows: { n: { from: "22:00", to: "06:00" } }\n', '2:12 RULE_KEY_MISSING'],
    ['a day that is none', window('days: [mon, fre], from: "22:00"'), '2:35 RULE_VALUE_INVALID'],
    ['a threshold without unit sign', 'version: 1\nthresholds: { a: { value: 85F } }\n', '2:27 RULE_VALUE_INVALID'],
    [
      'a threshold whose name reads as a minus',
      'version: 1\nthresholds: { a-b: { value: 1 } }\n',
      '2:15 RULE_VALUE_INVALID',
    ],
    ['a mode that limits nothing', 'version: 1\nmodes: { a: { description: x } }\n', '2:13 RULE_KEY_MISSING'],
  ])('is %s', (_, text, expected) => {
    const [first = ''] = findings([file(text)]).filter((one) => !one.includes('RULE_UNUSED'));
    expect(first).toBe(`rules.yaml:${expected}`);
  });

  it('in a mode that a policy uses is told where the mode stands', () => {
    const modes = { file: 'modes.yaml', text: 'version: 1\nmodes: { eco: { power_cap: 75% } }\n' };
    const found = findings([modes, file(policyWith({ do: '[{ mode: eco }]' }))]);
    expect(found).toContainEqual(expect.stringMatching(/^modes.yaml:2:\d+ RULE_KEY_UNKNOWN$/));
  });

  it.each([
    ['a percent above 100', { do: '[{ throttle: { power_cap: 120% } }]' }, 'RULE_VALUE_INVALID'],
    ['no power at all', { do: '[{ throttle: { power_cap: 0W } }]' }, 'RULE_VALUE_INVALID'],
    ['a clock in watts', { do: '[{ throttle: { clock_max: 300W } }]' }, 'RULE_VALUE_INVALID'],
    ['a throttle of nothing', { do: '[{ throttle: {} }]' }, 'RULE_KEY_MISSING'],
    ['an empty action', { do: '[{}]' }, 'RULE_VALUE_INVALID'],
    ['an action that is two', { do: '[{ notify: a, throttle: { power_cap: 70% } }]' }, 'RULE_VALUE_INVALID'],
    ['no action', { do: '[]' }, 'RULE_VALUE_INVALID'],
    ['an empty block of actions', { do: '' }, 'RULE_VALUE_INVALID'],
    ['a trigger that is two', { on: '[{ alert: A, manual: b }]' }, 'RULE_VALUE_INVALID'],
    ['labels of what has none', { on: '[{ manual: b, labels: { a: b } }]' }, 'RULE_VALUE_INVALID'],
    ['a label that is a number', { on: '[{ alert: A, labels: { gpu: 1 } }]' }, 'RULE_VALUE_INVALID'],
    ['a window that is not there', { on: '[{ schedule: night }]' }, 'RULE_REFERENCE_UNKNOWN'],
    ['nothing that would ever hold it back', { on: '[]' }, 'RULE_KEY_MISSING'],
    ['a limit of no cards', { limits: '{ gpus: 0 }' }, 'RULE_VALUE_INVALID'],
    ['a share of cards in text', { limits: '{ percent: 50% }' }, 'RULE_VALUE_INVALID'],
    ['a lease of years', { lease: '1000d' }, 'RULE_VALUE_INVALID'],
    ['a mode that is no', { mode: 'no' }, 'RULE_VALUE_INVALID'],
    ['an action of a later version', { do: '[{ evict: {} }]' }, 'RULE_KEY_LATER'],
    [
      'rungs that fall',
      { do: ladder('{ at: 90°C, power_cap: 80% }', '{ at: 85°C, power_cap: 70% }') },
      'RULE_LADDER_DISORDER',
    ],
    [
      'a rung that limits less',
      { do: ladder('{ at: 85°C, power_cap: 70% }', '{ at: 90°C, power_cap: 80% }') },
      'RULE_LADDER_DISORDER',
    ],
    [
      'a rung that lifts a limit',
      { do: ladder('{ at: 85°C, power_cap: 70% }', '{ at: 90°C, clock_max: 1GHz }') },
      'RULE_LADDER_DISORDER',
    ],
    ['a rung in watts of a temperature', { do: ladder('{ at: 85W, power_cap: 70% }') }, 'RULE_VALUE_INVALID'],
    ['a rung without a unit', { do: ladder('{ at: 85, power_cap: 70% }') }, 'RULE_VALUE_INVALID'],
    ['a kind of signal that there is not', { on: '[{ signal: burts }]' }, 'RULE_VALUE_INVALID'],
    ['text that is not UTF-8', { description: '\ufffd' }, 'RULE_YAML_INVALID'],
    [
      'a ladder on a text',
      { do: ladder('{ at: 1, power_cap: 70% }').replace(/gpu\.\S+,/, 'gpu.model,') },
      'RULE_VALUE_INVALID',
    ],
    [
      'a ladder on nothing',
      { do: ladder('{ at: 1, power_cap: 70% }').replace('junction', '') },
      'RULE_REFERENCE_UNKNOWN',
    ],
    ['two operators in one block', { when: '{ ">": [1, 2], "<": [1, 2] }' }, 'CONDITION_NOT_A_RULE'],
    ['a condition that nobody named', { when: '{ condition: hot }' }, 'CONDITION_NAMED_UNKNOWN'],
  ])('in a policy is %s', (_, own, code) => {
    const errors = loadRules([file(policyWith(own))]).problems.filter(({ severity }) => severity === 'error');
    expect(errors.map((problem) => problem.code)).toEqual([code]);
    expect(errors[0]).toMatchObject({ line: expect.any(Number), hint: expect.stringMatching(/\.$|\?$/) });
    // Never at the beginning of the file: the place is that of the mistake.
    expect(errors[0]!.line).toBeGreaterThan(2);
  });

  it('in a named condition is told once, where it is written', () => {
    const text = policyWith({ when: '{ condition: hot }', until: '{ "!": { condition: hot } }' }).replace(
      'policies:',
      'conditions: { hot: { ">": [{ var: gpu.temprature.junction }, 80] } }\npolicies:',
    );
    const errors = findings([file(text)]).filter((one) => one.includes('CONDITION'));
    expect(errors).toEqual(['rules.yaml:2:35 CONDITION_VARIABLE_UNKNOWN']);
  });

  it('of a threshold is not told again by whoever uses it', () => {
    const user = policyWith({ when: '{ ">": [{ var: gpu.temperature.junction }, { var: threshold.hot }] }' });
    const files = [file(user, 'a.yaml'), file('version: 1\nthresholds: { hot: { value: hot } }\n', 't.yaml')];
    expect(findings(files).filter((one) => !one.includes('NO_RELEASE'))).toEqual(['t.yaml:2:29 RULE_VALUE_INVALID']);
  });

  it('is a name that two files give', () => {
    expect(findings([file(policyWith({}), 'a.yaml'), file(policyWith({}), 'b.yaml')])).toContain(
      'b.yaml:3:11 RULE_NAME_TAKEN',
    );
  });

  it('is a file of more than 1 MiB, and nothing else of it', () => {
    expect(findings([file(`# ${'x'.repeat(1_048_576)}\n`)])).toEqual(['rules.yaml:1:1 RULE_FILE_TOO_LARGE']);
  });

  it('is a model that no card is called by, where the caller knows their names', () => {
    const modes = file('version: 1\nmodes: { eco: { models: { M1210: { power_cap: 230W } } } }\n', 'modes.yaml');
    const user = file(policyWith({ do: '[{ mode: eco }]' }), 'p.yaml');
    const { problems } = loadRules([modes, user], { models: ['MI210', 'MI300X'] });
    expect(problems.find(({ code }) => code === 'RULE_MODEL_UNKNOWN')).toMatchObject({ hint: 'Did you mean MI210?' });
    expect(findings([modes, user])).not.toContainEqual(expect.stringContaining('MODEL'));
  });
});

describe('whatever stands in a file', () => {
  const broken = (text: string): fc.Arbitrary<string> =>
    fc
      .array(
        fc.tuple(
          fc.nat(text.length),
          fc.nat(6),
          fc.constantFrom('', '\n', ':', '{', '}', '[', '"', '&a ', '*a', '- ', '\u0000', '9', '°'),
        ),
      )
      .map((cuts) => cuts.reduce((now, [at, length, put]) => now.slice(0, at) + put + now.slice(at + length), text));

  it('loads or is told to be wrong, in bounds, and never throws', () => {
    fc.assert(
      fc.property(broken(HOT), (text) => {
        const { rules, problems } = loadRules([file(text)]);
        const lines = text.split('\n').length;
        expect(rules !== undefined || problems.some(({ severity }) => severity === 'error')).toBe(true);
        for (const { line, column } of problems) {
          expect(line >= 1 && line <= lines).toBe(true);
          expect(column).toBeGreaterThanOrEqual(1);
        }
      }),
      { numRuns: 150 },
    );
  }, 30_000);

  it.each([
    ['nested without end', '['.repeat(50_000)],
    ['a bomb of aliases', bomb()],
    ['a prototype', 'version: 1\n__proto__: { policies: [] }\nconstructor: 1\npolicies: []\n'],
  ])('is refused where it is %s', (_, text) => {
    const files: RuleFile[] = [file(text)];
    expect(loadRules(files).problems.some(({ severity }) => severity === 'error')).toBe(true);
  });
});

function bomb(): string {
  const levels = Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(', ')}]`);
  return `version: 1\npolicies: []\na0: &a0 [x]\n${levels.join('\n')}\n`;
}

function window(own: string, zone = 'UTC'): string {
  return `version: 1\nwindows: { n: { zone: ${`${zone},`.padEnd(5)} ${own}, to: "06:00" } }\n`;
}

function ladder(...rungs: string[]): string {
  return `[{ ladder: { on: gpu.temperature.junction, hysteresis: 3°C, rungs: [${rungs.join(', ')}] } }]`;
}
