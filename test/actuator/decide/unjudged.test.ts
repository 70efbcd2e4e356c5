import { describe, expect, it } from 'vitest';
import { isUnproven } from '../../../actuator/decide/witness.ts';
import type { Book } from '../../../model/book.ts';
import type { Policy, Scope } from '../../../model/policy.ts';
import type { OpenTrigger } from '../../../model/trigger.ts';
import { loadRules } from '../../../rules/language/load.ts';
import { pciOf, policyYaml, World } from './world.ts';

const outcomes = (decisions: { outcome: string; reason: string }[]): string[] =>
  decisions.map(({ outcome, reason }) => `${outcome} ${reason}`);

function reload(world: World, policies: string): void {
  const { rules } = loadRules([{ file: 'p.yaml', text: `version: 1\npolicies:\n${policies}` }]);
  if (rules === undefined) throw new Error('the rules are wrong');
  (world.book as Book).rules = rules;
  world.book.considered.clear();
}

const LADDER =
  '[{ ladder: { on: gpu.temperature.junction, hysteresis: 3°C, rungs: [{ at: 60°C, power_cap: 80% }, { at: 80°C, power_cap: 60% }] } }]';

describe('a card that cannot be set just now', () => {
  it('is limited with the rest of the node as soon as it can be', () => {
    const policy = { target: 'node', on: '[{ manual: quiet }]', when: undefined, until: undefined };
    const world = new World(policyYaml(policy));
    Object.assign(world.card(1), { adjustable: false, why: 'asleep' });
    world.trigger({
      source: 'manual',
      name: 'quiet',
      key: 'm1',
      target: { kind: 'node' },
      until: world.now + 3_600_000,
    });
    world.pass(5);
    expect([world.cap(0), world.cap(1)]).toEqual([70, undefined]);
    world.card(1).adjustable = true;
    expect(outcomes(world.pass(1))).toContain('adjusted now_adjustable');
    expect([world.cap(0), world.cap(1)]).toEqual([70, 70]);
    expect(outcomes(world.pass(10))).not.toContain('adjusted now_adjustable');
  });

  it('is not said to be one that never can', () => {
    const world = new World(policyYaml());
    Object.assign(world.card(0), { junction: 70, adjustable: false, why: 'unprobed' });
    expect(outcomes(world.trigger())).toEqual(['suppressed card_not_ok']);
    Object.assign(world.card(0), { why: 'fixed_range' });
    expect(outcomes(world.pass(1))).toEqual(['suppressed not_adjustable']);
  });

  it('keeps what is claimed of it when its sensor goes blind with it', () => {
    const world = new World(policyYaml());
    world.card(0).junction = 70;
    world.trigger();
    expect(world.cap(0)).toBe(70);
    world.card(0).health = 'silent';
    world.card(0).adjustable = false;
    world.pass(15);
    expect(world.cap(0)).toBeDefined();
    world.card(0).health = 'ok';
    world.card(0).junction = 70;
    world.pass(1);
    expect(world.cap(0)).toBeDefined();
  });

  it('keeps a ladder’s claim while nobody has looked yet whether its file may be written', () => {
    const world = new World(policyYaml({ do: LADDER }));
    world.card(0).junction = 70;
    world.trigger();
    expect(world.cap(0)).toBe(80);
    world.card(0).adjustable = false;
    world.card(0).junction = 85;
    world.pass(1);
    expect(world.cap(0)).toBe(80);
    world.card(0).adjustable = true;
    world.pass(1);
    expect(world.cap(0)).toBe(60);
  });
});

describe('an edit of a policy', () => {
  it('leaves no pending case behind that keeps the new version from acting', () => {
    const world = new World(policyYaml({ for: '10s' }));
    world.card(0).junction = 70;
    world.trigger();
    expect(world.states()).toEqual(['pending']);
    reload(world, policyYaml({ for: '5s' }));
    world.pass(20);
    expect(world.cap(0)).toBe(70);
  });

  it('to enforce begins to act although a dry run holds the pair', () => {
    const world = new World(policyYaml({ mode: 'dry_run' }));
    world.card(0).junction = 70;
    world.trigger();
    expect(world.states()).toEqual(['active']);
    reload(world, policyYaml());
    world.pass(3);
    expect([...world.book.cases.values()][0]?.mode).toBe('enforce');
  });

  it('to off ends a pending case', () => {
    const world = new World(policyYaml({ for: '10s' }));
    world.card(0).junction = 70;
    world.trigger();
    reload(world, policyYaml({ for: '10s', mode: 'off' }));
    world.pass(20);
    expect(world.states()).toEqual([]);
  });
});

describe('two samples', () => {
  it('are counted from where the condition holds without a break', () => {
    const world = new World(policyYaml({ on: undefined }));
    world.card(0).junction = 70;
    world.pass(1);
    world.card(0).junction = undefined;
    world.pass(1);
    world.card(0).junction = 70;
    world.pass(1);
    // The firmware stands still.
    world.now += 1000;
    world.step({ type: 'tick' });
    expect(world.decided.filter(({ outcome }) => outcome === 'acted')).toEqual([]);
  });
});

describe('an unproven sender', () => {
  it.each([
    ['its own label', '{ "==": [{ var: alert.labels.severity }, page] }'],
    ['nothing at all', 'true'],
    [
      'its own label or a reading',
      '{ or: [{ "==": [{ var: alert.labels.severity }, page] }, { ">=": [{ var: gpu.temperature.junction }, 60] }] }',
    ],
    [
      'a reading above a bound of its own',
      '{ ">=": [{ var: gpu.temperature.junction }, { number: { var: alert.labels.bound } }] }',
    ],
  ])('does not become a witness through a condition on %s', (_, when) => {
    const world = new World(policyYaml({ when, until: undefined }));
    world.card(0).junction = 40;
    const made = world.trigger({ trusted: false, values: { severity: 'page', bound: '-300' } });
    expect(outcomes(made)).toEqual(['suppressed untrusted']);
  });

  it.each([
    ['gpu.vram_size', '1GiB', true],
    ['gpu.numa_node', '0', true],
    ['gpu.power_cap', '100W', true],
    ['gpu.vram_used', '1GiB', false],
    ['gpu.power', '100W', false],
  ])('finds no second witness in what never changes: %s', (path, bound, unproven) => {
    const when = `{ and: [{ "==": [{ var: alert.labels.severity }, page] }, { ">=": [{ var: ${path} }, ${bound}] }] }`;
    const world = new World(policyYaml({ when, until: undefined }));
    const scope: Scope = {
      now: 0,
      get: (asked) => ({ value: asked === path ? 2 ** 34 : 'page', at: 0, source: 'test' }),
    };
    const trigger = { trusted: false } as OpenTrigger;
    expect(isUnproven(world.book.rules.policies[0] as Policy, [trigger], () => scope)).toBe(unproven);
  });

  it('does not keep a case alive that has no condition of our own', () => {
    const world = new World(policyYaml({ when: undefined, until: undefined, lease: '60s' }));
    world.trigger();
    for (let i = 0; i < 20; i++) {
      world.pass(10);
      world.trigger({ key: 'x@1', trusted: false, phase: i === 0 ? 'open' : 'renew' });
    }
    expect(world.states()).toEqual([]);
  });
});

describe('an alert that flaps', () => {
  it('leaves the case the first and the newest of its episodes', () => {
    const world = new World(policyYaml({ cooldown: '0s' }));
    world.card(0).junction = 70;
    for (let i = 0; i < 200; i++) world.trigger({ key: `f@${i}` });
    const triggers = [...world.book.cases.values()][0]?.triggers ?? [];
    expect([triggers.length, triggers[0], triggers.at(-1)]).toEqual([64, 'f@0', 'f@199']);
  });
});

describe('blast radius', () => {
  it('holds for a policy about the whole node', () => {
    const world = new World(
      policyYaml({ target: 'node', when: undefined, until: undefined, limits: '{ gpus: 1 }' }),
      4,
    );
    world.trigger({ target: { kind: 'node' } });
    expect(world.cap(3)).toBeUndefined();
  });
});

describe('alerts that lead nowhere', () => {
  it('are told once, however many there are', () => {
    const world = new World(policyYaml());
    for (let i = 0; i < 5; i++) world.trigger({ key: `f${i}@1`, target: { kind: 'gpu', pci: pciOf(99) } });
    world.pass(1);
    expect(world.pass(20)).toEqual([]);
  });
});

describe('blindness', () => {
  it('is of the sensor, not of an alert that has ended', () => {
    const world = new World(
      policyYaml({
        until: '{ and: [{ "==": [{ var: alert.labels.x }, a] }, { "<": [{ var: gpu.temperature.junction }, 55] }] }',
      }),
    );
    world.card(0).junction = 70;
    world.trigger({ values: { x: 'a' } });
    world.trigger({ phase: 'close' });
    world.card(0).junction = 50;
    world.pass(240);
    expect(world.states()).toEqual([]);
  });
});
