import { expect, it } from 'vitest';
import { Loop } from '../../actuator/loop.ts';
import { Store } from '../../actuator/store.ts';
import { onceLog } from '../../base/log.ts';
import type { Facts } from '../../model/facts.ts';
import { policyYaml, World } from './decide/world.ts';

function loopOf(world: World, look: () => Promise<Facts>) {
  const errors: unknown[] = [];
  const store = new Store({
    book: world.book,
    ledger: { commit: () => {} },
    once: onceLog({ warn: () => {}, info: () => {} } as never),
    monotonic: () => 0,
    onCommit: () => {},
    onFailure: () => {},
  });
  const poked: string[] = [];
  const loop = new Loop({
    store,
    look,
    known: () => world.facts(),
    poke: (on) => poked.push(on),
    onDecision: () => {},
    onError: (error) => errors.push(error),
  });
  return { loop, errors, poked };
}

const held = (): World => {
  const world = new World(policyYaml());
  world.card(0).junction = 70;
  world.trigger();
  return world;
};

it('gives back what a person asked for also where the cards cannot be looked at', async () => {
  const world = held();
  const { loop, errors, poked } = loopOf(world, () => Promise.reject(new Error('no lanes')));
  loop.push({ type: 'tick' });
  loop.push({ type: 'revert', author: 'a', reason: 'b' });
  await loop.idle();
  expect(errors).toHaveLength(1);
  expect(world.states()).toEqual(['releasing']);
  expect(poked).toEqual(['0000:10:00.0']);
});

it('leaves nothing waiting that comes as the last event was decided', async () => {
  // Once in each turn of the queue of promises in which the loop may be ending.
  for (let turn = 0; turn < 20; turn++) {
    const world = held();
    const { loop } = loopOf(world, async () => world.facts());
    loop.push({ type: 'tick' });
    for (let i = 0; i < turn; i++) await Promise.resolve();
    loop.push({ type: 'revert', author: 'a', reason: 'b' });
    await loop.idle();
    await new Promise((resolve) => setImmediate(resolve));
    expect({ turn, waiting: loop.length, states: world.states() }).toEqual({ turn, waiting: 0, states: ['releasing'] });
  }
});
