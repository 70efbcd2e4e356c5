import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OPEN_STATES } from '../../../model/case.ts';
import { pciOf, policyYaml, World } from './world.ts';

/** Whatever comes, in whatever order: alerts of any phase, readings that jump or vanish, pauses, people, failures. */
const happening = fc.oneof(
  fc.record({
    kind: fc.constant('alert' as const),
    phase: fc.constantFrom('open' as const, 'renew' as const, 'close' as const),
    episode: fc.integer({ min: 0, max: 6 }),
    card: fc.integer({ min: 0, max: 3 }),
    name: fc.constantFrom('Hot', 'Other'),
    trusted: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('reading' as const),
    card: fc.integer({ min: 0, max: 3 }),
    junction: fc.option(fc.integer({ min: 20, max: 110 }), { nil: undefined }),
    health: fc.constantFrom('ok' as const, 'ok' as const, 'ok' as const, 'silent' as const, 'gone' as const),
  }),
  fc.record({ kind: fc.constant('time' as const), seconds: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const, 'revert' as const, 'fail' as const) }),
);

describe('any storm of alerts', () => {
  it('keeps limits, acts once a case, holds no claim without a case, and lets go of everything in the end', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 60 }), (happenings) => {
        const other = policyYaml({ name: 'other', on: '[{ alert: Other }]', limits: '{ percent: 50 }', for: '3s' });
        const world = new World(policyYaml({ limits: '{ gpus: 2 }' }) + other, 4, {
          breaker: { failures: 1000, perMs: 1 },
        });
        for (const one of happenings) {
          happen(world, one);
          check(world);
        }
        // The end: everybody is quiet, every card is cool and answers.
        for (let i = 0; i < 4; i++) Object.assign(world.card(i), { junction: 30, health: 'ok' });
        for (const key of world.book.pauses.keys()) world.put({ drop: 'pause', id: key });
        world.pass(260);
        expect(world.states()).toEqual([]);
        expect(world.book.claims.size).toBe(0);
        expect(world.book.knobs.size).toBe(0);
      }),
      { numRuns: 60 },
    );
  }, 120_000);
});

type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

function happen(world: World, one: Happening): void {
  switch (one.kind) {
    case 'alert': {
      const { phase, episode, card, name, trusted } = one;
      world.trigger({
        phase,
        name,
        trusted,
        key: `${name}${card}@${episode}`,
        target: { kind: 'gpu', pci: pciOf(card) },
      });
      break;
    }
    case 'reading':
      Object.assign(world.card(one.card), { junction: one.junction, health: one.health });
      break;
    case 'time':
      world.pass(Math.min(one.seconds, 20));
      world.now += one.seconds * 1000;
      world.pass(1);
      break;
    case 'pause': {
      const pause = { id: `p${world.now}`, reason: 'r', author: 'me', since: world.now };
      world.put({ put: 'pause', pause });
      world.step({ type: 'pause', pause, revert: true });
      break;
    }
    case 'resume':
      for (const id of world.book.pauses.keys()) world.put({ drop: 'pause', id });
      break;
    case 'revert':
      world.step({ type: 'revert', author: 'me', reason: 'r' });
      break;
    case 'fail':
      world.report(pciOf(0), { failed: true });
      break;
  }
}

function check(world: World): void {
  const { book, decided } = world;
  const acting = (policy: string): number =>
    [...book.cases.values()].filter((one) => one.policy === policy && ['applying', 'active'].includes(one.state))
      .length;
  expect(acting('hot')).toBeLessThanOrEqual(2);
  // Half of the cards that answer now, but those that acted while more of them did keep what they have.
  expect(acting('other')).toBeLessThanOrEqual(2);
  const acts = decided.filter((one) => one.outcome === 'acted').map((one) => one.case);
  expect(new Set(acts).size).toBe(acts.length);
  for (const id of book.claims.keys()) expect(OPEN_STATES.has(book.cases.get(id)?.state ?? 'released')).toBe(true);
  // No decision without a reason that is its own, no act on a card that does not answer.
  for (const one of decided.splice(0)) expect(one.reason).toBeTruthy();
}
