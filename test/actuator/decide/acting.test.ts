import { describe, expect, it } from 'vitest';
import { pciOf, policyYaml, World } from './world.ts';

const hot = (world: World, i = 0): void => {
  world.card(i).junction = 70;
};
const outcomes = (decisions: { outcome: string; reason: string }[]): string[] =>
  decisions.map(({ outcome, reason }) => `${outcome} ${reason}`);

describe('a trigger with a true condition', () => {
  it('acts at once, is verified, and claims a share of the default', () => {
    const world = new World(policyYaml());
    hot(world);
    expect(outcomes(world.trigger())).toEqual(['acted condition_true']);
    expect(world.cap(0)).toBe(70);
    expect(outcomes(world.decided)).toEqual(['acted condition_true', 'verified settled']);
    expect(world.states()).toEqual(['active']);
  });

  it('acts once, however often it is told', () => {
    const world = new World(policyYaml());
    hot(world);
    world.trigger();
    for (let i = 0; i < 5; i++) world.trigger({ phase: 'renew' });
    world.trigger({ key: 'f1@2' });
    expect(world.decided.filter((decision) => decision.outcome === 'acted')).toHaveLength(1);
    expect([...world.book.cases.values()][0]?.triggers).toEqual(['f1@1', 'f1@2']);
  });

  it('acts when the condition becomes true while the trigger is open', () => {
    const world = new World(policyYaml());
    expect(outcomes(world.trigger())).toEqual(['suppressed condition_false']);
    expect(world.pass(3)).toEqual([]);
    hot(world);
    expect(outcomes(world.pass(1))).toEqual(['acted condition_true']);
  });
});

describe('what does not act', () => {
  const cases: [string, Record<string, string | undefined>, (world: World) => void, string, object?][] = [
    ['unknown is not true', {}, (w) => (w.card(0).junction = undefined), 'condition_unknown'],
    ['a card that does not answer', {}, (w) => (w.card(0).health = 'silent'), 'card_not_ok'],
    ['a protected card', {}, (w) => (w.card(0).protected = true), 'protected'],
    ['a knob that cannot be set', {}, (w) => (w.card(0).adjustable = false), 'not_adjustable'],
    ['a policy that is off', { mode: 'off' }, () => undefined, 'policy_off'],
    ['an alert that names no card', {}, () => undefined, 'no_target', { target: undefined }],
    ['a card that is not here', {}, () => undefined, 'card_gone', { target: { kind: 'gpu', pci: '0000:ff:00.0' } }],
    [
      'a number that meant another card when the alert began',
      {},
      (w) => (w.card(0).numberSince = w.now - 1000),
      'number_moved',
      { target: undefined, gpu: 0, since: 0 },
    ],
    [
      'an unknown sender without a condition of our own',
      { when: undefined },
      () => undefined,
      'untrusted',
      { trusted: false },
    ],
  ];
  it.each(cases)('%s', (_title, policy, prepare, reason, trigger = {}) => {
    const world = new World(policyYaml(policy));
    hot(world);
    prepare(world);
    expect(outcomes(world.trigger(trigger))).toEqual([`suppressed ${reason}`]);
    expect(world.book.claims.size).toBe(0);
    // Told once, as long as it stands.
    expect(world.pass(5).filter(({ outcome }) => outcome === 'suppressed')).toEqual([]);
  });

  it('a number that has always meant this card is taken', () => {
    const world = new World(policyYaml());
    hot(world, 1);
    world.trigger({ target: undefined as never, gpu: 1 });
    expect(world.cap(1)).toBe(70);
  });

  it('an unknown sender acts where our own reading agrees', () => {
    const world = new World(policyYaml());
    hot(world);
    expect(outcomes(world.trigger({ trusted: false }))).toEqual(['acted condition_true']);
  });
});

describe('guards', () => {
  it('a pause stops new acts, not what is held nor its release', () => {
    const world = new World(policyYaml());
    hot(world);
    hot(world, 1);
    world.trigger();
    world.put({ put: 'pause', pause: { id: 'p', reason: 'why', author: 'me', since: world.now } });
    expect(outcomes(world.trigger({ key: 'f2@1', target: { kind: 'gpu', pci: pciOf(1) } }))).toEqual([
      'suppressed paused',
    ]);
    world.card(0).junction = 50;
    expect(outcomes(world.pass(4))).toContain('released release_condition');
    world.put({ drop: 'pause', id: 'p' });
    expect(outcomes(world.pass(1))).toContain('acted condition_true');
  });

  it('a pause of one policy is no other policy’s, and one that has ended is none', () => {
    const world = new World(policyYaml());
    hot(world);
    world.put({ put: 'pause', pause: { id: 'p', reason: 'w', author: 'me', since: world.now, policy: 'other' } });
    world.put({ put: 'pause', pause: { id: 'q', reason: 'w', author: 'me', since: 0, until: world.now } });
    expect(outcomes(world.trigger())).toEqual(['acted condition_true']);
  });

  it('cooldown begins when the case has ended', () => {
    const world = new World(policyYaml());
    hot(world);
    world.trigger();
    world.card(0).junction = 50;
    world.pass(3);
    expect(world.states()).toEqual([]);
    hot(world);
    expect(outcomes(world.pass(1))).toEqual(['suppressed cooldown']);
    expect(world.pass(8)).toEqual([]);
    expect(outcomes(world.pass(2))).toContain('acted condition_true');
  });

  it.each([
    ['gpus', '{ gpus: 2 }', 8, 2, 'limit_gpus'],
    ['percent rounds down', '{ percent: 50 }', 5, 2, 'limit_percent'],
    ['but never under one', '{ percent: 10 }', 4, 1, 'limit_percent'],
    ['the lower of both', '{ gpus: 3, percent: 25 }', 8, 2, 'limit_percent'],
  ])('limits: %s', (_title, limits, count, acted, reason) => {
    const world = new World(policyYaml({ limits }), count);
    for (let i = 0; i < count; i++) {
      hot(world, i);
      world.trigger({ key: `f${i}@1`, target: { kind: 'gpu', pci: pciOf(i) } });
    }
    expect(world.book.claims.size).toBe(acted);
    expect(world.decided.filter((one) => one.outcome === 'suppressed').map((one) => one.reason)).toEqual(
      Array(count - acted).fill(reason),
    );
  });

  it('limits count what the same sitting has decided', () => {
    const world = new World(policyYaml({ limits: '{ gpus: 1 }' }), 4);
    for (let i = 0; i < 4; i++) {
      world.trigger({ key: `f${i}@1`, target: { kind: 'gpu', pci: pciOf(i) } });
      hot(world, i);
    }
    world.pass(1);
    expect(world.book.claims.size).toBe(1);
  });

  it('who waited for a limit acts when another lets go', () => {
    const world = new World(policyYaml({ limits: '{ gpus: 1 }' }));
    hot(world, 0);
    hot(world, 1);
    world.trigger();
    world.trigger({ key: 'f2@1', target: { kind: 'gpu', pci: pciOf(1) } });
    world.card(0).junction = 50;
    world.pass(4);
    expect(world.cap(1)).toBe(70);
  });

  it('the rate counts acts of all policies', () => {
    const world = new World(policyYaml(), 4, { rate: { acts: 2, perMs: 60_000 } });
    for (let i = 0; i < 4; i++) {
      hot(world, i);
      world.trigger({ key: `f${i}@1`, target: { kind: 'gpu', pci: pciOf(i) } });
    }
    expect(world.book.claims.size).toBe(2);
    world.pass(61);
    expect(world.book.claims.size).toBe(4);
  });

  it('failures in a row open the breaker, which never stands in the way of release', () => {
    const world = new World(policyYaml({ cooldown: '0s' }), 4, { breaker: { failures: 2, perMs: 600_000 } });
    hot(world, 3);
    world.trigger({ key: 'f3@1', target: { kind: 'gpu', pci: pciOf(3) } });
    world.obedient = false;
    for (const i of [0, 1]) {
      hot(world, i);
      world.trigger({ key: `f${i}@1`, target: { kind: 'gpu', pci: pciOf(i) } });
      expect(outcomes(world.report(pciOf(i), { failed: true }))).toEqual(['failed write_failed']);
    }
    expect(world.book.breaker.open).toBe(true);
    hot(world, 2);
    expect(outcomes(world.trigger({ key: 'f2@1', target: { kind: 'gpu', pci: pciOf(2) } }))).toEqual([
      'suppressed breaker_open',
    ]);
    world.card(3).junction = 50;
    expect(outcomes(world.pass(4))).toContain('released release_condition');
  });
});

describe('for', () => {
  it('waits for as long as the condition holds without a break', () => {
    const world = new World(policyYaml({ for: '5s' }));
    hot(world);
    expect(outcomes(world.trigger())).toEqual(['pending condition_holds']);
    world.pass(3);
    world.card(0).junction = undefined;
    expect(outcomes(world.pass(1))).toEqual(['pending condition_unknown']);
    hot(world);
    world.pass(1);
    expect(world.pass(4)).toEqual([]);
    expect(outcomes(world.pass(1))).toContain('acted condition_true');
  });

  it('ends with the condition, or with the trigger', () => {
    const world = new World(policyYaml({ for: '5s' }));
    hot(world);
    world.trigger();
    world.card(0).junction = 50;
    expect(outcomes(world.pass(1))).toEqual(['dropped condition_false']);
    hot(world);
    world.pass(1);
    expect(outcomes(world.trigger({ phase: 'close' }))).toEqual(['dropped trigger_closed']);
    expect(world.pass(10)).toEqual([]);
  });
});

describe('a policy without triggers', () => {
  const watching = policyYaml({ on: undefined });

  it('needs two samples of the firmware', () => {
    const world = new World(watching);
    hot(world);
    expect(outcomes(world.step({ type: 'tick' }))).toEqual(['pending condition_holds']);
    // The same sample again, however late.
    world.now += 60_000;
    expect(world.step({ type: 'tick' })).toEqual([]);
    world.card(0).stamp += 1;
    expect(outcomes(world.step({ type: 'tick' }))).toEqual(['acted condition_true']);
  });

  it('says nothing as long as its condition is false', () => {
    const world = new World(watching);
    expect(world.pass(5)).toEqual([]);
  });
});

describe('dry run', () => {
  it.each([
    ['by the policy', { mode: 'dry_run' }, {}],
    ['by the process', {}, { enforce: false }],
  ])('%s decides the same, and verifies nothing', (_title, policy, options) => {
    const world = new World(policyYaml(policy), 2, options);
    hot(world);
    expect(outcomes(world.trigger())).toEqual(['acted condition_true']);
    expect(world.decided[0]?.mode).toBe('dry_run');
    expect(world.states()).toEqual(['active']);
    expect(world.book.knobs.size).toBe(0);
    world.card(0).junction = 50;
    expect(outcomes(world.pass(3))).toContain('released release_condition');
    expect(world.states()).toEqual([]);
    hot(world);
    expect(outcomes(world.pass(1))).toEqual(['suppressed cooldown']);
  });
});
