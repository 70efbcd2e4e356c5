import { describe, expect, it } from 'vitest';
import { MODELS, SIM_MODELS } from '../../../sim/models.ts';
import { mean, rig } from './rig.ts';

describe('energy', () => {
  it.each(SIM_MODELS)('of %s is the integral of power, through work, rest, cap and heat', (model) => {
    const { node, gpu, load, run, room } = rig({ model, cards: 2 });
    const before = node.gpus.map(({ counters }) => counters.energy);
    const joules = node.gpus.map(() => 0);
    const dt = 0.1;
    const phase = (seconds: number, gfx: number) => {
      load({ gfx, mem: gfx / 2 });
      run(seconds, dt, () => {
        for (const { index, live } of node.gpus) joules[index]! += live.power * dt;
      });
    };
    phase(60, 0);
    phase(60, 1);
    gpu(0).settings.cap = MODELS[model].cap / 2;
    phase(60, 0.8);
    room.ambient = 70;
    phase(120, 1);
    for (const { index, die, counters } of node.gpus) {
      const energy = counters.energy - before[index]!;
      if (die === 'secondary') expect(energy).toBe(0);
      else expect(Math.abs(energy / joules[index]! - 1)).toBeLessThan(0.001);
    }
  });

  it('is what the trapezoids below sampled power come to as well, within 1 %', () => {
    const { gpu, load, run } = rig({ model: 'mi210', cards: 1 });
    const samples: number[] = [];
    const before = gpu(0).counters.energy;
    for (const gfx of [0, 0.5, 1, 0.3, 0]) {
      load({ gfx, mem: gfx / 2 });
      run(20, 0.1, () => samples.push(gpu(0).live.power));
    }
    const everySecond = samples.filter((_, index) => index % 10 === 9);
    expect((gpu(0).counters.energy - before) / (mean(everySecond) * 100)).toBeCloseTo(1, 2);
  });
});

describe('accumulators', () => {
  it.each([0.1, 0.01, 0.007, 1])('count one tick a millisecond in steps of %f s', (dt) => {
    const { gpu, run } = rig({ model: 'mi300x', cards: 1 });
    const before = gpu(0).counters.ticks;
    run(70, dt);
    expect(Math.abs(gpu(0).counters.ticks - before - 70_000)).toBeLessThanOrEqual(1);
  });

  it.each([0.1, 0.013])('divided by ticks are the mean of the activity, in steps of %f s', (dt) => {
    const { gpu, load, run } = rig({ model: 'mi300x', cards: 1 });
    load({ gfx: 0.4, mem: 0.3 });
    const before = structuredClone(gpu(0).counters);
    const busy: number[] = [];
    const traffic: number[] = [];
    run(60, dt, () => {
      busy.push(gpu(0).live.gfxBusy[3]!);
      traffic.push(gpu(0).live.memBusy);
    });
    const { counters } = gpu(0);
    const ticks = counters.ticks - before.ticks;
    expect((counters.gfxBusy[3]! - before.gfxBusy[3]!) / ticks).toBeCloseTo(mean(busy), 0);
    expect((counters.memBusy - before.memBusy) / ticks).toBeCloseTo(mean(traffic), 0);
    expect((counters.gfxBusy[3]! - before.gfxBusy[3]!) / ticks).toBeGreaterThan(38);
    expect((counters.gfxBusy[3]! - before.gfxBusy[3]!) / ticks).toBeLessThan(42);
  });

  it('of a die at work move by 100 a tick, those of an idle one stand still', () => {
    const { gpu, load, run } = rig({ model: 'mi300x', cards: 1, partition: 'cpx' });
    load({ partitions: new Map([[2, 1]]) });
    const before = structuredClone(gpu(0).counters);
    run(10);
    const moved = gpu(0).counters.gfxBusy.map((value, xcc) => value - before.gfxBusy[xcc]!);
    const idle = gpu(0).counters.lowUtilization.map((value, xcc) => value - before.lowUtilization[xcc]!);
    expect(moved).toEqual([0, 0, 1_000_000, 0, 0, 0, 0, 0]);
    expect(idle).toEqual([10_000, 10_000, 0, 10_000, 10_000, 10_000, 10_000, 10_000]);
  });

  it('stay whole numbers and never fall', () => {
    const { node, load, run } = rig({ model: 'mi355x', cards: 2 }, { ambient: 60 });
    load({ gfx: 0.77, mem: 0.41, fabric: 1.234e10, pcie: 7.7e9, vram: 1e9 });
    let last = node.gpus.map(({ counters }) => numbersOf(counters));
    run(3, 0.033, () => {
      const now = node.gpus.map(({ counters }) => numbersOf(counters));
      for (const [index, values] of now.entries())
        for (const [k, value] of values.entries()) {
          expect(Number.isInteger(value)).toBe(true);
          expect(value).toBeGreaterThanOrEqual(last[index]![k]!);
        }
      last = now;
    });
  });

  it('go on from zero after the driver has started them again', () => {
    const { gpu, load, run } = rig({ model: 'mi300x', cards: 1 });
    load({ gfx: 1, mem: 0.5 });
    run(1);
    const { counters } = gpu(0);
    counters.ticks = 0;
    counters.gfxBusy = counters.gfxBusy.map(() => 0);
    run(1);
    expect(gpu(0).counters.ticks).toBe(1000);
    expect(gpu(0).counters.gfxBusy).toEqual(new Array(8).fill(100_000));
  });
});

function numbersOf({ energy: _joules, ...counters }: object & { energy: number }): number[] {
  return Object.values(counters as Record<string, number | number[]>).flat();
}
