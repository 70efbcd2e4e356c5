import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { CRASH_POINTS } from '../../actuator/app.ts';
import { type Ledger, openLedger } from '../../actuator/ledger/ledger.ts';
import type { HistoryLine } from '../../actuator/ledger/look.ts';
import { type AlertAbout, alertOf, anotherStart, hotJunction, policies, scratchFolder } from '../support/actuator.ts';
import { type CrashOptions, tellOver, Victim } from '../support/crash.ts';
import { NIGHTSHIFT } from '../support/daemon.ts';
import { type HotNode, hotNode, plainNode } from '../support/hot-node.ts';
import { runProgram } from '../support/relay.ts';
import { until as untilWithin } from '../support/until.ts';

/** An actuator that is killed at any moment: what it acknowledged is done, what it set is given back, nothing is done twice. */

vi.setConfig({ testTimeout: 1_800_000 });
/** A machine on which much else runs is slow, and nothing here is about how fast it is. */
const until = <T>(what: string, ask: () => T | Promise<T>) => untilWithin(what, ask, 120_000);

function opened<T>(file: string, look: (ledger: Ledger) => T): T {
  const ledger = openLedger(file, { now: () => Date.now(), waitMs: 10_000 });
  try {
    ledger.checkIntegrity();
    return look(ledger);
  } finally {
    ledger.close();
  }
}

const keyOf = (about: AlertAbout): string => {
  const { fingerprint, startsAt } = alertOf(about) as { fingerprint: string; startsAt: string };
  return `${fingerprint}@${startsAt}`;
};

interface Told {
  acts: Map<string, number>;
  /** Intents to write, by case. */
  claims: Map<string, number>;
  writes: number;
  restores: number;
}

/** What the history says was done. */
function told(lines: readonly HistoryLine[]): Told {
  const made: Told = { acts: new Map(), claims: new Map(), writes: 0, restores: 0 };
  const add = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1);
  for (const { outcome, reason, case: id = '', detail } of lines) {
    if (outcome === 'acted') add(made.acts, id);
    if (outcome !== 'write' || !('to' in detail)) continue;
    if (reason === 'restore') made.restores += 1;
    else made.writes += 1;
    if (reason !== 'claim') continue;
    for (const one of detail.cases as string[]) add(made.claims, `${one} ${detail.knob}`);
  }
  return made;
}

const expectOnce = (map: ReadonlyMap<string, number>): void =>
  expect([...map].filter(([, times]) => times !== 1)).toEqual([]);

describe('killed at a named point', () => {
  const rules = policies(
    hotJunction({ do: '{ power_cap: 70%, clock_max: 1200MHz }', times: 'dwell: 0s, lease: 10m, cooldown: 0s' }),
  );
  const LIMITED = { cap: 210, gfxMax: 1200, level: 'manual' };
  const isLimited = (node: HotNode): boolean =>
    Object.entries(LIMITED).every(([key, value]) => node.settings()[key] === value);
  /** Of points that are passed again and again the first ones. */
  const MOST = 6;

  /** One hot and one cool spell, until it is over or the actuator is. */
  async function live(node: HotNode, victim: Victim, options: CrashOptions, about: AlertAbout): Promise<boolean> {
    node.heat(90);
    victim.begin();
    let acked = false;
    const over = (): boolean => victim.isOver;
    await until('it took the alert, or ended', async () => {
      if (!acked) acked = (await tellOver(options.socket, about))?.status === 202;
      return over() || acked;
    });
    await until('the card is limited, or it ended', () => over() || isLimited(node));
    if (over()) return acked;
    node.heat(40);
    await until('it heard the end, or ended', async () => {
      return over() || (await tellOver(options.socket, { ...about, status: 'resolved' }))?.status === 202;
    });
    await until('it is over, or it ended', () => over() || node.settings().level === 'auto');
    // What follows the last write: its result, and the end of the case.
    for (let i = 0; i < 20 && !over(); i++) await sleep(50);
    return acked;
  }

  /** With another process that is not killed, from where the dead one left it. What was acknowledged is not told again. */
  async function settle(node: HotNode, next: Victim, socket: string, about: AlertAbout, acked: boolean): Promise<void> {
    next.begin();
    await until('it is ready', () => next.isReady);
    if (node.gpu().live.temperature.junction > 60) {
      if (!acked) await until('it took the alert', async () => (await tellOver(socket, about))?.status === 202);
      await until('the card is limited', () => isLimited(node));
    }
    node.heat(40);
    await until('all is given back', () => node.settings().level === 'auto' && node.cap() === 300);
    await sleep(600);
    await next.kill();
  }

  /** With no further actuator: by what the ledger says. */
  async function revert(node: HotNode, { ledger }: CrashOptions): Promise<void> {
    const paths = [`--path.sysfs=${node.tree}/sys`, `--path.procfs=${node.tree}/proc`, '--lane.deadline=20s'];
    const args = [NIGHTSHIFT, 'revert', '--offline', `--ledger=${ledger}`, ...paths];
    const { status, stdout, stderr } = await runProgram(process.execPath, args);
    expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
  }

  it('goes on from there, does nothing twice, and gives back what it found; so does a revert without it', async () => {
    const node = await hotNode({ model: 'mi210', cards: 1 });
    const found = node.settings();
    const folder = scratchFolder('crash');
    const optionsOf = (name: string): CrashOptions => {
      return { tree: node.tree, ledger: join(folder, `${name}.db`), socket: join(folder, `${name}.sock`), rules };
    };
    const counting = { ...optionsOf('count'), count: true };
    const counter = new Victim(counting);
    await live(node, counter, counting, { pci: node.pci(), startsAt: anotherStart() });
    await counter.kill();
    expect(node.settings()).toEqual(found);
    expect([...counter.passed.keys()].sort()).toEqual([...CRASH_POINTS].sort());

    const plan = CRASH_POINTS.flatMap((point) =>
      Array.from({ length: Math.min(MOST, counter.passed.get(point) ?? 0) }, (_, i) => [point, i + 1] as const),
    );
    const reached = new Set<string>();
    const began = performance.now();
    let lives = 0;
    for (const [point, nth] of plan) {
      for (const way of ['restart', 'revert'] as const) {
        // What is decided and not yet begun leaves nothing to revert that the points of the knobs do not.
        if (way === 'revert' && !/^after-(intent|write|result)$/.test(point)) continue;
        const name = `${point}-${nth}-${way}`;
        const options = optionsOf(name);
        const about = { pci: node.pci(), startsAt: anotherStart() };
        lives += 1;
        const victim = new Victim({ ...options, crash: [point, nth] });
        // Loads while the other lives.
        const next = way === 'restart' ? new Victim(options) : undefined;
        const acked = await live(node, victim, options, about);
        if (!victim.isOver) await victim.kill();
        else {
          expect({ name, killed: victim.wasKilled, complaints: victim.wasKilled || victim.complaints }).toMatchObject({
            killed: true,
          });
          reached.add(point);
        }
        if (next !== undefined) await settle(node, next, options.socket, about, acked);
        else await revert(node, options);
        expect({ name, settings: node.settings() }).toEqual({ name, settings: found });
        opened(options.ledger, (ledger) => {
          const { acts, claims } = told(ledger.history({ limit: 10_000 }));
          expectOnce(acts);
          expectOnce(claims);
          if (way === 'revert') return;
          const { cases, knobs } = ledger.load();
          expect({ name, open: [...cases.values()], held: [...knobs.values()] }).toEqual({ name, open: [], held: [] });
          const known = ledger.cases().filter(({ triggers }) => triggers.includes(keyOf(about)));
          if (acked) expect({ name, cases: known.map(({ state }) => state) }).toEqual({ name, cases: ['released'] });
        });
      }
    }
    expect([...reached].sort()).toEqual([...CRASH_POINTS].sort());
    const seconds = (performance.now() - began) / 1000;
    console.info(`${plan.length} moments at ${reached.size} points, ${lives} lives in ${seconds.toFixed(0)} s`);
  });
});

describe('killed at any moment', () => {
  // With every run a few; two hundred and more take minutes: npm run test:crash.
  const CHAINS = 3;
  const KILLS = CHAINS * Math.ceil(Number(process.env.NIGHTSHIFT_KILLS ?? 24) / CHAINS);
  const brief = hotJunction({
    name: 'brief',
    alert: 'Brief',
    when: '',
    until: '',
    times: 'dwell: 0s, lease: 2s, cooldown: 0s',
  });
  const rules = policies(hotJunction({ times: 'dwell: 0s, lease: 1h, cooldown: 0s' }), brief);
  const [FOUND, CAPPED] = [300, 210];

  /** One node, one ledger, and one actuator after the other. */
  async function chain(kills: number): Promise<{ cycles: number; acked: number; lives: number[] }> {
    const node = plainNode({ model: 'mi210', cards: 2 });
    const folder = scratchFolder('kills');
    const options = { tree: node.dir, ledger: join(folder, 'ledger.db'), socket: join(folder, 'a.sock'), rules };
    const [steady, short]: string[][] = [[], []];
    const lives: number[] = [];
    let cycles = 0;
    let over = false;
    let failure: unknown;

    /** Many a life may have to pass before. */
    const patiently = <T>(what: string, ask: () => T | Promise<T>) => untilWithin(what, ask, 600_000);
    /** The world goes on whether there is an actuator or not: hot, told until it is acknowledged, cool. */
    const world = async (): Promise<void> => {
      const tell = (about: AlertAbout) =>
        patiently('an alert is acknowledged', async () => {
          const answer = await tellOver(options.socket, about);
          if (answer === undefined) await sleep(20);
          return answer?.status === 202;
        });
      while (!over) {
        node.heat(90, 0);
        const lasting = { pci: node.pci(0), startsAt: anotherStart() };
        const passing = { pci: node.pci(1), startsAt: anotherStart(), name: 'Brief' };
        await tell(lasting);
        steady?.push(keyOf(lasting));
        await tell(passing);
        short?.push(keyOf(passing));
        await patiently('the card is limited', () => node.cap(0) === CAPPED);
        node.heat(40, 0);
        await patiently('the card is given back', () => node.cap(0) === FOUND);
        await tell({ ...lasting, status: 'resolved' });
        cycles += 1;
      }
    };
    const living = world().catch((error: unknown) => {
      failure = error;
    });

    let span = 2_500;
    let spare = new Victim(options);
    for (let i = 0; i < kills && failure === undefined; i++) {
      const victim = spare;
      spare = new Victim(options);
      await until('it is loaded', () => victim.isLoaded);
      const before = cycles;
      victim.begin();
      const life = Math.random() * span;
      await sleep(life);
      expect({ over: victim.isOver, complaints: victim.isOver && victim.complaints }).toMatchObject({ over: false });
      await victim.kill();
      lives.push(life);
      // On the machine as it is, about one life in five brings a spell to its end.
      span *= cycles > before ? 0.8 : 1.05;
      opened(options.ledger, (ledger) => {
        const { acts, claims } = told(ledger.history({ limit: 1_000_000 }));
        expectOnce(acts);
        expectOnce(claims);
        const { triggers } = ledger.load();
        expect([...(steady ?? []), ...(short ?? [])].filter((key) => !triggers.has(key))).toEqual([]);
      });
    }
    over = true;
    spare.begin();
    await living;
    if (failure !== undefined) throw failure;
    // A case that was begun last is over by its lease.
    await until('all is given back', () => node.cap(0) === FOUND && node.cap(1) === FOUND);
    await sleep(3_000);
    await spare.kill();

    opened(options.ledger, (ledger) => {
      const { cases, knobs } = ledger.load();
      expect({ open: [...cases.values()], held: [...knobs.values()] }).toEqual({ open: [], held: [] });
      const all = ledger.cases({ limit: 1_000_000 });
      const acted = new Set(told(ledger.history({ limit: 1_000_000 })).acts.keys());
      const done = new Set(all.filter(({ id }) => acted.has(id)).flatMap(({ triggers }) => triggers));
      expect(steady?.filter((key) => !done.has(key))).toEqual([]);
      const { writes, restores } = told(ledger.history({ limit: 1_000_000 }));
      // Each kill costs one repetition at most on each of the two cards: that of a write whose outcome nobody knew.
      expect(writes).toBeLessThanOrEqual(acted.size + 2 * kills);
      expect(restores).toBeLessThanOrEqual(acted.size + 2 * kills);
    });
    expect([node.cap(0), node.cap(1)]).toEqual([FOUND, FOUND]);
    return { cycles, acked: (steady?.length ?? 0) + (short?.length ?? 0), lives };
  }

  it(`${KILLS} times: no alert that was acknowledged is lost, nothing is done twice, and nothing is left behind`, async () => {
    const began = performance.now();
    const chains = await Promise.all(Array.from({ length: CHAINS }, () => chain(KILLS / CHAINS)));
    const lives = chains.flatMap((one) => one.lives).sort((a, b) => a - b);
    const sum = (of: (one: (typeof chains)[number]) => number): number => chains.reduce((all, one) => all + of(one), 0);
    expect(lives).toHaveLength(KILLS);
    // Often enough it came as far as acting.
    expect(sum(({ cycles }) => cycles)).toBeGreaterThanOrEqual(Math.floor(KILLS / 20));
    console.info(
      `${KILLS} kills in ${((performance.now() - began) / 1000).toFixed(0)} s after ${lives[0]?.toFixed(0)} to ${lives.at(-1)?.toFixed(0)} ms ` +
        `of life (median ${lives[Math.floor(KILLS / 2)]?.toFixed(0)}); ${sum(({ acked }) => acked)} alerts acknowledged, ${sum(({ cycles }) => cycles)} cards limited and given back`,
    );
  });
});
