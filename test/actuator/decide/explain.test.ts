import { describe, expect, it } from 'vitest';
import { explain } from '../../../actuator/decide/explain.ts';
import { pciOf, policyYaml, World } from './world.ts';

const one = (world: World) => {
  const [first, ...rest] = explain(world.book, world.facts(), { pci: pciOf(0) });
  expect(rest).toEqual([]);
  if (first === undefined) throw new Error('nothing explained');
  return first;
};

describe('an explanation', () => {
  it('says which trigger and which value are missing', () => {
    const world = new World(policyYaml());
    const said = one(world);
    expect(said.reason).toBe('no_trigger');
    expect(said.wouldClaim).toMatchObject([{ knob: 'power_cap', atMost: 70 }]);
    expect(said.change).toEqual([
      'One of its triggers has to be open for this target: alert Hot.',
      'Its condition is false: gpu.temperature.junction (40) >= 60 is false.',
    ]);
  });

  it('says that a value cannot be known, and why', () => {
    const world = new World(policyYaml());
    world.card(0).junction = undefined;
    expect(one(world).change[1]).toBe(
      'Its condition cannot be known: gpu.temperature.junction (timeout) >= 60 is unknown.',
    );
  });

  it('names every guard that stands in the way, with its numbers', () => {
    const world = new World(policyYaml({ limits: '{ gpus: 1 }' }));
    world.card(0).junction = 70;
    world.card(1).junction = 70;
    world.trigger({ key: 'f2@1', target: { kind: 'gpu', pci: pciOf(1) } });
    world.trigger();
    world.put({ put: 'pause', pause: { id: 'p1', reason: 'repair', author: 'me', since: world.now } });
    const { change, guards, reason } = one(world);
    expect(reason).toBe('paused');
    expect(guards.filter(({ passes }) => !passes).map(({ guard }) => guard)).toEqual(['paused', 'limit_gpus']);
    expect(change).toEqual([
      'It is paused by me until a person resumes it: repair (nightshift resume p1).',
      'It holds 1 GPUs, and may hold 1.',
    ]);
  });

  it('says what stands in the way of a case that only waits, and for how long it has to', () => {
    const world = new World(policyYaml({ for: '30s' }));
    world.card(0).junction = 70;
    world.trigger();
    world.pass(10);
    expect(one(world)).toMatchObject({
      reason: 'condition_holds',
      change: ['Its condition has to hold 20s longer.'],
      wouldClaim: [{ atMost: 70 }],
    });
    world.put({ put: 'pause', pause: { id: 'p1', reason: 'repair', author: 'me', since: world.now } });
    world.pass(25);
    const { reason, change } = one(world);
    expect([world.states(), reason]).toEqual([['pending'], 'paused']);
    expect(change).toEqual(['It is paused by me until a person resumes it: repair (nightshift resume p1).']);
  });

  it('says when a call ends, and that a limit is too small for the whole node', () => {
    const quiet = { on: '[{ manual: quiet }]', when: undefined, until: undefined };
    const world = new World(policyYaml(quiet));
    const call = { source: 'manual', name: 'quiet', key: 'q@1' } as const;
    world.trigger({ ...call, until: world.now + 20_000 });
    expect(one(world).change).toEqual(['It ends with its window or its call, in 20s.']);
    const wide = new World(policyYaml({ ...quiet, target: 'node', limits: '{ percent: 50 }' }));
    wide.trigger({ ...call, target: { kind: 'node' }, until: wide.now + 20_000 });
    expect(one(wide).change).toEqual(['It holds 0 GPUs, would limit 2 at once, and may hold 1: 50 % of 2.']);
  });

  it('says what ends a case, and leaves connectives out', () => {
    const until =
      '{ or: [{ "<": [{ var: gpu.temperature.junction }, 55] }, { in: [{ var: gpu.health }, [gone, asleep]] }] }';
    const world = new World(policyYaml({ until }));
    world.card(0).junction = 70;
    world.trigger();
    const { change } = one(world);
    expect(change[0]).toBe(
      'Its release condition is false: gpu.temperature.junction (70) < 55 is false; gpu.health (ok) in gone, asleep is false.',
    );
    expect(change[1]).toMatch(/^Its lease ends in 2m/);
  });

  it('of a knob that cannot be set says why', () => {
    const world = new World(policyYaml());
    world.card(0).junction = 70;
    world.card(0).adjustable = false;
    world.trigger();
    expect(one(world)).toMatchObject({ reason: 'not_adjustable', notAdjustable: [{ why: 'virtual_function' }] });
  });

  it('changes nothing', () => {
    const world = new World(policyYaml());
    world.card(0).junction = 70;
    world.trigger();
    const before = structuredClone([...world.book.cases.values()]);
    one(world);
    expect([...world.book.cases.values()]).toEqual(before);
  });
});
