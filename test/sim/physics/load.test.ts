import { describe, expect, it } from 'vitest';
import { MODELS } from '../../../sim/models.ts';
import { dieDemand } from '../../../sim/physics/load.ts';
import { describeNode } from '../../../sim/tree.ts';
import { rig } from './rig.ts';

const MIB = 2 ** 20;

function demand(partitions: number[], load: { gfx: number; partitions?: ReadonlyMap<number, number> }): number[] {
  const node = describeNode({
    model: 'mi300x',
    cards: 1,
    partition: 'qpx',
    processes: partitions.map((partition) => ({ gpus: [{ gpu: 0, partition, vram: 1e9 }] })),
  });
  return dieDemand(node, MODELS.mi300x, node.gpus[0]!, { mem: 0, vram: 0, ...load });
}

describe('a load on a divided GPU', () => {
  it('goes to the dies of partitions in which processes hold memory', () => {
    expect(demand([1], { gfx: 0.125 })).toEqual([0, 0, 0.5, 0.5, 0, 0, 0, 0]);
    expect(demand([1, 3], { gfx: 0.25 })).toEqual([0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5]);
  });

  it('goes to the others with what these cannot do', () => {
    expect(demand([1], { gfx: 0.625 })).toEqual([0.5, 0.5, 1, 1, 0.5, 0.5, 0.5, 0.5]);
    expect(demand([0, 1, 2, 3], { gfx: 1 })).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
  });

  it('goes to all alike where no process holds memory', () => {
    expect(demand([], { gfx: 0.3 })).toEqual(new Array(8).fill(0.3));
  });

  it('goes where it says, if it names partitions', () => {
    expect(demand([1], { gfx: 1, partitions: new Map([[0, 0.25]]) })).toEqual([0.25, 0.25, 0, 0, 0, 0, 0, 0]);
  });

  it('warms, clocks and busies only those dies', () => {
    const { gpu, load, run } = rig({ model: 'mi300x', cards: 1, partition: 'cpx' });
    run(1);
    const idle = gpu(0).live.power;
    load({ partitions: new Map([[5, 1]]) });
    run(1);
    expect(gpu(0).live.gfxBusy).toEqual([0, 0, 0, 0, 0, 100, 0, 0]);
    expect(gpu(0).live.clock.gfx).toEqual([132, 132, 132, 132, 132, 2100, 132, 132]);
    expect(gpu(0).live.power - idle).toBeGreaterThan(80);
    expect(gpu(0).live.power - idle).toBeLessThan(140);
  });
});

describe('utilisation', () => {
  it('moves around what the load asks, and not at its ends', () => {
    const { gpu, load, run } = rig({ model: 'mi210', cards: 1 });
    for (const [gfx, low, high] of [
      [0, 0, 0],
      [0.5, 42, 58],
      [0.9, 86, 94],
      [1, 100, 100],
    ] as const) {
      load({ gfx });
      const seen = new Set<number>();
      run(60, 0.1, () => seen.add(gpu(0).live.gfxBusy[0]!));
      expect(Math.min(...seen)).toBeGreaterThanOrEqual(low);
      expect(Math.max(...seen)).toBeLessThanOrEqual(high);
      expect(seen.size > 1).toBe(gfx > 0 && gfx < 1);
    }
  });

  it('takes a demand beyond what there is, or that is no number, for the nearest that there is', () => {
    const { gpu, load, run } = rig({ model: 'mi300x', cards: 2 });
    load({ gfx: 3, mem: 7, video: 2, vram: 1e15, pcie: 1e15, fabric: 1e15 });
    run(0.1);
    expect(gpu(0).live.gfxBusy[0]).toBe(100);
    expect(gpu(0).live.vramUsed).toBe(MODELS.mi300x.vram);
    const bad = Number.NaN;
    load({ gfx: bad, mem: -1, video: bad, vram: bad, pcie: bad, fabric: -5, gtt: bad });
    run(0.1);
    expect(gpu(0).live.gfxBusy[0]).toBe(0);
    expect(gpu(0).live.power).toBeGreaterThan(100);
    expect(gpu(0).counters.xgmiWrite.every(Number.isInteger)).toBe(true);
  });

  it('ends with the load', () => {
    const { gpu, loads, load, run } = rig({ model: 'mi210', cards: 1 });
    load({ gfx: 0.7, mem: 0.3, vram: 1e9 });
    run(1);
    loads.clear();
    run(0.1);
    expect(gpu(0).live.gfxBusy).toEqual([0]);
    expect(gpu(0).live.vramUsed).toBe(283 * MIB);
  });
});

describe('memory in use', () => {
  it('is that of the jobs and of the driver, in whole pages', () => {
    const { gpu, load, run } = rig({ model: 'mi210', cards: 1 });
    load({ vram: 5 * 2 ** 30 + 1, gtt: 24 * MIB });
    run(0.1);
    expect(gpu(0).live.vramUsed).toBe(5 * 2 ** 30 + 283 * MIB + 4096);
    expect(gpu(0).live.gttUsed).toBe(35 * MIB);
  });
});
