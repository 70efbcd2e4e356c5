import { expect, it } from 'vitest';
import { newNumbers } from '../../actuator/begin.ts';
import { Housekeeping } from '../../actuator/housekeeping.ts';
import { Store } from '../../actuator/store.ts';
import { onceLog } from '../../base/log.ts';
import type { Change } from '../../model/decision.ts';
import { policyYaml, World } from './decide/world.ts';

const WEEK = 7 * 86_400_000;
const quiet = { warn: () => {}, info: () => {} } as never;

function housekeeping(world: World) {
  const committed: Change[] = [];
  const store = new Store({
    book: world.book,
    ledger: { commit: (changes) => void committed.push(...changes) },
    once: onceLog(quiet),
    monotonic: () => 0,
    onCommit: () => {},
    onFailure: () => {},
  });
  return { committed, keeper: new Housekeeping({ store, ledger: undefined, now: () => world.now, log: quiet }) };
}

it('forgets triggers whose end nobody told for longer than any lease, in the ledger as in memory', () => {
  const world = new World(policyYaml());
  world.trigger({ key: 'silenced@1' });
  world.trigger({ key: 'by-hand', source: 'manual', until: world.now + 3_600_000 });
  world.trigger({ key: 'long', source: 'manual', until: world.now + WEEK });
  const { committed, keeper } = housekeeping(world);
  world.now += WEEK;
  keeper.tidy();
  expect(world.book.triggers.size).toBe(3);
  world.now += 3_600_001;
  keeper.tidy();
  expect([...world.book.triggers.keys()]).toEqual(['long']);
  expect(committed).toEqual([
    { drop: 'trigger', key: 'silenced@1' },
    { drop: 'trigger', key: 'by-hand' },
  ]);
});

it('goes on with the next batch where there is more to forget', () => {
  const world = new World(policyYaml());
  for (let i = 0; i < 2_001; i++) {
    const trigger = { source: 'alert', name: 'Hot', key: `f@${i}`, phase: 'open', since: 0, at: 0, seenAt: 0 } as const;
    world.put({ put: 'trigger', trigger: { ...trigger, values: {}, trusted: true } });
  }
  const { keeper } = housekeeping(world);
  expect(keeper.tidy()).toBe(true);
  expect(world.book.triggers.size).toBe(1);
  expect(keeper.tidy()).toBe(false);
  expect(world.book.triggers.size).toBe(0);
});

it('remembers no number of cards that have none', () => {
  const world = new World(policyYaml());
  const cards = [
    { pci: '0000:c1:00.0', gpu: 2 },
    { pci: '0000:c6:00.0', gpu: -1 },
    { pci: '0000:c7:00.0', gpu: -1 },
  ];
  expect(newNumbers(world.book, cards, world.now)).toEqual([{ put: 'number', gpu: 2, pci: '0000:c1:00.0', since: 0 }]);
});
