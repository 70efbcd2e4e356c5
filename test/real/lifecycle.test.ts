import { once } from 'node:events';
import { mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { describeNode, writeTree } from '../../sim/tree.ts';
import { childrenOf, type Daemon, daemon, freePort, isRunning, NIGHTSHIFT } from '../support/daemon.ts';
import { faultsUnavailable } from '../support/faultfs.ts';
import { deviceDir, type FaultyNode, faultyNode, Scrape, scratch } from '../support/faulty-node.ts';
import { skipUnless } from '../support/skips.ts';

let tree: string;
beforeAll(() => {
  tree = scratch('lifecycle');
  writeTree(tree, describeNode({ model: 'mi300x', cards: 8 }));
  mkdirSync(join(tree, 'empty/sys'), { recursive: true });
});
afterAll(() => rmSync(tree, { recursive: true, force: true }));

interface Served {
  daemon: Daemon;
  url: string;
  port: number;
  scrape(): Promise<Scrape>;
}

async function exporter(path: string, more: readonly string[] = [], given?: number): Promise<Served> {
  const port = given ?? (await freePort());
  const one = daemon(['exporter', `--path.sysfs=${path}/sys`, `--web.listen-address=127.0.0.1:${port}`, ...more]);
  const url = `http://127.0.0.1:${port}`;
  return {
    daemon: one,
    url,
    port,
    scrape: async () => new Scrape(await (await fetch(`${url}/metrics`)).text()),
  };
}

async function untilGone(pids: readonly number[], ms: number): Promise<number[]> {
  const end = performance.now() + ms;
  while (performance.now() < end && pids.some(isRunning)) await sleep(10);
  return pids.filter(isRunning);
}

describe('the process', () => {
  it('is ready soon, stops with 0 when told, and leaves no lane behind', async () => {
    const start = performance.now();
    const { daemon: one, scrape } = await exporter(tree);
    await one.says('msg=ready');
    const first = await scrape();
    console.info(`start to first good scrape, 8 cards: ${(performance.now() - start).toFixed(0)} ms`);
    expect(first.read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    const lanes = childrenOf(one.pid);
    expect(lanes.length).toBeGreaterThanOrEqual(2);
    const { code, signal, ms } = await one.stop();
    expect([code, signal]).toEqual([0, null]);
    expect(ms).toBeLessThan(1000);
    expect(await untilGone(lanes, 1000)).toEqual([]);
  });

  it('takes its idle lanes with it when it is killed', async () => {
    const { daemon: one, scrape } = await exporter(tree);
    await one.says('msg=ready');
    await scrape();
    const lanes = childrenOf(one.pid);
    expect(lanes.length).toBeGreaterThanOrEqual(1);
    await one.stop('SIGKILL');
    expect(await untilGone(lanes, 3000)).toEqual([]);
  });

  it('looks for cards again at SIGHUP, and goes on', async () => {
    const { daemon: one, scrape } = await exporter(tree);
    await one.says('msg=ready');
    await scrape();
    one.child.kill('SIGHUP');
    await one.says('reloaded');
    expect((await scrape()).read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect((await one.stop('SIGINT')).code).toBe(0);
  });

  it('starts nothing but its lanes, and those open nothing below /dev', async () => {
    const { daemon: one, scrape } = await exporter(tree);
    await one.says('msg=ready');
    for (let i = 0; i < 3; i++) await scrape();
    const pids = [one.pid, ...childrenOf(one.pid)];
    const opened = pids.flatMap((pid) => readdirSync(`/proc/${pid}/fd`).map((fd) => readLink(`/proc/${pid}/fd/${fd}`)));
    expect(opened.filter((path) => /^\/dev\/(dri|kfd)/.test(path))).toEqual([]);
    expect(opened.filter((path) => path.startsWith(tree)).length).toBeGreaterThan(100);
  });

  it('reads sixty-four partitions completely under a limit of 1024 open files', async () => {
    const cpx = join(tree, 'cpx');
    writeTree(cpx, describeNode({ model: 'mi300x', cards: 8, partition: 'cpx' }));
    const port = await freePort();
    const args = ['exporter', `--path.sysfs=${cpx}/sys`, `--web.listen-address=127.0.0.1:${port}`];
    const one = daemon(args, ['prlimit', '--nofile=1024:1024', process.execPath, NIGHTSHIFT]);
    await one.says('msg=ready');
    let scrape: Scrape | undefined;
    for (let i = 0; i < 3; i++) scrape = new Scrape(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
    expect(scrape?.samples('amdgpu_partition_info')).toHaveLength(64);
    const partitions = scrape
      ?.samples('amdgpu_xcc_busy_ratio')
      .map(({ labels }) => `${labels.gpu}/${labels.partition}`);
    expect(new Set(partitions).size).toBe(64);
    expect(scrape?.samples('amdgpu_read_errors_total', { reason: 'exhausted' }).every(({ value }) => value === 0)).toBe(
      true,
    );
    for (const pid of childrenOf(one.pid)) expect(readdirSync(`/proc/${pid}/fd`).length).toBeLessThan(1000);
  });
});

describe('with a card that hangs', () => {
  let node: FaultyNode;
  beforeAll(async () => {
    if (faultsUnavailable() === undefined)
      node = await faultyNode({ model: 'mi300x', cards: 8 }, (one) => [deviceDir(one, 3)]);
  });
  afterAll(() => node?.remove());

  it('stops within a second, with the port free for the next one at once', async () => {
    skipUnless(faultsUnavailable() === undefined, faultsUnavailable() ?? '');
    const card = node.faults(node.dir(3));
    const { daemon: one, scrape, port, url } = await exporter(node.path);
    await one.says('msg=ready');
    while ((await scrape()).read().length < 8) await sleep(100);
    await card.set('**', { hangSeconds: 30 });
    expect((await scrape()).read()).toEqual([0, 1, 2, 4, 5, 6, 7]);
    const lanes = childrenOf(one.pid);
    const inFlight = fetch(`${url}/metrics`).catch(() => undefined);
    const { code, signal, ms } = await one.stop();
    console.info(`SIGTERM to exit with a hung card: ${ms.toFixed(0)} ms`);
    expect([code, signal]).toEqual([0, null]);
    expect(ms).toBeLessThan(1000);
    await inFlight;
    // Only the one that is stuck in the kernel is left, and it ends when the kernel lets it go.
    expect((await untilGone(lanes, 1000)).length).toBeLessThanOrEqual(1);
    const start = performance.now();
    const next = await exporter(node.path, [], port);
    await next.daemon.says('msg=ready');
    expect((await next.scrape()).read()).toEqual([0, 1, 2, 4, 5, 6, 7]);
    console.info(`start to first scrape beside a hung card: ${(performance.now() - start).toFixed(0)} ms`);
    expect((await next.daemon.stop()).code).toBe(0);
    await card.clear();
    expect(await untilGone(lanes, 5000)).toEqual([]);
  });

  it('stops within a second also while it is still looking for cards', async () => {
    skipUnless(faultsUnavailable() === undefined, faultsUnavailable() ?? '');
    const card = node.faults(node.dir(3));
    await card.set('**', { hangSeconds: 30, on: 'open' });
    await card.set('', { hangSeconds: 30, on: 'open' });
    const { daemon: one } = await exporter(node.path);
    await one.says('msg=listening');
    const { code, ms } = await one.stop();
    expect(code).toBe(0);
    expect(ms).toBeLessThan(1000);
    await card.clear();
  });
});

describe('bad input', () => {
  const CASES: [string, () => string[] | Promise<string[]>, number, RegExp][] = [
    ['an unknown flag', () => ['exporter', '--web.listen-adress=:1'], 2, /--web\.listen-adress.*--web\.listen-address/],
    ['a bad value', () => ['exporter', '--lane.deadline=soon'], 2, /--lane\.deadline/],
    ['an address that is none', () => ['exporter', '--web.listen-address=9510'], 2, /colon is missing.*:9510/],
    [
      'a folder that is not there',
      () => ['exporter', '--path.sysfs=/nowhere'],
      2,
      /--path\.sysfs=\/nowhere.*no such folder/,
    ],
    ['a profiler without a folder', () => ['exporter', '--collector.profiler'], 2, /--collector\.profiler\.directory/],
    ['an unknown command', () => ['exprter'], 2, /exprter/],
    [
      'a broken web configuration',
      () => {
        writeFileSync(join(tree, 'web.yml'), 'basic_auth_users:\n  eve: not-a-hash\n');
        return [
          'exporter',
          `--path.sysfs=${tree}/sys`,
          '--web.listen-address=127.0.0.1:0',
          `--web.config.file=${tree}/web.yml`,
        ];
      },
      2,
      /web\.yml.*eve/,
    ],
    [
      'a port in use',
      async () => {
        const other = createServer().listen(0, '127.0.0.1');
        await once(other, 'listening');
        onTestFinished(() => void other.close());
        const { port } = other.address() as { port: number };
        return ['exporter', `--path.sysfs=${tree}/sys`, `--web.listen-address=127.0.0.1:${port}`];
      },
      1,
      /another program already listens/,
    ],
  ];

  it.each(CASES)('%s ends it with one line that says what and how to mend it', async (_, args, expected, message) => {
    const one = daemon(await args());
    const { code } = await one.ended;
    await sleep(20);
    expect(code).toBe(expected);
    const lines = one
      .log()
      .split('\n')
      .filter((line) => line !== '' && !/level=info/.test(line));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(message);
    expect(lines[0]).not.toMatch(/\bat .*\.js:\d+/);
  });
});

describe('without a card', () => {
  it('runs, says so, and finds one that comes later', async () => {
    const later = join(tree, 'later');
    mkdirSync(join(later, 'sys'), { recursive: true });
    const { daemon: one, scrape, url } = await exporter(later);
    await one.says('no AMD GPU found');
    const none = await scrape();
    expect(none.value('amdgpu_gpus')).toBe(0);
    expect(none.value('amdgpu_exporter_collector_success', { collector: 'power' })).toBe(1);
    expect(await (await fetch(`${url}/`)).text()).toContain('No AMD GPU found');
    expect((await fetch(`${url}/-/ready`)).status).toBe(200);
    rmSync(join(later, 'sys'), { recursive: true });
    writeTree(later, describeNode({ model: 'mi210', cards: 1 }));
    let found = await scrape();
    for (let i = 0; i < 20 && found.value('amdgpu_gpus') !== 1; i++) {
      await sleep(100);
      found = await scrape();
    }
    expect(found.read()).toEqual([0]);
    expect((await one.stop()).code).toBe(0);
  });
});

/** Empty where the descriptor was closed meanwhile. */
function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
