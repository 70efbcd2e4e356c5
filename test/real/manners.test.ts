import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { COLLECTORS } from '../../exporter/collectors.ts';
import { describeNode, writeTree } from '../../sim/tree.ts';
import { type FaultFs, faultsUnavailable } from '../support/faultfs.ts';
import { deviceDir, faultyNode, prepareExporter, runExporter, scratch } from '../support/faulty-node.ts';
import { skipUnless } from '../support/skips.ts';

const KFD_PROC = 'sys/devices/virtual/kfd/kfd/proc';

beforeEach(() => skipUnless(faultsUnavailable() === undefined, faultsUnavailable() ?? ''));

/** Reads by file, of those that match. */
function counts(fs: FaultFs, pattern: RegExp): Record<string, number> {
  return Object.fromEntries([...fs.allReads()].filter(([path]) => pattern.test(path)));
}

/** Reads since then, of those that were read. */
function since(fs: FaultFs, before: Record<string, number>, pattern: RegExp): Record<string, number> {
  const now = Object.entries(counts(fs, pattern)).map(([path, count]): [string, number] => [
    path,
    count - (before[path] ?? 0),
  ]);
  return Object.fromEntries(now.filter(([, count]) => count > 0));
}

describe.each(['mi210', 'mi300x'] as const)('twenty scrapes of %s in a row', (model) => {
  it('read what has a price once in its interval, slow files once in ten seconds, and the rest at each pass', async () => {
    const node = await faultyNode({ model, cards: 1, processes: [trainer] }, (one) => [deviceDir(one, 0), KFD_PROC]);
    onTestFinished(() => node.remove());
    const [card, kfd] = [node.faults(node.dir(0)), node.faults(KFD_PROC)];
    for (const name of ['pcie_bw', 'pm_metrics', 'reg_state'])
      writeFileSync(join(node.source(node.dir(0)), name), '0 0 0\n');
    writeFileSync(join(node.source(node.dir(0)), 'xgmi_error'), '0\n');
    const names = COLLECTORS.filter((one) => one.byDefault).map((one) => one.name);
    const { until, scrape } = await runExporter(node.path, {
      collectors: new Set(names),
      processes: { perProcess: true, maxSeries: 100, occupancyMs: 15_000, fullScanMs: 10_000, intervalMs: 0 },
    });
    const blocks = node.node.gpus[0]?.ras.blocks ?? {};
    const first = await until((one) => one.samples('amdgpu_ras_errors_total').length >= 2 * Object.keys(blocks).length);
    expect(first?.health(0)).toBe('ok');
    // The slow files are read in this pass at the latest.
    await scrape();
    const before = counts(card, /./);
    const start = performance.now();
    for (let i = 0; i < 20; i++) await scrape();
    const periods = Math.ceil((performance.now() - start) / 10_000);
    const read = since(card, before, /./);
    expect(read.gpu_metrics).toBe(20);
    for (const name of ['aer_dev_correctable', 'mem_info_vram_total', 'ras/gpu_vram_bad_pages'])
      expect(read[name] ?? 0, name).toBeLessThanOrEqual(periods);
    for (const name of ['vbios_version', 'unique_id', 'serial_number']) expect(read[name] ?? 0, name).toBe(0);
    expect(since(card, before, /_err_count$|^xgmi_error$/)).toEqual({});
    expect(Object.values(counts(card, /_err_count$|^xgmi_error$/))).toEqual(
      new Array(Object.keys(blocks).length + 1).fill(1),
    );
    expect(counts(card, /pcie_bw|pm_metrics|reg_state/)).toEqual({});
    const occupancy = Object.values(counts(kfd, /cu_occupancy$/));
    expect(occupancy.length).toBeGreaterThan(0);
    expect(Math.max(...occupancy)).toBeLessThanOrEqual(2);
  });
});

const trainer = {
  comm: 'python3',
  cmdline: ['python3', 'train.py'],
  age: 100,
  gpus: [{ gpu: 0, vram: 2 ** 30, gtt: 0, sdma: 5, cuOccupancy: 40, queues: ['compute' as const] }],
};

describe('a suspended card', () => {
  /** What the kernel answers without touching the card: decides whether it is ours, and whether it sleeps. */
  const HARMLESS = /^(uevent|vendor|device|power\/runtime_status|hwmon\/hwmon\d+\/name)$/;

  it('is not read, is up and asleep, and is read again with its identity when it wakes', async () => {
    const node = await faultyNode({ model: 'mi210', cards: 2 }, (one) => [deviceDir(one, 1)]);
    onTestFinished(() => node.remove());
    const card = node.faults(node.dir(1));
    const status = join(node.source(node.dir(1)), 'power/runtime_status');
    writeFileSync(status, 'suspended\n');
    const { scrape, until } = await runExporter(node.path);
    for (let i = 0; i < 3; i++) {
      const now = await scrape();
      expect(now.health(1)).toBe('asleep');
      expect(now.value('amdgpu_up', { gpu: 1 })).toBe(1);
      expect(now.read()).toEqual([0]);
    }
    await sleep(1500); // the costly files' timer
    expect([...card.allReads().keys()].filter((path) => !HARMLESS.test(path))).toEqual([]);
    writeFileSync(status, 'active\n');
    const awake = await until(
      (one) => one.health(1) === 'ok' && one.samples('amdgpu_firmware_info', { gpu: 1 }).length > 0,
    );
    expect(awake?.samples('amdgpu_info', { gpu: 1 })[0]?.labels.vbios).toMatch(/^113-/);
    expect(awake?.read()).toEqual([0, 1]);
    const before = counts(card, /./);
    writeFileSync(status, 'suspended\n');
    const asleep = await scrape();
    expect(asleep.health(1)).toBe('asleep');
    expect(asleep.samples('amdgpu_power_watts', { gpu: 1 })).toEqual([]);
    expect(asleep.samples('amdgpu_info', { gpu: 1 })).toEqual(awake?.samples('amdgpu_info', { gpu: 1 }));
    expect(Object.keys(since(card, before, /./))).toEqual(['power/runtime_status']);
  });
});

describe('a lane with few descriptors', () => {
  function limit(pids: readonly number[], descriptors: number): void {
    for (const pid of pids) execFileSync('prlimit', ['--pid', String(pid), `--nofile=${descriptors}:`]);
  }

  function eightCards(): string {
    const tree = scratch('limits');
    onTestFinished(() => execFileSync('rm', ['-rf', tree]) && undefined);
    writeTree(tree, describeNode({ model: 'mi300x', cards: 8 }));
    return tree;
  }

  it('reads eight cards completely with forty, from the start and when they become fewer', async () => {
    const tree = eightCards();
    const well = await (await runExporter(tree)).scrape();
    const { exporter, scrape } = prepareExporter(tree);
    exporter.pool.warm();
    limit(exporter.pool.pids(), 40);
    await exporter.start();
    for (let i = 0; i < 3; i++) {
      const now = await scrape();
      expect(now.read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      for (const gpu of [0, 7]) expect(now.familiesOf(gpu)).toEqual(expect.arrayContaining(well.familiesOf(gpu)));
    }
    const other = await runExporter(tree);
    await other.scrape();
    await other.scrape();
    limit(other.exporter.pool.pids(), 40);
    other.exporter.rediscover();
    for (let i = 0; i < 3; i++) expect((await other.scrape()).read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('says that it is our fault where it has none at all, loses no card for it, and recovers', async () => {
    const tree = eightCards();
    const { exporter, scrape } = await runExporter(tree);
    await scrape();
    limit(exporter.pool.pids(), 3);
    exporter.rediscover();
    await sleep(300); // kept descriptors are looked at again
    await scrape();
    const now = await scrape();
    expect(now.value('amdgpu_gpus')).toBe(8);
    const exhausted = now.samples('amdgpu_read_errors_total', { reason: 'exhausted' });
    expect(exhausted.reduce((sum, { value }) => sum + value, 0)).toBeGreaterThan(0);
    expect(now.samples('amdgpu_health').filter(({ labels, value }) => labels.state === 'gone' && value === 1)).toEqual(
      [],
    );
    limit(exporter.pool.pids(), 1024);
    expect((await scrape()).read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});
