import { describe, expect, it } from 'vitest';
import type { BookOptions } from '../../../model/book.ts';
import { pciOf, policyYaml, START, World } from './world.ts';

const outcomes = (decisions: { outcome: string; reason: string }[]): string[] =>
  decisions.map(({ outcome, reason }) => `${outcome} ${reason}`);

function held(
  policy: Record<string, string | undefined> = {},
  options: Partial<BookOptions> = {},
  trigger: object = {},
): World {
  const world = new World(policyYaml(policy), 2, options, {
    'windows.yaml':
      'version: 1\nwindows:\n  night: { zone: Europe/Berlin, from: "22:00", to: "06:00", days: [mon, tue, wed, thu, fri, sat, sun] }\n',
  });
  world.card(0).junction = 70;
  world.trigger(trigger);
  expect(new Set(world.states())).toEqual(new Set(['active']));
  world.decided.length = 0;
  return world;
}

describe('the release condition', () => {
  it('has to hold for the dwell, without a break', () => {
    const world = held();
    world.card(0).junction = 50;
    expect(outcomes(world.pass(1))).toEqual(['adjusted release_condition']);
    world.card(0).junction = 57;
    expect(outcomes(world.pass(1))).toEqual(['adjusted condition_holds']);
    world.card(0).junction = 50;
    world.pass(2);
    expect(world.states()).toEqual(['active']);
    expect(outcomes(world.pass(1))).toEqual(['released release_condition']);
    expect(outcomes(world.decided).at(-1)).toBe('closed given_back');
    expect(world.cap(0)).toBeUndefined();
  });

  it('is not what a resolved alert says: while our own reading is hot, nothing is given back', () => {
    const world = held();
    expect(world.trigger({ phase: 'close' })).toEqual([]);
    world.pass(600);
    expect(world.cap(0)).toBe(70);
    world.card(0).junction = 50;
    world.pass(3);
    expect(world.states()).toEqual([]);
  });

  it('unknown gives nothing back before the end of the lease, and then does', () => {
    // Not thermal: its condition reads no temperature.
    const world = held({
      when: '{ ">=": [{ var: gpu.number }, 0] }',
      until: '{ ">=": [{ var: gpu.power }, 0] }',
    });
    world.trigger({ phase: 'close' });
    world.pass(119);
    expect(world.states()).toEqual(['active']);
    expect(outcomes(world.pass(2))).toContain('released lease_expired');
  });

  it('manual: only a person gives back', () => {
    const world = held({ dwell: 'manual', until: undefined, when: undefined });
    world.trigger({ phase: 'close' });
    world.pass(60);
    expect(world.states()).toEqual(['active']);
    const decisions = world.step({
      type: 'revert',
      author: 'me',
      reason: 'enough',
      case: [...world.book.cases.keys()][0] as string,
    });
    expect(outcomes(decisions)).toEqual(['released released_by_person']);
  });

  it('manual: the person who began it ends it by taking the call back', () => {
    const call = { source: 'manual', name: 'quiet', key: 'quiet/gpu@1' } as const;
    const policy = { on: '[{ manual: quiet }]', dwell: 'manual', until: undefined, when: undefined };
    const world = held(policy, {}, { ...call, until: START + 600_000 });
    world.pass(60);
    expect(world.states()).toEqual(['active']);
    expect(outcomes(world.trigger({ ...call, phase: 'close' }))).toEqual(['released trigger_closed']);
  });

  it('of a call is its end, however often it is renewed', () => {
    const call = { source: 'manual', name: 'quiet', key: 'quiet/gpu@1', until: START + 60_000 } as const;
    const world = held({ on: '[{ manual: quiet }]', until: undefined, when: undefined }, {}, call);
    world.pass(30);
    world.trigger({ ...call, phase: 'renew' });
    world.pass(20);
    expect([...world.book.cases.values()][0]?.deadline).toBe(START + 62_000);
    world.trigger({ ...call, phase: 'renew', until: START + 120_000 });
    expect([...world.book.cases.values()][0]?.deadline).toBe(START + 122_000);
  });

  it('without until it is the end of the trigger and of the condition together', () => {
    const world = held({ until: undefined });
    world.card(0).junction = 50;
    world.pass(5);
    expect(world.states()).toEqual(['active']);
    world.trigger({ phase: 'close' });
    expect(outcomes(world.pass(3))).toContain('released release_condition');
  });
});

describe('the lease', () => {
  it('ends what nobody renews and nothing keeps true', () => {
    const world = held({ until: undefined, when: undefined });
    world.pass(119);
    expect(world.states()).toEqual(['active']);
    world.pass(2);
    expect(world.states()).toEqual([]);
    expect(outcomes(world.decided)).toContain('released lease_expired');
  });

  it('is renewed by notices of the trigger', () => {
    const world = held({ until: undefined, when: undefined });
    for (let i = 0; i < 5; i++) {
      world.pass(60);
      world.trigger({ phase: 'renew' });
    }
    expect(world.states()).toEqual(['active']);
  });

  it('is renewed by the condition that still holds, at few commits', () => {
    const world = held();
    world.trigger({ phase: 'close' });
    const decisions = world.pass(120);
    expect(world.states()).toEqual(['active']);
    expect(decisions.filter(({ outcome }) => outcome === 'renewed').length).toBeLessThan(12);
  });
});

describe('a thermal case whose sensor goes blind', () => {
  it('is blind also where another value keeps its release condition false', () => {
    const until = '{ and: [{ "<": [{ var: gpu.temperature.junction }, 55] }, { "==": [{ var: gpu.model }, other] }] }';
    const world = held({ until });
    world.card(0).junction = undefined;
    expect(outcomes(world.pass(11))).toContain('adjusted blind_to_floor');
    expect(world.cap(0)).toBe(40);
  });

  it('is not where one temperature is missing and another one keeps it', () => {
    const until =
      '{ and: [{ "<": [{ var: gpu.temperature.junction }, 55] }, { "<": [{ var: gpu.temperature.edge }, 50] }] }';
    const world = held({ until });
    expect(outcomes(world.pass(60))).not.toContain('adjusted blind_to_floor');
  });

  it('is left alone for ten seconds, then goes to the floor and stays, lease or no lease', () => {
    const world = held({ notify: '[blind]' });
    world.trigger({ phase: 'close' });
    world.card(0).junction = undefined;
    world.pass(10);
    expect(world.cap(0)).toBe(70);
    const decisions = world.pass(1);
    expect(outcomes(decisions)).toEqual(['adjusted blind_to_floor']);
    expect(decisions[0]?.notices?.map(({ moment }) => moment)).toEqual(['blind']);
    world.pass(600);
    expect(world.cap(0)).toBe(40);
    world.card(0).junction = 65;
    expect(outcomes(world.pass(1))).toContain('adjusted sensor_back');
    expect(world.cap(0)).toBe(70);
    expect(world.states()).toEqual(['active']);
  });

  it('is reverted by a person all the same', () => {
    const world = held();
    world.card(0).junction = undefined;
    world.pass(12);
    world.step({ type: 'revert', author: 'me', reason: 'the sensor is broken' });
    expect(world.cap(0)).toBeUndefined();
  });
});

describe('a window', () => {
  const scheduled = {
    source: 'schedule',
    name: 'night',
    key: 'night@1',
    target: undefined,
    since: 0,
    trusted: true,
  } as const;

  it('acts on every card, and gives back when it ends', () => {
    const world = held(
      { on: '[{ schedule: night }]', when: undefined, until: undefined },
      {},
      { ...scheduled, until: Number.MAX_SAFE_INTEGER },
    );
    world.pass(1);
    expect(world.book.cases.size).toBe(2);
    expect(outcomes(world.trigger({ ...scheduled, phase: 'close' } as never))).toEqual([
      'released trigger_closed',
      'released trigger_closed',
    ]);
    expect(world.states()).toEqual([]);
  });

  it('ends the lease of what it opened, should nobody hear its end', () => {
    const world = held(
      { on: '[{ schedule: night }]', when: undefined, until: undefined },
      {},
      { ...scheduled, until: Date.UTC(2026, 2, 5, 21, 10) },
    );
    world.pass(599);
    expect(world.states()).toEqual(['active', 'active']);
    world.pass(5);
    expect(world.states()).toEqual([]);
  });
});

describe('what cards say', () => {
  it('a case is active only when its card was read back', () => {
    const world = new World(policyYaml());
    world.obedient = false;
    world.card(0).junction = 70;
    world.trigger();
    world.pass(5);
    expect(world.states()).toEqual(['applying']);
  });

  describe('a card that is gone', () => {
    const row = (i: number) =>
      ({
        put: 'knob',
        knob: {
          on: pciOf(i),
          knob: 'power_cap',
          found: 100,
          wrote: 70,
          state: 'settled',
          attempts: 0,
          notBefore: 0,
          at: 0,
        },
      }) as const;

    it('leaves its place in the limits to one that is hot', () => {
      const world = new World(policyYaml({ limits: '{ percent: 50 }' }), 2);
      world.card(0).junction = 80;
      world.trigger();
      world.pass(2);
      world.card(0).health = 'gone';
      world.card(1).junction = 95;
      const made = world.trigger({ key: 'f2@1', target: { kind: 'gpu', pci: pciOf(1) } });
      expect([outcomes(made), world.cap(1)]).toEqual([['acted condition_true'], 70]);
    });

    it('ends the case that a person gives back, also where this process never saw it; its row stays', () => {
      const world = new World(policyYaml(), 2);
      world.obedient = false;
      world.card(0).junction = 80;
      world.trigger();
      world.put(row(0));
      world.cards.delete(pciOf(0));
      world.pass(300);
      expect(world.states()).toHaveLength(1);
      world.step({ type: 'revert', author: 'x', reason: 'y' });
      expect(outcomes(world.pass(1))).toContain('closed card_gone');
      expect([world.states(), world.book.knobs.size]).toEqual([[], 1]);
    });

    it('does not keep a case of the whole node from ending, and from beginning again', () => {
      const policy = { target: 'node', on: '[{ manual: quiet }]', when: undefined, until: undefined };
      const world = new World(policyYaml(policy), 2);
      world.obedient = false;
      const called = { source: 'manual', name: 'quiet', key: 'm1', target: { kind: 'node' } } as const;
      world.trigger(called);
      world.put(row(0), row(1));
      world.pass(1);
      world.card(1).health = 'gone';
      world.trigger({ ...called, phase: 'close' });
      expect(world.states()).toEqual(['releasing']);
      world.put({ drop: 'knob', on: pciOf(0), knob: 'power_cap' });
      world.report(pciOf(0), { settled: true, restored: 'given_back' });
      expect(world.states()).toEqual([]);
      world.pass(11);
      expect(outcomes(world.trigger({ ...called, key: 'm2' }))).toEqual(['acted condition_true']);
    });
  });

  describe('a refused write of a limit that holds already', () => {
    const limited = (options: Partial<BookOptions> = {}): World => {
      const world = new World(policyYaml({ notify: '[failed]' }), 2, options);
      world.card(0).junction = 70;
      world.trigger();
      world.pass(1);
      expect(world.states()).toEqual(['active']);
      world.obedient = false;
      return world;
    };

    it('gives nothing back, is told once, and told again when it failed anew', () => {
      const world = limited({ breaker: { failures: 9, perMs: 600_000 } });
      const failed = world.report(pciOf(0), { failed: true });
      expect(outcomes(failed)).toEqual(['failed write_failed']);
      expect(failed[0]?.notices?.map(({ moment }) => moment)).toEqual(['failed']);
      expect(world.report(pciOf(0), { failed: true })).toEqual([]);
      expect([world.states(), world.cap(0)]).toEqual([['applying'], 70]);
      world.report(pciOf(0), { settled: true });
      expect(world.states()).toEqual(['active']);
      expect(outcomes(world.report(pciOf(0), { failed: true }))).toEqual(['failed write_failed']);
      expect(world.book.breaker.failures).toHaveLength(2);
    });

    it('is still given back when its reason ends', () => {
      const world = limited();
      world.report(pciOf(0), { failed: true });
      world.card(0).junction = 40;
      expect(outcomes(world.pass(4))).toContain('released release_condition');
    });

    it('is nothing that failed where the card is at this limit, and another case wants it lower', () => {
      expect(limited().report(pciOf(0), { failed: true, value: 70 })).toEqual([]);
    });
  });

  it('a refused write gives back, tells people, and cools down', () => {
    const world = new World(policyYaml({ notify: '[failed]' }));
    world.obedient = false;
    world.card(0).junction = 70;
    world.trigger();
    world.put({
      put: 'knob',
      knob: {
        on: pciOf(0),
        knob: 'power_cap',
        found: 100,
        writing: 70,
        state: 'unsettled',
        attempts: 3,
        notBefore: 0,
        at: 0,
      },
    });
    const failed = world.report(pciOf(0), { failed: true });
    expect(outcomes(failed)).toEqual(['failed write_failed']);
    expect(failed[0]?.notices?.map(({ moment }) => moment)).toEqual(['failed']);
    expect(world.states()).toEqual(['releasing']);
    world.put({ drop: 'knob', on: pciOf(0), knob: 'power_cap' });
    world.report(pciOf(0), { settled: true, restored: 'given_back' });
    expect(world.states()).toEqual([]);
    expect(outcomes(world.pass(1))).toEqual(['suppressed cooldown']);
  });

  it('a value that somebody else set is told as such at the end', () => {
    const world = held();
    world.obedient = false;
    world.card(0).junction = 50;
    world.pass(3);
    world.put({ drop: 'knob', on: pciOf(0), knob: 'power_cap' });
    expect(outcomes(world.report(pciOf(0), { settled: true, restored: 'overridden' }))).toEqual(['closed overridden']);
  });

  it('a knob that another case still claims is not waited for', () => {
    const second = policyYaml({ name: 'second', on: '[{ alert: Other }]', do: '[{ throttle: { power_cap: 50% } }]' });
    const world = new World(policyYaml() + second);
    world.card(0).junction = 70;
    world.trigger();
    world.trigger({ name: 'Other', key: 'f2@1' });
    expect(world.cap(0)).toBe(50);
    world.step({ type: 'revert', author: 'me', reason: 'r', case: [...world.book.cases.values()][1]?.id as string });
    world.pass(1);
    expect(world.cap(0)).toBe(70);
    expect(world.states()).toEqual(['active']);
  });

  it('a card that is gone holds nothing', () => {
    const world = held();
    world.obedient = false;
    world.step({ type: 'revert', author: 'me', reason: 'r' });
    world.card(0).health = 'gone';
    expect(outcomes(world.pass(1))).toContain('closed card_gone');
  });
});

describe('a ladder', () => {
  const ladder = {
    do: '[{ ladder: { on: gpu.temperature.junction, hysteresis: 3°C, rungs: [{ at: 60°C, power_cap: 80% }, { at: 75°C, power_cap: 50% }] } }]',
  };

  it('climbs with the temperature, and comes down below the hysteresis', () => {
    const world = held(ladder);
    expect(world.cap(0)).toBe(80);
    const caps = [76, 74, 71].map((junction) => {
      world.card(0).junction = junction;
      world.pass(1);
      return world.cap(0);
    });
    expect(caps).toEqual([50, 50, 80]);
  });

  it('stays where it is while its variable is unknown', () => {
    const world = held(ladder);
    world.card(0).junction = undefined;
    world.pass(3);
    expect(world.cap(0)).toBe(80);
  });
});

describe('rules that change', () => {
  it('an open case keeps the version that began it', () => {
    const world = held();
    const next = new World(
      policyYaml({
        do: '[{ throttle: { power_cap: 50% } }]',
        until: '{ "<": [{ var: gpu.temperature.junction }, 20] }',
      }),
    );
    world.book.rules = next.book.rules;
    world.pass(5);
    expect(world.cap(0)).toBe(70);
    world.card(0).junction = 50;
    world.pass(3);
    expect(world.states()).toEqual([]);
  });

  it('a policy that is gone gives back what it holds in its time', () => {
    const world = held();
    world.book.rules = { ...world.book.rules, policies: [] };
    world.card(0).junction = 50;
    world.pass(3);
    expect(world.states()).toEqual([]);
  });
});
