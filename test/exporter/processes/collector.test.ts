import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeClock } from '../../../base/clock.ts';
import { ProcessCollector, type ProcessOptions, type ProcessTarget } from '../../../exporter/processes/collector.ts';
import { process as quantities } from '../../../model/quantities/process.ts';
import type { Quantity } from '../../../model/quantities/quantity.ts';
import { capturesDir, captureTree } from '../../support/captures.ts';
import { skipUnless } from '../../support/skips.ts';
import { FakePool } from './fake-pool.ts';
import { Node } from './node.ts';

const A = '0000:0c:00.0';
const B = '0000:0d:00.0';
const CARDS: ProcessTarget[] = [
  { pci: A, gpu: 0, partitions: [{ number: 0, renderMinor: 128, kfdNode: 1, kfdGpuId: 26273 }] },
  { pci: B, gpu: 1, partitions: [{ number: 0, renderMinor: 129, kfdNode: 2, kfdGpuId: 13261 }] },
];
const MIB = 2 ** 20;
const OPTIONS = { perProcess: true, maxSeries: 10_000, occupancyMs: 15_000, fullScanMs: 10_000, deadlineMs: 2_000 };

let node: Node;
beforeEach(() => {
  node = new Node();
});
afterEach(() => node.remove());

function collect(options: Partial<ProcessOptions> = {}) {
  const pool = new FakePool();
  const clock = fakeClock();
  const collector = new ProcessCollector({ pool, paths: node.paths, clock, ...OPTIONS, ...options });
  const value = (pci: string, quantity: Quantity, ...labels: string[]) =>
    collector.readings(pci).get(quantity, ...labels)?.value;
  const reason = (pci: string, quantity: Quantity, ...labels: string[]) =>
    collector.readings(pci).get(quantity, ...labels)?.absent;
  const all = (pci: string, quantity: Quantity) =>
    Object.fromEntries([...collector.readings(pci).of(quantity)].map((slot) => [slot.labels.join(' '), slot.value]));
  const scan = async (advance = 0, targets = CARDS) => {
    clock.advance(advance);
    await collector.scan(targets);
  };
  return { pool, clock, collector, value, reason, all, scan };
}

describe('captured processes', () => {
  beforeEach(() => skipUnless(capturesDir(), 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)'));

  it('of two MI50 are one compute process on both, by the GPU that the KFD id names', async () => {
    const tree = captureTree('mi50-x2-kfd-proc');
    const { collector, value, all, scan } = collect({
      paths: { sysfs: join(tree, 'sys'), procfs: join(tree, 'proc') },
    });
    await scan();
    expect(collector.success).toBe(true);
    expect(all(A, quantities.vram)).toEqual({
      '132174 llama-server 0': 15053770752,
      '74853 llama-server-du 0': 0,
    });
    expect(all(B, quantities.vram)).toEqual({
      '132174 llama-server 0': 16869904384,
      '74853 llama-server-du 0': 0,
    });
    expect([value(A, quantities.sumVram), value(B, quantities.sumVram)]).toEqual([15053770752, 16869904384]);
    expect([value(A, quantities.count), value(B, quantities.count)]).toEqual([1, 1]);
    expect(value(A, quantities.sumOccupancy)).toBe(0);
    expect(value(A, quantities.occupancy, '132174', 'llama-server', '0')).toBe(0);
    expect(value(A, quantities.sdma, '132174', 'llama-server', '0')).toBe(0);
    // The tree has neither of these files: no 0 may stand for them.
    expect(all(A, quantities.evicted)).toEqual({});
    expect(value(A, quantities.sumEvicted)).toBeUndefined();
    expect(value(A, quantities.sumQueues, 'compute')).toBeUndefined();
    expect(collector.list()).toContainEqual({
      pid: 132174,
      comm: 'llama-server',
      pci: B,
      gpu: 1,
      partition: '0',
      vramBytes: 16869904384,
      source: 'kfd',
    });
  });

  it('of a graphics client are told by fdinfo, though there are no links to its descriptors', async () => {
    const tree = captureTree('fdinfo-rx-gfx-client');
    const { value, scan } = collect({ paths: { sysfs: join(tree, 'sys'), procfs: join(tree, 'proc') } });
    const pci = '0000:08:00.0';
    await scan(0, [{ pci, gpu: 0, partitions: [{ number: 0, renderMinor: 128 }] }]);
    const who = ['2217', ''];
    expect(value(pci, quantities.vram, ...who, '0')).toBe(2117632);
    expect(value(pci, quantities.gtt, ...who, '0')).toBe(8192 * 1024);
    expect(value(pci, quantities.cpuMemory, ...who, '0')).toBe(0);
    expect(value(pci, quantities.engine, ...who, 'gfx', '0')).toBeCloseTo(0.107322799, 12);
    expect(value(pci, quantities.count)).toBe(1);
    expect(value(pci, quantities.sumVram)).toBe(2117632);
    expect(value(pci, quantities.sumEngine, 'gfx')).toBe(0);
  });

  it('on a card that is not known stand under no card', async () => {
    const tree = captureTree('fdinfo-rx-gfx-client');
    const { value, collector, scan } = collect({ paths: { sysfs: join(tree, 'sys'), procfs: join(tree, 'proc') } });
    await scan();
    expect(value('', quantities.vram, '2217', '', '')).toBe(2117632);
    expect(value('', quantities.count)).toBe(1);
    expect(value(A, quantities.count)).toBe(0);
    expect(collector.list()[0]).not.toHaveProperty('gpu');
  });
});

describe('a node without processes', () => {
  it('has 0 of them, on every card, and no counter but 0', async () => {
    const { value, scan, collector } = collect();
    await scan();
    for (const pci of [A, B]) {
      expect(value(pci, quantities.count)).toBe(0);
      expect(value(pci, quantities.sumVram)).toBe(0);
      expect(value(pci, quantities.sumGtt)).toBe(0);
      expect(value(pci, quantities.sumSdma)).toBe(0);
      expect(value(pci, quantities.sumEvicted)).toBe(0);
      expect(value(pci, quantities.sumOccupancy)).toBe(0);
      expect(value(pci, quantities.sumQueues, 'compute')).toBe(0);
      expect(value(pci, quantities.sumEngine, 'gfx')).toBe(0);
    }
    expect([...collector.readings('').toMap()]).toEqual([]);
  });

  it('has none on GPUs that are hidden from us, though a runtime opened them', async () => {
    node.process(50);
    node.compute(50, 26273, { vram: MIB });
    node.compute(50, 999, { vram: 0, sdma: 0 });
    const { collector, scan } = collect();
    await scan();
    expect(collector.list().map(({ pci }) => pci)).toEqual([A]);
    expect([...collector.readings('').toMap()]).toEqual([]);
  });

  it('has none told where neither KFD nor /proc can be read', async () => {
    const { value, reason, scan, collector } = collect({ paths: { sysfs: '/nonexistent', procfs: '/nonexistent' } });
    await scan();
    expect(value(A, quantities.count)).toBeUndefined();
    expect(reason(A, quantities.count)).toBe('gone');
    expect(reason(A, quantities.sumSdma)).toBe('unsupported');
    expect(collector.success).toBe(false);
  });

  it('has its memory told by one source where the other is not there', async () => {
    node.remove();
    node = new Node({ kfd: false });
    node.process(50);
    node.open(50, 3, { pdev: A, id: 1, vram: 2 * MIB });
    const { value, reason, scan, collector } = collect();
    await scan();
    expect(value(A, quantities.sumVram)).toBe(2 * MIB);
    expect(reason(A, quantities.sumSdma)).toBe('unsupported');
    expect(collector.success).toBe(true);
  });
});

describe('descriptors', () => {
  it('that were duplicated or inherited are one client', async () => {
    node.process(50);
    node.process(51);
    const client = { pdev: A, id: 9, vram: 4 * MIB, gtt: MIB, engines: { gfx: 1000 } };
    node.open(50, 3, client);
    node.open(50, 4, client);
    node.open(51, 3, client);
    const { value, all, scan } = collect();
    await scan();
    expect(value(A, quantities.sumVram)).toBe(4 * MIB);
    expect(value(A, quantities.sumGtt)).toBe(MIB);
    expect(value(A, quantities.count)).toBe(1);
    expect(all(A, quantities.vram)).toEqual({ '50 job50 0': 4 * MIB });
    expect(all(A, quantities.engine)).toEqual({ '50 job50 gfx 0': 0.000001 });
  });

  it('share memory, which no sum counts twice', async () => {
    node.process(50);
    node.process(51);
    node.open(50, 3, { pdev: A, id: 1, vram: 4 * MIB, sharedVram: 3 * MIB });
    node.open(51, 3, { pdev: A, id: 2, vram: 5 * MIB, sharedVram: 3 * MIB });
    const { value, all, scan } = collect();
    await scan();
    expect(value(A, quantities.sumVram)).toBe(3 * MIB);
    expect(all(A, quantities.vram)).toEqual({ '50 job50 0': 4 * MIB, '51 job51 0': 5 * MIB });
    expect(all(A, quantities.sharedVram)).toEqual({ '50 job50 0': 3 * MIB, '51 job51 0': 3 * MIB });
  });

  it('of one process that share with each other hold that part once', async () => {
    node.process(50);
    node.open(50, 3, { pdev: A, id: 1, vram: 4 * MIB, sharedVram: 3 * MIB });
    node.open(50, 4, { pdev: A, id: 2, vram: 5 * MIB, sharedVram: 3 * MIB });
    const { all, scan } = collect();
    await scan();
    expect(all(A, quantities.vram)).toEqual({ '50 job50 0': 6 * MIB });
  });

  it('of other drivers in the same directory are none of ours', async () => {
    node.process(50);
    node.open(50, 3, { pdev: '0000:00:02.0', id: 1, driver: 'i915', vram: MIB });
    node.open(50, 4, { pdev: A, id: 2, driver: 'amdgpu_virt', vram: MIB }, '/tmp/renderD128');
    const { collector, value, scan } = collect();
    await scan();
    expect(collector.list()).toEqual([]);
    expect(value(A, quantities.count)).toBe(0);
  });

  it('of a compute process never add to what KFD says, but tell what KFD does not', async () => {
    node.process(50);
    node.compute(50, 26273, { vram: 100 * MIB });
    node.compute(50, 13261, { vram: 0 });
    node.open(50, 3, { pdev: A, id: 1, vram: 7 * MIB, gtt: 2 * MIB });
    node.open(50, 4, { pdev: B, id: 2, vram: 3 * MIB }, '/dev/dri/renderD129');
    const { value, all, scan } = collect();
    await scan();
    expect(value(A, quantities.sumVram)).toBe(100 * MIB);
    expect(all(A, quantities.vram)).toEqual({ '50 job50 0': 100 * MIB });
    expect(value(A, quantities.sumGtt)).toBe(2 * MIB);
    // It opened the other card because its runtime opens all.
    expect([value(A, quantities.count), value(B, quantities.count)]).toEqual([1, 0]);
    expect(value(B, quantities.sumVram)).toBe(0);
    expect(all(B, quantities.vram)).toEqual({});
  });

  it('that we may not see are counted, and what is hidden is no 0', async () => {
    for (const pid of [50, 51]) node.process(pid);
    node.compute(50, 26273, { vram: MIB, sdma: 10 });
    const { pool, collector, value, reason, scan } = collect();
    pool.denied = (path) => /\/proc\/5[01]\/fd(info)?$/.test(path);
    await scan();
    expect(collector.denied).toBe(2);
    expect(collector.success).toBe(true);
    expect(value(A, quantities.sumVram)).toBe(MIB);
    expect(reason(A, quantities.sumGtt)).toBe('denied');
    expect(reason(A, quantities.sumEngine, 'gfx')).toBe('denied');
  });

  it('are read themselves where we may trace but not search the directory', async () => {
    node.process(50);
    node.open(50, 3, { pdev: A, id: 1, vram: MIB });
    const { pool, collector, value, scan } = collect();
    pool.denied = (path) => path.endsWith('/fd');
    await scan();
    expect(value(A, quantities.sumVram)).toBe(MIB);
    expect(collector.denied).toBe(0);
  });
});

describe('names and starts', () => {
  it('are told of each process, with control characters written out', async () => {
    node.process(50, 'a\x1b[2J', 12_345);
    node.compute(50, 26273, { vram: MIB });
    const { value, all, scan } = collect();
    await scan();
    expect(all(A, quantities.vram)).toEqual({ '50 a\\u{1b}[2J 0': MIB });
    expect(value(A, quantities.start, '50', 'a\\u{1b}[2J')).toBe(1_700_000_123.45);
  });

  it('are not looked up by numbers of another PID namespace, and no process is counted twice for it', async () => {
    node.process(1, 'tini');
    node.process(20, 'trainer');
    node.put(join(node.paths.procfs, '4711/comm'), 'someone else\n');
    node.compute(4711, 26273, { vram: 100 * MIB });
    node.open(20, 3, { pdev: A, id: 1, vram: 7 * MIB, gtt: MIB });
    node.open(20, 5, { pdev: A, id: 1 }, '/dev/kfd');
    const { value, all, scan } = collect();
    await scan();
    expect(all(A, quantities.vram)).toEqual({ '4711  0': 100 * MIB });
    expect(value(A, quantities.sumVram)).toBe(100 * MIB);
    expect(value(A, quantities.sumGtt)).toBe(MIB);
    expect(value(A, quantities.count)).toBe(1);
  });
});

describe('queues', () => {
  it('are counted by type, on the card that they run on', async () => {
    node.process(50);
    node.compute(50, 26273, { vram: 0 });
    node.queue(50, 0, 0, 26273);
    node.queue(50, 1, 0, 26273);
    node.queue(50, 2, 1, 13261);
    node.queue(50, 3, 3, 26273);
    node.compute(50, 13261, { vram: 0 });
    const { all, scan } = collect();
    await scan();
    expect(all(A, quantities.sumQueues)).toEqual({ compute: 2, sdma: 0, type_3: 1 });
    expect(all(B, quantities.sumQueues)).toEqual({ compute: 0, sdma: 1 });
    expect(all(B, quantities.queues)).toEqual({ '50 job50 compute 0': 0, '50 job50 sdma 0': 1 });
  });

  it('keep the numbering that one of them has told', async () => {
    node.process(50);
    node.compute(50, 26273, { vram: 0 });
    node.queue(50, 0, 4, 26273);
    node.process(51);
    node.compute(51, 26273, { vram: 0 });
    node.queue(51, 0, 5, 26273);
    const { all, scan } = collect();
    await scan();
    expect(all(A, quantities.sumQueues)).toEqual({ compute: 0, sdma: 0, sdma_xgmi: 1, sdma_by_engine: 1 });
    node.end(51);
    await scan(1000);
    expect(all(A, quantities.sumQueues)).toEqual({ compute: 0, sdma: 0, sdma_xgmi: 1 });
  });
});

describe('counters over processes', () => {
  it('go on from where they were when a process ends', async () => {
    node.process(50);
    node.compute(50, 26273, { vram: MIB, sdma: 5_000_000, evicted: 1_000 });
    const { value, scan } = collect();
    await scan();
    expect(value(A, quantities.sumSdma)).toBe(0);
    node.compute(50, 26273, { sdma: 7_000_000, evicted: 1_500 });
    node.process(51);
    node.compute(51, 26273, { vram: MIB, sdma: 500_000, evicted: 0 });
    await scan(1000);
    expect(value(A, quantities.sumSdma)).toBe(2.5);
    expect(value(A, quantities.sumEvicted)).toBe(0.5);
    expect(value(A, quantities.sdma, '50', 'job50', '0')).toBe(7);
    node.end(50);
    await scan(1000);
    node.end(51);
    await scan(1000);
    expect(value(A, quantities.sumSdma)).toBe(2.5);
    expect(value(A, quantities.count)).toBe(0);
  });

  it('take a reused PID for another process', async () => {
    node.process(50, 'first', 100);
    node.compute(50, 26273, { vram: MIB, sdma: 5_000_000 });
    const { value, all, scan } = collect();
    await scan();
    node.end(50);
    node.process(50, 'second', 900);
    node.compute(50, 26273, { vram: MIB, sdma: 6_000_000 });
    await scan(1000);
    expect(value(A, quantities.sumSdma)).toBe(6);
    expect(all(A, quantities.vram)).toEqual({ '50 second 0': MIB });
  });

  it('do not fall when a card is away and comes back', async () => {
    node.process(50);
    node.compute(50, 26273, { vram: MIB, sdma: 0 });
    const { value, collector, scan } = collect();
    await scan();
    node.compute(50, 26273, { sdma: 3_000_000 });
    await scan(1000);
    expect(value(A, quantities.sumSdma)).toBe(3);
    await scan(1000, CARDS.slice(1));
    expect([...collector.readings(A).of(quantities.sumSdma)]).toEqual([]);
    expect(value('', quantities.sumVram)).toBe(MIB);
    await scan(1000);
    expect(value(A, quantities.sumSdma)).toBe(3);
  });

  it('of engines count clients of processes that came since, and keep those of closed ones', async () => {
    node.process(50);
    node.open(50, 3, { pdev: A, id: 10, vram: MIB, engines: { gfx: 1e9 } });
    const { value, scan } = collect();
    await scan();
    expect(value(A, quantities.sumEngine, 'gfx')).toBe(0);
    node.open(50, 4, { pdev: A, id: 11, vram: MIB, engines: { gfx: 2e9, vpe: 5e8 } });
    await scan(1000);
    expect(value(A, quantities.sumEngine, 'gfx')).toBe(2);
    expect(value(A, quantities.sumEngine, 'vpe')).toBe(0.5);
    node.close(50, 4);
    await scan(1000);
    expect(value(A, quantities.sumEngine, 'gfx')).toBe(2);
    expect(value(A, quantities.engine, '50', 'job50', 'gfx', '0')).toBe(3);
  });
});

describe('partitions', () => {
  const CPX: ProcessTarget[] = [
    {
      pci: A,
      gpu: 0,
      partitions: [0, 1, 2, 3].map((number) => ({ number, renderMinor: 128 + number, kfdGpuId: 1000 + number })),
    },
  ];

  it('are told apart by the id in the file name, and summed up for the card', async () => {
    node.process(50);
    node.compute(50, 1001, { vram: 10 * MIB });
    node.compute(50, 1003, { vram: 30 * MIB });
    node.compute(50, 1000, { vram: 0 });
    const { value, all, collector, scan } = collect();
    await scan(0, CPX);
    expect(all(A, quantities.vram)).toEqual({ '50 job50 1': 10 * MIB, '50 job50 3': 30 * MIB });
    expect(value(A, quantities.sumVram)).toBe(40 * MIB);
    expect(value(A, quantities.count)).toBe(1);
    expect(collector.list().map(({ partition, vramBytes }) => [partition, vramBytes])).toContainEqual(['0', 0]);
  });

  it('are told by the render node that a client opened, since all report the address of their parent', async () => {
    node.process(50);
    node.process(51);
    node.open(50, 3, { pdev: A, id: 1, vram: MIB }, '/dev/dri/renderD130');
    node.open(51, 3, { pdev: A, id: 2, vram: 2 * MIB }, '/dev/dri/card1');
    const { all, scan } = collect();
    await scan(0, CPX);
    expect(all(A, quantities.vram)).toEqual({ '50 job50 2': MIB, '51 job51 ': 2 * MIB });
  });
});

describe('a scan', () => {
  it('looks at all processes rarely, and at those on the cards every time', async () => {
    node.process(50);
    node.process(51);
    node.open(50, 3, { pdev: A, id: 1, vram: MIB });
    const { pool, value, scan } = collect();
    await scan();
    pool.forget();
    node.open(51, 3, { pdev: A, id: 2, vram: MIB });
    node.open(50, 3, { pdev: A, id: 1, vram: 5 * MIB });
    await scan(5000);
    expect(pool.listed).not.toContain(node.paths.procfs);
    expect(pool.listed).not.toContain(`${node.paths.procfs}/51/fd`);
    expect(value(A, quantities.sumVram)).toBe(5 * MIB);
    await scan(5000);
    expect(pool.listed).toContain(node.paths.procfs);
    expect(value(A, quantities.sumVram)).toBe(6 * MIB);
  });

  it('never reads occupancy, which has a time of its own', async () => {
    node.process(50);
    node.compute(50, 26273, { vram: MIB, evicted: 0, occupancy: 60 });
    const { pool, value, scan } = collect();
    await scan();
    expect(value(A, quantities.sumOccupancy)).toBe(60);
    node.compute(50, 26273, { occupancy: 80 });
    pool.forget();
    for (let i = 0; i < 14; i++) await scan(1000);
    expect(pool.read.filter((path) => path.includes('cu_occupancy'))).toEqual([]);
    expect(value(A, quantities.occupancy, '50', 'job50', '0')).toBe(60);
    await scan(1000);
    expect(pool.read.filter((path) => path.includes('cu_occupancy'))).toHaveLength(1);
    const item = pool.tasks.find(({ item }) => item.op !== 'list' && item.files?.some((path) => path.includes('cu_')));
    expect(item?.item.op !== 'list' && item?.item.files?.every((path) => path.includes('cu_'))).toBe(true);
    expect(value(A, quantities.sumOccupancy)).toBe(80);
  });

  it('says nothing of occupancy where the chip does not', async () => {
    node.process(50);
    node.compute(50, 26273, { vram: MIB, evicted: 0 });
    const { reason, scan } = collect();
    await scan();
    expect(reason(A, quantities.sumOccupancy)).toBe('unsupported');
  });

  it('passes over what ends between list and read', async () => {
    for (const pid of [50, 51]) {
      node.process(pid);
      node.compute(pid, 26273, { vram: pid * MIB });
      node.open(pid, 3, { pdev: A, id: pid, gtt: MIB });
    }
    const { pool, collector, value, scan } = collect();
    pool.before = (path) => {
      if (path.includes('vram_')) node.end(50);
    };
    await scan();
    expect(collector.success).toBe(true);
    expect(value(A, quantities.sumVram)).toBe(51 * MIB);
    expect(value(A, quantities.count)).toBe(1);
    expect(collector.list().map(({ pid }) => pid)).toEqual([51]);
  });

  it('is made of slices for the process lane alone, and of no path twice', async () => {
    for (let pid = 100; pid < 200; pid++) {
      node.process(pid);
      node.compute(pid, 26273, { vram: MIB, sdma: 1, evicted: 1 });
    }
    const { pool, scan } = collect();
    await scan();
    expect(new Set(pool.tasks.map(({ owner }) => owner))).toEqual(new Set(['proc']));
    const sizes = pool.tasks.map(({ item }) => (item.op === 'list' ? item.dirs : (item.files ?? [])).length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(64);
    expect(new Set(pool.read).size).toBe(pool.read.length);
  });

  it('tells no sum of which a part did not answer, and forgets nobody for it', async () => {
    for (const pid of [50, 51]) {
      node.process(pid);
      node.compute(pid, 26273, { vram: MIB, sdma: 1_000_000 });
    }
    const { pool, collector, value, reason, scan } = collect();
    await scan();
    pool.silent = (path) => path.includes('vram_');
    await scan(1000);
    expect(collector.success).toBe(false);
    expect(reason(A, quantities.sumVram)).toBe('timeout');
    expect(reason(A, quantities.sumSdma)).toBe('timeout');
    pool.silent = () => false;
    await scan(1000);
    expect(collector.success).toBe(true);
    expect(value(A, quantities.sumVram)).toBe(2 * MIB);
    expect(value(A, quantities.sumSdma)).toBe(0);
  });

  it('that misses a DRM client looks for it again, and counts nothing of it twice', async () => {
    node.process(50);
    node.open(50, 3, { pdev: A, id: 1, vram: MIB, engines: { gfx: 1e9 } });
    const { pool, value, reason, scan } = collect();
    await scan();
    pool.silent = (path) => path.includes('/fdinfo/');
    await scan(1000);
    expect(reason(A, quantities.sumGtt)).toBe('timeout');
    pool.silent = (path) => path.endsWith('/fd');
    await scan(1000);
    pool.silent = () => false;
    await scan(1000);
    expect(value(A, quantities.sumVram)).toBe(MIB);
    expect(value(A, quantities.engine, '50', 'job50', 'gfx', '0')).toBe(1);
    expect(value(A, quantities.sumEngine, 'gfx')).toBe(0);
  });

  it('that is asked for twice at once is one', async () => {
    const { pool, collector } = collect();
    await Promise.all([collector.scan(CARDS), collector.scan(CARDS)]);
    expect(pool.listed.filter((path) => path === node.kfd)).toHaveLength(1);
  });

  it('of 500 processes keeps the largest within the limit, and counts what it left out', async () => {
    for (let pid = 1000; pid < 1500; pid++) {
      node.process(pid);
      node.compute(pid, 26273, { vram: pid * MIB });
    }
    const { collector, value, all, scan } = collect({ maxSeries: 100 });
    await scan();
    // One for memory and one for the start of each.
    const shown = all(A, quantities.vram);
    expect(Object.keys(shown)).toHaveLength(50);
    expect(Math.min(...Object.values(shown).map(Number))).toBe(1450 * MIB);
    expect(collector.droppedNow).toBe(900);
    expect(collector.dropped).toBe(900);
    expect(value(A, quantities.count)).toBe(500);
    expect(value(A, quantities.sumVram)).toBe(((1000 + 1499) / 2) * 500 * MIB);
    await scan(1000);
    expect(collector.dropped).toBe(1800);
    expect(collector.list()).toHaveLength(500);
  });

  it('shows no single process where that is not asked for', async () => {
    node.process(50);
    node.compute(50, 26273, { vram: MIB });
    node.put(join(node.kfd, '50/counters_26273/faults'), '5\n');
    const { pool, value, all, scan } = collect({ perProcess: false });
    await scan();
    expect(value(A, quantities.sumVram)).toBe(MIB);
    expect(all(A, quantities.vram)).toEqual({});
    expect(pool.read.some((path) => path.includes('counters_'))).toBe(false);
  });

  it('reads page counters of shared virtual memory for single processes', async () => {
    node.process(50);
    node.compute(50, 26273, { vram: MIB });
    for (const [file, text] of [
      ['faults', '5\n'],
      ['page_in', '6\n'],
      ['page_out', '7\n'],
    ] as const)
      node.put(join(node.kfd, `50/counters_26273/${file}`), text);
    const { value, scan } = collect();
    await scan();
    const counts = [quantities.faults, quantities.pageIn, quantities.pageOut];
    expect(counts.map((quantity) => value(A, quantity, '50', 'job50', '0'))).toEqual([5, 6, 7]);
  });

  it('is not upset by text that is no number', async () => {
    node.process(50);
    node.compute(50, 26273, { vram: MIB });
    writeFileSync(join(node.kfd, '50/sdma_26273'), 'garbage');
    writeFileSync(join(node.paths.procfs, '50/stat'), ')))(');
    const { value, reason, scan } = collect();
    await scan();
    expect(value(A, quantities.sumVram)).toBe(MIB);
    expect(reason(A, quantities.sumSdma)).toBe('unsupported');
  });
});
