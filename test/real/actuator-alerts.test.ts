import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { HistoryLine } from '../../actuator/ledger/look.ts';
import {
  type AlertAbout,
  alertOf,
  anotherStart,
  hotJunction,
  messageOf,
  policies,
  post,
  type RunningActuator,
  type RunOptions,
  rulesOf,
  runActuator,
  type SetClock,
  setClock,
} from '../support/actuator.ts';
import { type PlainNode, plainNode } from '../support/hot-node.ts';
import { until as untilWithin } from '../support/until.ts';

/** What alerts, their senders and clocks can do to the actuator. Each is a row of "What happens when" in docs/actuator.md. */

vi.setConfig({ testTimeout: 300_000 });
/** A machine on which much else runs is slow, and nothing here is about how fast it is. */
const until = <T>(what: string, ask: () => T | Promise<T>) => untilWithin(what, ask, 120_000);
const [FOUND, CAPPED] = [300, 210];
const HOUR = 3_600_000;

interface Bench extends RunningActuator {
  node: PlainNode;
}

async function bench(given: Partial<RunOptions> = {}, cards = 1): Promise<Bench> {
  const node = plainNode({ model: 'mi210', cards });
  const running = await runActuator(node.dir, { rules: rulesOf(policies(hotJunction())), ...given });
  return { ...running, node };
}

const state = ({ cases }: Bench, at = -1): string | undefined => cases().at(at)?.state;
const intents = ({ history }: Bench): HistoryLine[] => history('write').filter(({ detail }) => 'to' in detail);
const heard = async (b: Bench, outcome: string): Promise<number> =>
  (await b.metrics()).value('nightshift_triggers_total', { source: 'alert', outcome }) ?? 0;
/** Ticks enough that whatever was to follow has followed. */
async function ticks(b: Bench, ms = 1_500): Promise<void> {
  await sleep(ms);
  await b.actuator.loop.idle();
}

async function held(b: Bench, about: Partial<AlertAbout> = {}): Promise<AlertAbout> {
  const alert = { pci: b.node.pci(), startsAt: anotherStart(), ...about };
  expect((await b.tell(alert)).status).toBe(202);
  await until('the card is held', () => state(b) === 'active');
  expect(b.node.cap()).toBe(CAPPED);
  return alert;
}

async function givenBack(b: Bench): Promise<void> {
  await until('nothing is held', () => b.actuator.book.cases.size === 0 && b.actuator.book.knobs.size === 0);
  expect(b.node.cap()).toBe(FOUND);
}

describe('an end that is told while the card is hot', () => {
  it('changes nothing: neither one that is wrong, nor one that came of an exporter that died', async () => {
    const b = await bench({ rules: rulesOf(policies(hotJunction({ times: 'dwell: 1s, lease: 3s, cooldown: 1s' }))) });
    const alert = await held(b);
    expect(JSON.parse((await b.tell({ ...alert, status: 'resolved' })).body)).toMatchObject({ accepted: 1 });
    // For no longer than its lease may nothing be heard; our own reading is heard.
    await ticks(b, 6_000);
    expect([state(b), b.node.cap()]).toEqual(['active', CAPPED]);
    b.node.heat(40);
    await givenBack(b);
    expect(b.history('released')).toMatchObject([{ reason: 'release_condition' }]);
  });
});

describe('silence', () => {
  it('of all senders gives back at the end of the lease where our own reading does not say that it is hot', async () => {
    const times = 'dwell: 1s, lease: 3s, cooldown: 1h';
    const b = await bench({ rules: rulesOf(policies(hotJunction({ until: '', times }))) });
    await held(b);
    b.node.heat(50);
    await givenBack(b);
    const [acted] = b.history('acted') as [HistoryLine];
    const [released] = b.history('released') as [HistoryLine];
    // Nobody renews the alert either: which of the two ends first is a matter of a moment.
    expect(['lease_expired', 'release_condition']).toContain(released.reason);
    expect(released.at - acted.at).toBeGreaterThanOrEqual(3_000);
  });
});

describe('what is told more than once', () => {
  it('by one Alertmanager is acted on once', async () => {
    const b = await bench();
    const alert = await held(b);
    const before = b.cases()[0]?.deadline ?? Number.NaN;
    for (let i = 0; i < 5; i++) expect((await b.tell(alert)).status).toBe(202);
    expect(await heard(b, 'duplicates')).toBe(5);
    await ticks(b);
    expect(b.history('acted')).toHaveLength(1);
    expect(intents(b)).toHaveLength(1);
    expect(b.cases()[0]?.deadline).toBeGreaterThanOrEqual(before);
  });

  it('by two of them at the same moment is acted on once, and ends once', async () => {
    const b = await bench();
    const alert = { pci: b.node.pci(), startsAt: anotherStart() };
    const answers = await Promise.all([1, 2, 3, 4].map(() => b.tell(alert)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    await until('the card is held', () => state(b) === 'active');
    b.node.heat(40);
    await Promise.all([1, 2].map(() => b.tell({ ...alert, status: 'resolved' as const })));
    await givenBack(b);
    await ticks(b);
    expect(b.cases()).toHaveLength(1);
    expect(intents(b).map(({ reason }) => reason)).toEqual(['claim', 'restore']);
  });

  it('twice in one message is one', async () => {
    const b = await bench();
    const alert = alertOf({ pci: b.node.pci() });
    expect(JSON.parse((await post(b.url, messageOf(alert, alert))).body)).toEqual({ accepted: 1, duplicates: 1 });
    await until('the card is held', () => state(b) === 'active');
    expect(intents(b)).toHaveLength(1);
  });
});

describe('what is told out of order', () => {
  it('is not begun where its end was told first', async () => {
    const b = await bench();
    const alert = { pci: b.node.pci(), startsAt: anotherStart() };
    await b.tell({ ...alert, status: 'resolved' });
    await b.tell(alert);
    expect(await heard(b, 'stale')).toBe(1);
    await ticks(b);
    expect([b.cases(), b.node.cap()]).toEqual([[], FOUND]);
  });

  it('is not begun again by a late notice of what is over', async () => {
    const b = await bench();
    const alert = await held(b);
    b.node.heat(40);
    await b.tell({ ...alert, status: 'resolved' });
    await givenBack(b);
    b.node.heat(90);
    await ticks(b);
    await b.tell(alert);
    expect(await heard(b, 'stale')).toBe(1);
    await ticks(b);
    expect([b.history('acted').length, b.node.cap()]).toEqual([1, FOUND]);
    // A new episode of the same alert is another one.
    await held(b);
  });
});

describe('an alert', () => {
  it('about another node is taken, counted, and not acted on', async () => {
    const b = await bench();
    expect((await b.tell({ pci: b.node.pci(), node: 'mi300x-08' })).status).toBe(202);
    expect(await heard(b, 'other_node')).toBe(1);
    await ticks(b);
    expect([b.cases(), b.history('suppressed'), b.node.cap()]).toEqual([[], [], FOUND]);
  });

  it('about a card that is not here says so, and touches no other', async () => {
    const b = await bench();
    await b.tell({ pci: '0000:ff:00.0' });
    await until('it is suppressed', () => b.history('suppressed').some(({ reason }) => reason === 'card_gone'));
    expect([b.cases(), b.node.cap()]).toEqual([[], FOUND]);
  });

  it('about a card that is cool by our own reading does nothing', async () => {
    const b = await bench();
    b.node.heat(45);
    await b.tell({ pci: b.node.pci() });
    await until('it is suppressed', () => b.history('suppressed').some(({ reason }) => reason === 'condition_false'));
    await ticks(b);
    expect([b.cases(), b.node.cap()]).toEqual([[], FOUND]);
  });
});

describe('a wall clock that is set', () => {
  const LEASE_MS = 4_000;
  const times = 'dwell: 1s, lease: 4s, cooldown: 1h';
  const rules = rulesOf(policies(hotJunction({ until: '', times })));

  it.each([
    ['an hour on', HOUR],
    ['an hour back', -HOUR],
  ])('%s ends no lease early, and none never', async (_, ms) => {
    const clock = setClock();
    const b = await bench({ rules, clock });
    await held(b);
    b.node.heat(50);
    clock.step(ms);
    const [acted] = b.history('acted') as [HistoryLine];
    await givenBack(b);
    const [released] = b.history('released') as [HistoryLine];
    expect(released.reason).toBe('lease_expired');
    expect(released.at - acted.at).toBeGreaterThanOrEqual(LEASE_MS);
    // The wait for the end of a lease is a tick's, not an hour's.
    expect(released.at - acted.at).toBeLessThan(LEASE_MS + 60_000);
  });

  it('does not end a cooldown', async () => {
    const clock = setClock();
    const b = await bench({
      rules: rulesOf(policies(hotJunction({ times: 'dwell: 1s, lease: 2m, cooldown: 10m' }))),
      clock,
    });
    await held(b);
    b.node.heat(40);
    await givenBack(b);
    clock.step(HOUR);
    b.node.heat(90);
    await b.tell({ pci: b.node.pci(), startsAt: anotherStart() });
    await until('it is suppressed', () => b.history('suppressed').some(({ reason }) => reason === 'cooldown'));
    await ticks(b);
    expect([b.history('acted').length, b.node.cap()]).toEqual([1, FOUND]);
  });

  it('takes windows with it, on and back', async () => {
    const clock: SetClock = setClock(Date.UTC(2026, 2, 5, 21, 30));
    const night = 'version: 1\nwindows:\n  night: { zone: UTC, from: "22:00", to: "06:00" }\n';
    const policy = policies(`  - name: night
    mode: enforce
    on: [{ schedule: night }]
    target: gpu
    do: [{ throttle: { power_cap: 70% } }]
    limits: { percent: 100 }
    dwell: 0s
    cooldown: 0s
`);
    const b = await bench({ rules: rulesOf(policy, night), clock });
    await ticks(b);
    expect([b.cases(), b.node.cap()]).toEqual([[], FOUND]);
    clock.step(HOUR);
    await until('the night has begun', () => b.node.cap() === CAPPED);
    clock.step(-HOUR);
    await givenBack(b);
    clock.step(HOUR);
    await until('it has begun again', () => b.node.cap() === CAPPED);
    clock.step(8 * HOUR);
    await givenBack(b);
    expect(b.history('released').map(({ reason }) => reason)).toEqual(['trigger_closed', 'trigger_closed']);
  });
});
