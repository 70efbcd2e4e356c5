import { describe, expect, it } from 'vitest';
import type { Counters } from '../../../sim/tree.ts';
import { rig } from './rig.ts';

const moved = (now: number[], before: number[]) => now.map((value, link) => value - before[link]!);
const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0);

function traffic(seconds: number, { node, run }: ReturnType<typeof rig>) {
  const before: Counters[] = node.gpus.map(({ counters }) => structuredClone(counters));
  run(seconds);
  return node.gpus.map(({ counters }, index) => ({
    read: moved(counters.xgmiRead, before[index]!.xgmiRead),
    write: moved(counters.xgmiWrite, before[index]!.xgmiWrite),
    pcie: counters.pcieBandwidth - before[index]!.pcieBandwidth,
  }));
}

describe('bytes over xGMI', () => {
  it('are what the load sends, in KB, spread over the links in use', () => {
    const bench = rig({ model: 'mi300x', cards: 8 });
    bench.load({ fabric: 70e9 }, 0);
    const [first] = traffic(10, bench);
    for (const link of first!.write.slice(0, 7)) expect(Math.abs(link - 1e11 / 1024)).toBeLessThanOrEqual(1);
    expect(first!.write[7]).toBe(0);
    expect(total(first!.read)).toBe(0);
  });

  it('are read where they are sent to', () => {
    const bench = rig({ model: 'mi300a', cards: 4 });
    bench.load({ fabric: 60e9 }, 0);
    bench.load({ fabric: 30e9 }, 2);
    const cards = traffic(10, bench);
    const written = total(cards.flatMap(({ write }) => write));
    expect(Math.abs(written - 9e11 / 1024)).toBeLessThan(30);
    expect(Math.abs(total(cards.flatMap(({ read }) => read)) - written)).toBeLessThan(60);
    // The links of GPU 1 to GPU 0, to GPU 2 and to GPU 3, two each.
    const of = (bytes: number) => Math.floor((bytes * 10) / 6 / 1024);
    const expected = [of(60e9), of(60e9), of(30e9), of(30e9), 0, 0];
    for (const [link, kilobytes] of expected.entries())
      expect(Math.abs(cards[1]!.read[link]! - kilobytes)).toBeLessThanOrEqual(1);
  });

  it('are no more than a link carries', () => {
    const bench = rig({ model: 'mi300x', cards: 2 });
    bench.load({ fabric: 1e13 });
    const [first] = traffic(10, bench);
    expect(total(first!.write) * 1024).toBeGreaterThan(0.999 * 64e9 * 10);
    expect(total(first!.write) * 1024).toBeLessThanOrEqual(64e9 * 10);
  });

  it('do not exist for a GPU without a hive', () => {
    const bench = rig({ model: 'mi300x', cards: 1 });
    bench.load({ fabric: 1e10 });
    const [only] = traffic(1, bench);
    expect(total(only!.write)).toBe(0);
  });

  it.each(['mi100', 'mi210', 'mi250x'] as const)('are not counted by %s', (model) => {
    const bench = rig({ model, cards: 4 });
    bench.load({ fabric: 1e10, pcie: 1e10 });
    for (const { read, write, pcie } of traffic(1, bench)) expect(total([...read, ...write, pcie])).toBe(0);
  });
});

describe('bytes over PCIe', () => {
  it('are shown in GB/s and summed over ticks', () => {
    const bench = rig({ model: 'mi300x', cards: 1 });
    bench.load({ pcie: 12.4e9 });
    const [only] = traffic(10, bench);
    expect(bench.gpu(0).counters.pcieSample).toBe(12);
    expect(only!.pcie / 10_000).toBeCloseTo(12.4, 2);
  });

  it('are no more than the link carries, also where it has trained down', () => {
    const bench = rig({ model: 'mi300x', cards: 1 });
    bench.load({ pcie: 1e12 });
    bench.run(1);
    expect(bench.gpu(0).counters.pcieSample).toBe(126);
    bench.gpu(0).live.link = { speed: 16, width: 8 };
    bench.run(1);
    expect(bench.gpu(0).counters.pcieSample).toBe(32);
  });

  it('are none of an APU', () => {
    const bench = rig({ model: 'mi300a', cards: 1 });
    bench.load({ pcie: 1e10 });
    expect(traffic(1, bench)[0]!.pcie).toBe(0);
  });
});
