import { describe, expect, it } from 'vitest';
import type { Policy, Scope } from '../../../model/policy.ts';
import { loadRules } from '../../../rules/language/load.ts';
import { revivePolicy, serializePolicy } from '../../../rules/language/version.ts';
import { file } from './files.ts';

const POLICY = `version: 1
defaults: { zone: Europe/Berlin, cooldown: 1m }
conditions: { hot: { ">": [{ var: gpu.temperature.junction }, { var: threshold.hot }] } }
policies:
  - name: a
    description: first
    on: [{ alert: A, labels: { severity: page } }, { schedule: night }]
    target: gpu
    when: { and: [{ condition: hot }, { in_window: night }, { ">=": [{ var: time.hour }, 0] }] }
    do: [{ mode: eco }, { throttle: { clock_max: 1.5GHz } }]
    until: { "<": [{ var: gpu.temperature.junction }, 50] }
    dwell: manual
    limits: { gpus: 2 }
`;
const THRESHOLDS = 'version: 1\nthresholds: { hot: { value: 85°C } }\n';
const WINDOWS = 'version: 1\nwindows: { night: { zone: Europe/Berlin, from: "22:00", to: "06:00" } }\n';
const MODES = 'version: 1\nmodes: { eco: { limits: { power_cap: 80% } } }\n';

function load(edit: { policy?: [string, string]; thresholds?: string; windows?: string; modes?: string } = {}): Policy {
  const { policy = ['', ''], thresholds = THRESHOLDS, windows = WINDOWS, modes = MODES } = edit;
  const { rules, problems } = loadRules([
    file(POLICY.replace(...policy), 'a.yaml'),
    file(thresholds, 't.yaml'),
    file(windows, 'w.yaml'),
    file(modes, 'm.yaml'),
  ]);
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  return rules!.policies[0]!;
}

describe('the version of a policy', () => {
  const { version } = load();

  it.each([
    ['a comment', { policy: ['version: 1', '# words\nversion: 1'] }],
    ['the description', { policy: ['description: first', 'description: second'] }],
    ['a value written otherwise', { policy: ['1.5GHz', '1500MHz'] }],
    ['a default that is written out', { policy: ['dwell: manual', 'dwell: manual\n    cooldown: 60s'] }],
    ['words about a window', { windows: WINDOWS.replace('"06:00"', '"06:00", description: dark') }],
  ] as [string, Parameters<typeof load>[0]][])('stays over %s', (_, edit) => {
    expect(load(edit).version).toBe(version);
  });

  it.each([
    ['its mode', { policy: ['dwell: manual', 'dwell: manual\n    mode: enforce'] }],
    ['a limit', { policy: ['1.5GHz', '1.6GHz'] }],
    ['a default that it uses', { policy: ['cooldown: 1m', 'cooldown: 2m'] }],
    ['a named condition that it uses', { policy: ['{ ">": [{ var: gpu', '{ ">=": [{ var: gpu'] }],
    ['a threshold that it uses', { thresholds: THRESHOLDS.replace('85', '86') }],
    ['a window of its condition', { windows: WINDOWS.replace('22:00', '23:00') }],
    ['a mode that it uses', { modes: MODES.replace('80%', '81%') }],
  ] as [string, Parameters<typeof load>[0]][])('moves with %s', (_, edit) => {
    expect(load(edit).version).not.toBe(version);
  });
});

describe('a policy that was written down', () => {
  it('comes back as it was, whatever became of its files', () => {
    const before = load();
    const source = serializePolicy(before);
    const after = revivePolicy(source);
    expect(after.version).toBe(before.version);
    const plain = ({ when: _when, until: _until, ...rest }: Policy): unknown => rest;
    expect(plain(after)).toEqual(plain(before));
    expect(serializePolicy(after)).toBe(source);
    for (const [celsius, expected] of [
      [85, false],
      [86, true],
    ] as const) {
      const scope: Scope = {
        now: 0,
        get: (path) => ({ value: path.startsWith('window.') || celsius, at: 0, source: 'test' }),
      };
      expect([before.when?.evaluate(scope), after.when?.evaluate(scope)]).toEqual([expected, expected]);
    }
  });

  it.each([
    ['no JSON', 'x'],
    ['not whole', '{"name":"a"}'],
    ['nothing', 'null'],
    [
      'of a variable that is no more',
      serializePolicy(load()).replaceAll('gpu.temperature.junction', 'gpu.warmth.junction'),
    ],
  ])('is refused by code where it is %s', (_, source) => {
    expect(() => revivePolicy(source)).toThrow(expect.objectContaining({ code: 'POLICY_SOURCE_INVALID' }));
  });
});
