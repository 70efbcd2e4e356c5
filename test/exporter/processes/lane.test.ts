import { afterAll, beforeAll, expect, it } from 'vitest';
import { LanePool } from '../../../amdgpu/lanes/pool.ts';
import { systemClock } from '../../../base/clock.ts';
import { ProcessCollector } from '../../../exporter/processes/collector.ts';
import { process as quantities } from '../../../model/quantities/process.ts';
import { Node } from './node.ts';

const PCI = '0000:0c:00.0';
let node: Node;
let pool: LanePool;

beforeAll(() => {
  node = new Node();
  pool = new LanePool({ clock: systemClock, itemDeadline: 1000, apart: ['proc'] });
});
afterAll(() => {
  pool.close();
  node.remove();
});

it('processes are read through a lane of their own, and another scan goes through the same', async () => {
  node.process(50);
  node.compute(50, 1001, { vram: 4096, sdma: 3, evicted: 2, occupancy: 7 });
  node.queue(50, 0, 0, 1001);
  node.process(60);
  node.open(60, 3, { pdev: PCI, id: 5, vram: 8192, engines: { gfx: 2e9 } });
  const collector = new ProcessCollector({
    pool,
    paths: node.paths,
    clock: systemClock,
    perProcess: true,
    maxSeries: 1000,
    occupancyMs: 15_000,
    fullScanMs: 10_000,
    deadlineMs: 5000,
  });
  const targets = [{ pci: PCI, gpu: 0, partitions: [{ number: 0, renderMinor: 128, kfdGpuId: 1001 }] }];
  await collector.scan(targets);
  const first = pool.pids();
  await collector.scan(targets);
  expect(pool.pids()).toEqual(first);
  expect(pool.stats).toMatchObject({ lanes: 1, stuck: [] });
  expect(collector.success).toBe(true);
  const readings = collector.readings(PCI);
  expect(readings.get(quantities.sumVram)?.value).toBe(4096 + 8192);
  expect(readings.get(quantities.count)?.value).toBe(2);
  expect(readings.get(quantities.sumOccupancy)?.value).toBe(7);
  expect(readings.get(quantities.queues, '50', 'job50', 'compute', '0')?.value).toBe(1);
  expect(readings.get(quantities.engine, '60', 'job60', 'gfx', '0')?.value).toBe(2);
});
