import type { applyChanges, applyDecisions, emptyBook } from '../../actuator/decide/apply.ts';
import type { decide } from '../../actuator/decide/decide.ts';
import type { factsOf } from '../../actuator/facts.ts';
import type { openTriggers } from '../../actuator/triggers.ts';
import type { LanePool } from '../../amdgpu/lanes/pool.ts';
import type { AmdNode } from '../../amdgpu/node.ts';
import type { systemClock } from '../../base/clock.ts';
import type { createLog } from '../../base/log.ts';
import type { Book } from '../../model/book.ts';
import type { CardFacts, Facts } from '../../model/facts.ts';
import type { Trigger } from '../../model/trigger.ts';
import type { loadRules } from '../../rules/language/load.ts';
import { NODE } from './alerts.ts';
import type { Subject } from './subjects.ts';
import { type Times, timesOf } from './times.ts';

/** The built modules: the same code loaded from its sources by a test runner is slower. */
export interface BuiltDecisions {
  AmdNode: typeof AmdNode;
  LanePool: typeof LanePool;
  systemClock: typeof systemClock;
  createLog: typeof createLog;
  loadRules: typeof loadRules;
  emptyBook: typeof emptyBook;
  applyChanges: typeof applyChanges;
  applyDecisions: typeof applyDecisions;
  openTriggers: typeof openTriggers;
  factsOf: typeof factsOf;
  decide: typeof decide;
}

/** One tick over all pairs of policy and card, where nothing is to be done: what the loop costs each second. Milliseconds. */
export interface Deciding {
  policies: number;
  cards: number;
  /** Policies without triggers, each looked at on every card. */
  watching: Times;
  /** Policies with triggers, each with an open alert about every card. */
  alerted: Times;
}

const LOOK_MS = 5_000;

export async function measureDeciding(
  built: BuiltDecisions,
  subject: Subject,
  { policies, cards, ticks }: { policies: number; cards: number; ticks: number },
): Promise<Deciding> {
  const { systemClock: clock } = built;
  const { tree } = subject;
  const pool = new built.LanePool({ clock, itemDeadline: 2_000 });
  const log = built.createLog({ level: 'error' });
  const node = new built.AmdNode({ paths: { sysfs: `${tree}/sys`, procfs: `${tree}/proc` }, pool, clock, log });
  // Lanes do not hold the event loop.
  const alive = setInterval(() => undefined, 60_000);
  try {
    await node.start();
    await node.collect(LOOK_MS);
    if (node.cards.length !== subject.cards)
      throw new Error(`${node.cards.length} of ${subject.cards} cards were found`);
    const once = (book: Book): Facts =>
      built.factsOf(
        {
          node,
          knobs: () => new Map(),
          nodeName: NODE,
          protectedCards: new Set(),
          numberOf: (card) => card.gpu,
          now: () => clock.now(),
          wall: () => clock.now(),
        },
        book,
      );
    const facts = (book: Book): Facts => many(Array.from({ length: cards / subject.cards }, () => once(book)));
    const times = (book: Book): Times => {
      const list: number[] = [];
      for (let tick = 0; tick < ticks; tick++) {
        const start = performance.now();
        // Facts with it: readings are put in order when the first condition of a decision asks for them.
        const decisions = built.decide(book, { type: 'tick' }, facts(book));
        list.push(performance.now() - start);
        built.applyDecisions(book, decisions);
      }
      // The first ones find everything anew, and compilers have to see the code run.
      return timesOf(list.slice(Math.ceil(ticks / 10)));
    };
    const watching = bookOf(built, policies, false);
    const alerted = bookOf(built, policies, true);
    const triggers = [...facts(alerted).cards.keys()].flatMap((pci) =>
      Array.from({ length: policies }, (_, i) => alertAbout(pci, i, clock.now())),
    );
    built.applyChanges(alerted, built.openTriggers(alerted, triggers));
    return { policies, cards, watching: times(watching), alerted: times(alerted) };
  } finally {
    clearInterval(alive);
    node.close();
    pool.close();
  }
}

/** As many cards as no node of ours has: the same ones again under other addresses, each with readings of its own. */
function many(nodes: readonly Facts[]): Facts {
  const cards = new Map<string, CardFacts>();
  for (const [i, facts] of nodes.entries()) {
    for (const [pci, card] of facts.cards) {
      const address = pci.replace(/^0000/, i.toString(16).padStart(4, '0'));
      // Inherited, so that readings are still made when they are asked for.
      const own = { ...card.card, pci: address, package: address };
      cards.set(address, Object.create(card, { card: { value: own } }) as CardFacts);
    }
  }
  return { ...(nodes[0] as Facts), cards };
}

/** Three comparisons each, none of which a card at rest makes true; no two policies are the same. */
function bookOf({ loadRules, emptyBook }: BuiltDecisions, count: number, alerted: boolean): Book {
  const texts = Array.from({ length: count }, (_, i) => {
    const junction = `{ ">=": [{ var: gpu.temperature.junction }, ${96 + (i % 4)}] }`;
    const power = `{ ">": [{ var: gpu.power }, ${900 + i}] }`;
    const memory = `{ ">=": [{ var: gpu.temperature.mem }, ${100 + (i % 5)}] }`;
    return `  - name: p${i}
    mode: enforce
    ${alerted ? `on: [{ alert: A${i} }]` : ''}
    target: gpu
    when: { or: [${junction}, { and: [${power}, ${memory}] }] }
    do: [{ throttle: { power_cap: 70% } }]
    limits: { percent: 50 }
`;
  });
  const { rules, problems } = loadRules([{ file: 'bench.yaml', text: `version: 1\npolicies:\n${texts.join('')}` }]);
  if (rules === undefined) throw new Error(JSON.stringify(problems.slice(0, 3)));
  return emptyBook(rules, {
    enforce: true,
    frozen: false,
    rate: { acts: 1_000_000, perMs: 60_000 },
    breaker: { failures: 1_000_000, perMs: 600_000 },
    blindMs: 10_000,
  });
}

function alertAbout(pci: string, i: number, at: number): Trigger {
  return {
    source: 'alert',
    name: `A${i}`,
    key: `${pci} ${i}`,
    phase: 'open',
    node: NODE,
    target: { kind: 'gpu', pci },
    since: at,
    at,
    values: { alertname: `A${i}`, pci_address: pci, severity: 'warning' },
    trusted: true,
  };
}
