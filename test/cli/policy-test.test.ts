import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runPolicyTests } from '../../cli/policy-test/files.ts';
import { renderTests } from '../../cli/policy-test/text.ts';
import { folderInMemory } from '../support/memory.ts';

const POLICY = `version: 1
policies:
  - name: hot
    on: [{ alert: Hot, labels: { severity: page } }, { manual: cool-down }]
    target: gpu
    when: { ">=": [{ var: gpu.temperature.junction }, 60] }
    do: [{ throttle: { power_cap: 70%, clock_max: 1GHz } }]
    until: { "<": [{ var: gpu.temperature.junction }, 55] }
    dwell: 2s
    cooldown: 10s
    limits: { gpus: 1 }
`;

let dir: string;
beforeEach(() => {
  dir = folderInMemory('nightshift-policy-test-');
  writeFileSync(join(dir, 'hot.yaml'), POLICY);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const ALERT = '{ alert: Hot, on: gpu0, labels: { severity: page } }';
const CARDS =
  '{ gpu0: { power_cap: 100W, clock: 2GHz, facts: { temperature.junction: 70 } }, gpu1: { power_cap: 100W, facts: { temperature.junction: 70 } } }';

/** Failures of one test with this timeline and these expectations. */
async function failures(timeline: string, expected: string, more = ''): Promise<string[]> {
  const text = `version: 1\nrules: [hot.yaml]\ntests:\n  - { name: t, cards: ${CARDS}, timeline: [${timeline}], expect: [${expected}]${more} }\n`;
  writeFileSync(join(dir, 'hot.test.yaml'), text);
  const report = await runPolicyTests([dir]);
  expect(report.files.flatMap(({ problems }) => problems)).toEqual([]);
  const found = report.files.flatMap(({ tests }) => tests.flatMap((test) => test.failures));
  expect(report.passed).toBe(found.length === 0);
  return found;
}

const FIRES = `{ at: 5s, fires: [${ALERT}] }`;

describe('a test of a policy', () => {
  it.each([
    [
      'acts when the alert comes',
      FIRES,
      '{ at: 4s, not: [{ outcome: acted }] }, { at: 5s, decisions: [{ policy: hot, on: gpu0, outcome: acted, reason: condition_true }], limits: { gpu0: { power_cap: 70W, clock_max: 1000MHz }, gpu1: { power_cap: none } }, writes: { gpu0: 2, gpu1: 0 } }',
    ],
    [
      'gives back',
      `${FIRES}, { at: 10s, set: { gpu0: { temperature.junction: 50°C } } }`,
      '{ at: 11s, limits: { gpu0: { power_cap: 70W } } }, { at: 13s, decisions: [{ outcome: released }, { outcome: closed }], limits: { gpu0: { power_cap: none, clock_max: none } } }',
    ],
    [
      'is an alert without the label',
      '{ at: 5s, fires: [{ alert: Hot, on: gpu0 }] }',
      '{ at: 9s, not: [{ policy: hot }], writes: { gpu0: 0 } }',
    ],
    [
      'goes to the floor where the card falls silent',
      `${FIRES}, { at: 10s, health: { gpu0: silent } }`,
      '{ at: 30s, decisions: [{ outcome: acted }, { reason: blind_to_floor }], limits: { gpu0: { power_cap: 40W } } }',
    ],
    [
      'keeps to its limit of cards',
      `${FIRES}, { at: 6s, fires: [{ manual: cool-down, on: gpu1 }] }`,
      '{ at: 9s, decisions: [{ on: gpu1, outcome: suppressed, reason: limit_gpus }], writes: { gpu1: 0 } }',
    ],
    [
      'leaves alone what somebody else lowered',
      `${FIRES}, { at: 10s, by_hand: { gpu0: { power_cap: 60W } } }, { at: 20s, set: { gpu0: { temperature.junction: 50 } } }`,
      '{ at: 19s, limits: { gpu0: { power_cap: 60W } } }, { at: 30s, limits: { gpu0: { power_cap: 60W, clock_max: none } } }',
    ],
    [
      'does not call an ignored write a success',
      `{ at: 0s, writes: { gpu0: ignored } }, ${FIRES}`,
      '{ at: 60s, decisions: [{ outcome: failed }], not: [{ outcome: verified }] }',
    ],
  ])('%s', async (_, timeline, expected) => {
    expect(await failures(timeline, expected)).toEqual([]);
  });

  /** A policy that no longer can tell by itself: only what is heard of the alert keeps it up. */
  it.each([
    [
      'is held by the heartbeat of its alert',
      '',
      '{ at: 20m, not: [{ outcome: released }], limits: { gpu0: { power_cap: 70W } } }',
    ],
    [
      'ends with its lease where the alert falls silent',
      `, { at: 20s, falls_silent: [${ALERT}] }`,
      '{ at: 5m, not: [{ outcome: released }] }, { at: 7m, decisions: [{ outcome: released, reason: lease_expired }], limits: { gpu0: { power_cap: none } } }',
    ],
  ])('%s', async (_, more, expected) => {
    writeFileSync(join(dir, 'hot.yaml'), POLICY.replaceAll('gpu.temperature.junction', 'gpu.power'));
    const blind = '{ at: 0s, set: { gpu0: { power: 90W } } }, { at: 10s, set: { gpu0: { power: null } } }';
    expect(await failures(`${blind}, ${FIRES}${more}`, expected)).toEqual([]);
  });

  it('writes nothing in a dry run', async () => {
    const expected =
      '{ at: 9s, decisions: [{ outcome: acted }], writes: { gpu0: 0 }, limits: { gpu0: { power_cap: none } } }';
    expect(await failures(FIRES, expected, ', mode: dry_run')).toEqual([]);
    expect(await failures(FIRES, expected, ', mode: as_written')).toEqual([]);
  });

  it.each([
    [
      '{ at: 5s, decisions: [{ outcome: released }] }',
      'at 5s: expected a decision released; there was hot acted on gpu0 (condition_true)',
    ],
    ['{ at: 4s, decisions: [{ policy: hot }] }', 'at 4s: expected hot; there was nothing since the last look'],
    ['{ at: 5s, not: [{ on: gpu0 }] }', 'at 5s: did not expect hot acted on gpu0 (condition_true)'],
    ['{ at: 5s, limits: { gpu0: { power_cap: 71W } } }', 'at 5s: expected power_cap 71 W of gpu0, it is 70 W'],
    ['{ at: 5s, limits: { gpu0: { power_cap: none } } }', 'at 5s: expected power_cap 100 W of gpu0, it is 70 W'],
    [
      '{ at: 5s, limits: { gpu1: { clock_max: 1GHz } } }',
      'at 5s: expected clock_max 1000 MHz of gpu1, it is not there',
    ],
    ['{ at: 5s, writes: { gpu0: 0 } }', 'at 5s: expected 0 writes to gpu0, not 2'],
  ])('fails where %s', async (expected, message) => {
    const [first] = await failures(FIRES, expected);
    expect(first?.startsWith(message)).toBe(true);
  });

  it('wants decisions in the order in which they stand', async () => {
    const cool = '{ at: 10s, set: { gpu0: { temperature.junction: 50 } } }';
    const [acted, released] = ['{ outcome: acted }', '{ outcome: released }'];
    expect(await failures(`${FIRES}, ${cool}`, `{ at: 20s, decisions: [${acted}, ${released}] }`)).toEqual([]);
    expect(await failures(`${FIRES}, ${cool}`, `{ at: 20s, decisions: [${released}, ${acted}] }`)).toHaveLength(1);
  });
});

describe('a file of tests', () => {
  const run = async (text: string): Promise<string[]> => {
    writeFileSync(join(dir, 'hot.test.yaml'), text);
    const report = await runPolicyTests([dir]);
    expect(report.passed).toBe(false);
    return report.files.flatMap(({ problems }) =>
      problems.map(({ line, column, code }) => `${line}:${column} ${code}`),
    );
  };
  const test = (body: string): string => `version: 1\nrules: [hot.yaml]\ntests:\n  - { name: t, ${body} }\n`;

  it.each([
    [
      'a card that is not there',
      test('cards: { a: {} }, expect: [{ at: 1s, writes: { b: 0 } }]'),
      '4:63 RULE_REFERENCE_UNKNOWN',
    ],
    [
      'a reading that no card has',
      test('cards: { a: { facts: { warmth: 1 } } }, expect: [{ at: 1s }]'),
      '4:47 RULE_VALUE_INVALID',
    ],
    [
      'a temperature in watts',
      test('cards: { a: { facts: { temperature.mem: 1W } } }, expect: [{ at: 1s }]'),
      '4:56 RULE_VALUE_INVALID',
    ],
    [
      'an outcome that is none',
      test('cards: {}, expect: [{ at: 1s, decisions: [{ outcome: act }] }]'),
      '4:69 RULE_VALUE_INVALID',
    ],
    ['a time that is none', test('cards: {}, starts: today, expect: [{ at: 1s }]'), '4:35 RULE_VALUE_INVALID'],
    ['days on end', test('cards: {}, expect: [{ at: 3d }]'), '4:42 RULE_VALUE_INVALID'],
    ['no rules of that name', 'version: 1\nrules: [cold.yaml]\ntests: []\n', '2:9 RULE_REFERENCE_UNKNOWN'],
  ])('is refused for %s', async (_, text, expected) => {
    expect(await run(text)).toEqual([expected]);
  });

  it('fails where the rules it names are wrong, and says how', async () => {
    writeFileSync(join(dir, 'hot.yaml'), POLICY.replace('target: gpu', 'target: gpus'));
    expect(await run(test('cards: {}, expect: [{ at: 1s }]'))).toEqual(['5:13 RULE_VALUE_INVALID']);
  });

  it('fails where there is no test at all', async () => {
    rmSync(join(dir, 'hot.test.yaml'), { force: true });
    mkdirSync(join(dir, 'empty'));
    const report = await runPolicyTests([join(dir, 'empty')]);
    expect(report.passed).toBe(false);
    expect(renderTests(report)).toBe('\nno tests found\n');
  });
});

describe('the report for people', () => {
  it('shows tests, failures, and what no test saw', async () => {
    writeFileSync(
      join(dir, 'hot.test.yaml'),
      `version: 1\nrules: [hot.yaml]\ntests:\n  - { name: is right, cards: ${CARDS}, timeline: [${FIRES}], expect: [{ at: 5s, writes: { gpu0: 2 } }] }\n  - { name: is wrong, cards: ${CARDS}, expect: [{ at: 1s, writes: { gpu0: 1 } }] }\n`,
    );
    expect(renderTests(await runPolicyTests([join(dir, 'hot.test.yaml')]))).toBe(`${dir}/hot.test.yaml
  ok   is right
  FAIL is wrong
         at 1s: expected 1 writes to gpu0, not 0

policy  acted  released  branches  held back by
hot     yes    NO        2/4       -
hot: never false in a test: when: >=(gpu.temperature.junction, 60)
hot: never true in a test: until: <(gpu.temperature.junction, 55)

1 passed, 1 failed
`);
  });
});
