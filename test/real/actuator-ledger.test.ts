import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Case } from '../../model/case.ts';
import type { HistoryEntry } from '../../model/decision.ts';
import {
  type AlertAbout,
  type Answered,
  alertOf,
  anotherStart,
  hotJunction,
  messageOf,
  NODE,
  policies,
  post,
  scratchFolder,
} from '../support/actuator.ts';
import { type Daemon, daemon, freePort } from '../support/daemon.ts';
import { type PlainNode, plainNode } from '../support/hot-node.ts';
import { Series } from '../support/series.ts';
import { skipUnless } from '../support/skips.ts';
import { until as untilWithin } from '../support/until.ts';

/** What files and other processes can do to the actuator, on the real command. Each is a row of "What happens when" in docs/actuator.md. */

vi.setConfig({ testTimeout: 300_000 });
/** A machine on which much else runs is slow, and nothing here is about how fast it is. */
const until = <T>(what: string, ask: () => T | Promise<T>) => untilWithin(what, ask, 120_000);
const [FOUND, CAPPED] = [300, 210];

interface Started {
  url: string;
  process: Daemon;
  tell(about: AlertAbout): Promise<Answered>;
  get<T>(path: string): Promise<T>;
  text(path: string): Promise<{ status: number; body: string }>;
  metrics(): Promise<Series>;
  openCases(): Promise<Case[]>;
}

/** The command, listening; whether it acts is for the test to ask. */
async function start(node: PlainNode, folder: string, more: readonly string[] = []): Promise<Started> {
  const rules = join(folder, 'rules');
  mkdirSync(rules, { recursive: true });
  if (!existsSync(join(rules, 'policy.yaml'))) writeFileSync(join(rules, 'policy.yaml'), policies(hotJunction()));
  const address = `127.0.0.1:${await freePort()}`;
  const process = daemon([
    'actuator',
    `--path.sysfs=${node.dir}/sys`,
    `--path.procfs=${node.dir}/proc`,
    `--rules=${rules}`,
    `--ledger=${join(folder, 'ledger.db')}`,
    `--control.socket=${join(folder, 'control.sock')}`,
    `--node.name=${NODE}`,
    `--web.listen-address=${address}`,
    ...more,
  ]);
  const url = `http://${address}`;
  const text = async (path: string) => {
    const response = await fetch(`${url}${path}`);
    return { status: response.status, body: await response.text() };
  };
  let over = false;
  void process.ended.then(() => {
    over = true;
  });
  await until('it has looked for cards', async () => {
    if (over) throw new Error(process.log());
    const ready = await text('/-/ready').catch(() => undefined);
    return ready !== undefined && !ready.body.startsWith('Looking');
  });
  const get = async <T>(path: string): Promise<T> => JSON.parse((await text(path)).body) as T;
  return {
    url,
    process,
    text,
    get,
    tell: (about) => post(url, messageOf(alertOf(about))),
    metrics: async () => new Series((await text('/metrics')).body),
    openCases: async () => (await get<{ cases: Case[] }>('/v1/cases')).cases,
  };
}

async function held(one: Started, node: PlainNode, gpu = 0): Promise<void> {
  expect((await one.tell({ pci: node.pci(gpu), startsAt: anotherStart() })).status).toBe(202);
  await until('the case is active', async () => {
    const cases = await one.openCases();
    return cases.some(
      ({ state, target }) => state === 'active' && target.kind === 'gpu' && target.pci === node.pci(gpu),
    );
  });
  expect(node.cap(gpu)).toBe(CAPPED);
}

const history = async (one: Started): Promise<HistoryEntry[]> =>
  (await one.get<{ history: HistoryEntry[] }>('/v1/history?limit=1000')).history.reverse();

describe('a disk that is full', () => {
  /** A tiny one, in a folder of the test. */
  function tinyDisk(): string {
    const disk = scratchFolder('disk');
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]).status === 0;
    onTestFinished(() => {
      if (mounted) spawnSync('umount', ['-l', disk]);
    });
    skipUnless(mounted, 'no tmpfs can be mounted here: it needs root');
    return disk;
  }

  function fill(disk: string): string {
    const file = join(disk, 'ballast');
    for (let size = 65_536; size >= 512; size /= 2) {
      try {
        for (;;) writeFileSync(file, Buffer.alloc(size, 1), { flag: 'a' });
      } catch {
        // A smaller piece may still fit.
      }
    }
    return file;
  }

  it('takes no alert, begins nothing, gives back what is held, and goes on where there is room again', async () => {
    const disk = tinyDisk();
    const node = plainNode({ model: 'mi210', cards: 2 });
    mkdirSync(join(disk, 'rules'));
    const times = 'dwell: 2s, lease: 5s, cooldown: 1s';
    writeFileSync(join(disk, 'rules/policy.yaml'), policies(hotJunction({ times })));
    const one = await start(node, disk);
    await held(one, node, 0);
    const ballast = fill(disk);
    const other = { pci: node.pci(1), startsAt: anotherStart() };
    await until('alerts are not taken', async () => (await one.tell(other)).status === 503);
    expect(JSON.parse((await one.tell(other)).body)).toEqual({ reason: 'disk_full' });
    // A lease that could not be written down is renewed all the same: the card is hot.
    await sleep(8_000);
    expect(node.cap(0)).toBe(CAPPED);
    // A dwell that was called off begins anew.
    node.heat(40, 0);
    await sleep(1_000);
    node.heat(90, 0);
    await sleep(3_000);
    expect(node.cap(0)).toBe(CAPPED);
    // Giving back waits for nobody.
    node.heat(40, 0);
    await until('the first card is given back', () => node.cap(0) === FOUND);
    await until('that is told', async () => (await one.text('/-/ready')).status === 503);
    expect((await one.metrics()).value('nightshift_ledger_commit_failures_total')).toBeGreaterThan(0);
    expect(node.cap(1)).toBe(FOUND);
    rmSync(ballast);
    await until('alerts are taken', async () => (await one.tell(other)).status === 202);
    await until('the second card is held', () => node.cap(1) === CAPPED);
    await until('it is ready', async () => (await one.text('/-/ready')).status === 200);
    node.heat(40, 1);
    await until('all is over', async () => (await one.openCases()).length === 0);
    expect([node.cap(0), node.cap(1)]).toEqual([FOUND, FOUND]);
    // The ledger has all of it, also what was done while it could take nothing.
    const outcomes = (await history(one)).filter(({ policy }) => policy !== undefined).map(({ outcome }) => outcome);
    for (const outcome of ['acted', 'released', 'closed'] as const) {
      expect({ outcome, times: outcomes.filter((each) => each === outcome).length }).toEqual({ outcome, times: 2 });
    }
    await one.process.stop();
  });
});

describe('a ledger that another process holds', () => {
  it('lets no second actuator start, which says so', async () => {
    const [node, other] = [plainNode({ model: 'mi210', cards: 1 }), plainNode({ model: 'mi210', cards: 1 })];
    const folder = scratchFolder('locked');
    const one = await start(node, folder);
    const second = daemon([
      'actuator',
      `--path.sysfs=${other.dir}/sys`,
      `--path.procfs=${other.dir}/proc`,
      `--rules=${join(folder, 'rules')}`,
      `--ledger=${join(folder, 'ledger.db')}`,
      `--control.socket=${join(folder, 'second.sock')}`,
      `--web.listen-address=127.0.0.1:${await freePort()}`,
    ]);
    expect((await second.ended).code).toBe(1);
    expect(second.log()).toContain('LEDGER_LOCKED');
    await held(one, node);
    await one.process.stop();
  });
});

describe('a ledger that is broken', () => {
  it('stands the actuator frozen: it says so everywhere, takes no alert, touches no card', async () => {
    const node = plainNode({ model: 'mi210', cards: 1 });
    const folder = scratchFolder('broken');
    const file = join(folder, 'ledger.db');
    writeFileSync(file, Buffer.alloc(8_192, 'this was a ledger once '));
    const before = readFileSync(file);
    const one = await start(node, folder);
    expect(await one.text('/-/ready')).toMatchObject({ status: 503, body: expect.stringContaining('Frozen') });
    expect((await one.text('/-/ready')).body).toContain('LEDGER_BROKEN');
    expect((await one.text('/-/healthy')).status).toBe(200);
    expect((await one.metrics()).state('nightshift_actuator_state', 'state')).toBe('frozen');
    expect(await one.get('/v1/status')).toMatchObject({
      state: 'frozen',
      frozenBecause: expect.stringContaining('LEDGER_BROKEN'),
    });
    expect((await one.tell({ pci: node.pci() })).status).toBe(503);
    await sleep(2_000);
    expect(node.cap()).toBe(FOUND);
    await one.process.stop();
    // Left as it was found, for whoever looks at it.
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});

describe('rules that are wrong', () => {
  it('are not taken: the last good ones stay in force, and that is told, until they are right', async () => {
    const node = plainNode({ model: 'mi210', cards: 2 });
    const folder = scratchFolder('rules');
    const one = await start(node, folder);
    await held(one, node, 0);
    const good = (await one.metrics()).value('nightshift_rules_last_reload_successful');
    const version = (await one.get<{ rules: string }>('/v1/status')).rules;
    const file = join(folder, 'rules/policy.yaml');
    writeFileSync(file, policies(hotJunction({ do: '{ power_cup: 50% }' })));
    const successful = async () => (await one.metrics()).value('nightshift_rules_last_reload_successful');
    await until('that is told', async () => (await successful()) === 0);
    expect(good).toBe(1);
    expect((await one.get<{ rules: string }>('/v1/status')).rules).toBe(version);
    await held(one, node, 1);
    writeFileSync(file, policies(hotJunction({ do: '{ power_cap: 50% }' })));
    await until('the right ones are taken', async () => (await successful()) === 1);
    // A case keeps the version that began it.
    await sleep(1_500);
    expect([node.cap(0), node.cap(1)]).toEqual([CAPPED, CAPPED]);
    node.heat(40, 0);
    await until('it is given back', () => node.cap(0) === FOUND);
    node.heat(90, 0);
    await until('the new limit is in force', async () => {
      await one.tell({ pci: node.pci(0), startsAt: anotherStart() });
      return node.cap(0) === FOUND / 2;
    });
    await one.process.stop();
  });

  it('at the start let nothing start', async () => {
    const node = plainNode({ model: 'mi210', cards: 1 });
    const folder = scratchFolder('rules');
    mkdirSync(join(folder, 'rules'));
    writeFileSync(join(folder, 'rules/policy.yaml'), 'version: 1\npolicies: nothing\n');
    await expect(start(node, folder)).rejects.toThrow(/RULES_INVALID/);
  });
});

describe('a second actuator on one host', () => {
  it('observes: it says so, decides as a dry run, and touches no card', async () => {
    const node = plainNode({ model: 'mi210', cards: 1 });
    const [one, two] = [await start(node, scratchFolder('first')), await start(node, scratchFolder('second'))];
    expect(await two.get('/v1/status')).toMatchObject({ state: 'observing', enforce: false });
    expect((await two.metrics()).state('nightshift_actuator_state', 'state')).toBe('observing');
    await two.tell({ pci: node.pci() });
    await until('it would have acted', async () => (await history(two)).some(({ outcome }) => outcome === 'acted'));
    expect((await two.openCases())[0]).toMatchObject({ mode: 'dry_run', state: 'active' });
    await sleep(1_500);
    expect(node.cap()).toBe(FOUND);
    await held(one, node);
    await two.process.stop();
    expect(node.cap()).toBe(CAPPED);
    await one.process.stop();
  });

  it('acts once the first one has gone', async () => {
    const node = plainNode({ model: 'mi210', cards: 1 });
    const [one, two] = [await start(node, scratchFolder('first')), await start(node, scratchFolder('second'))];
    await one.process.stop();
    const state = async () => (await two.metrics()).state('nightshift_actuator_state', 'state');
    await until('it acts', async () => (await state()) === 'acting');
    await held(two, node);
    await two.process.stop();
  });
});

describe('an end of the process', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'by %s gives nothing back; the next one goes on where it was',
    async (signal) => {
      const node = plainNode({ model: 'mi210', cards: 1 });
      const folder = scratchFolder('stop');
      const one = await start(node, folder);
      await held(one, node);
      await one.process.stop(signal);
      await sleep(500);
      expect(node.cap()).toBe(CAPPED);
      const next = await start(node, folder);
      expect(await next.openCases()).toMatchObject([{ state: 'active' }]);
      node.heat(40);
      await until('all is over', async () => (await next.openCases()).length === 0);
      expect(node.cap()).toBe(FOUND);
      const told = await history(next);
      expect(told.filter(({ outcome, detail }) => outcome === 'write' && 'to' in detail)).toHaveLength(2);
      await next.process.stop();
    },
  );

  it('that lasts beyond the lease is made up for at the next start', async () => {
    const node = plainNode({ model: 'mi210', cards: 1 });
    const folder = scratchFolder('lease');
    mkdirSync(join(folder, 'rules'));
    const times = 'dwell: 1s, lease: 2s, cooldown: 1h';
    writeFileSync(join(folder, 'rules/policy.yaml'), policies(hotJunction({ until: '', times })));
    const one = await start(node, folder);
    await held(one, node);
    await one.process.stop('SIGKILL');
    node.heat(50);
    await sleep(3_000);
    expect(node.cap()).toBe(CAPPED);
    const next = await start(node, folder);
    await until('it is given back', () => node.cap() === FOUND);
    await until('all is over', async () => (await next.openCases()).length === 0);
    await next.process.stop();
  });
});
