import { expect, it } from 'vitest';
import { type FactsOptions, factsOf } from '../../actuator/facts.ts';
import { policyYaml, World } from './decide/world.ts';

const record = (pci: string, own: string) => ({
  pci,
  health: 'ok',
  found: { card: { pci, package: own } },
  live: { at: 1, get: () => undefined },
});

it.each([
  ['the primary die', '0000:c1:00.0'],
  ['the secondary die', '0000:c2:00.0'],
])('keeps both dies of a package out of reach where %s is protected, for its power limit is both’s', (_, pci) => {
  const cards = [
    record('0000:c1:00.0', '0000:c1:00.0'),
    record('0000:c2:00.0', '0000:c1:00.0'),
    record('0000:c6:00.0', '0000:c6:00.0'),
  ];
  const options = {
    node: { cards, current: () => ({ node: { toMap: () => new Map() } }) },
    knobs: () => new Map(),
    nodeName: 'n',
    protectedCards: new Set([pci]),
    numberOf: () => 0,
    now: () => 1,
    wall: () => 1,
  } as unknown as FactsOptions;
  const facts = factsOf(options, new World(policyYaml()).book);
  expect([...facts.cards.values()].map((card) => card.protected)).toEqual([true, true, false]);
});
