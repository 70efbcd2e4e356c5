import { describe, expect, it } from 'vitest';
import { MODELS, SIM_MODELS } from '../../../sim/models.ts';
import { mean, rig } from './rig.ts';

/** Cap in W and TFLOPS of a fully busy MI210, as measured by its operators. */
const MODES = [
  [300, 26.5],
  [275, 24.7],
  [230, 21.3],
  [200, 18.9],
] as const;

/** Mean clock of the first die and mean power over 20 s at a cap, after it has settled. */
function settled(cap: number, mem: number): { clock: number; power: number } {
  const { node, gpu, load, run } = rig({ model: 'mi210', cards: 1 });
  gpu(0).settings.cap = cap;
  load({ gfx: 1, mem });
  run(5);
  const clocks: number[] = [];
  const watts: number[] = [];
  run(20, 0.1, () => {
    clocks.push(node.gpus[0]!.live.clock.gfx[0]!);
    watts.push(node.gpus[0]!.live.power);
  });
  return { clock: mean(clocks), power: mean(watts) };
}

describe('power and clock of a busy MI210', () => {
  it.each([0, 0.5, 1])('meet the table of operating modes within 3 %%, at memory load %f', (mem) => {
    const full = settled(300, mem);
    for (const [cap, tflops] of MODES) {
      const { clock, power } = settled(cap, mem);
      const reached = (MODES[0][1] * clock) / full.clock;
      expect(Math.abs(reached / tflops - 1), `${cap} W: ${reached.toFixed(2)} of ${tflops} TFLOPS`).toBeLessThan(0.03);
      expect(Math.abs(power / cap - 1), `${power.toFixed(1)} W under ${cap} W`).toBeLessThan(0.03);
    }
  });

  it('fall together where the highest clock is lowered in place of the cap', () => {
    const { gpu, load, run } = rig({ model: 'mi210', cards: 1 });
    gpu(0).settings.gfxMax = 1213;
    load({ gfx: 1, mem: 0.5 });
    run(5);
    expect(gpu(0).live.clock.gfx).toEqual([1213]);
    expect(Math.abs(gpu(0).live.power / 200 - 1)).toBeLessThan(0.03);
    expect(gpu(0).live.throttle.status).toBe(0);
    const before = gpu(0).counters.packagePower;
    run(5);
    expect(gpu(0).counters.packagePower).toBe(before);
  });

  it('rise with activity', () => {
    const { gpu, load, run } = rig({ model: 'mi210', cards: 1 });
    const watts = [0, 0.2, 0.4, 0.6, 0.8, 1].map((gfx) => {
      load({ gfx, mem: gfx / 2 });
      run(1);
      return gpu(0).live.power;
    });
    expect(watts).toEqual([...watts].sort((a, b) => a - b));
    expect(watts[0]).toBeGreaterThan(38);
    expect(watts[0]).toBeLessThan(44);
    expect(watts[2]).toBeGreaterThan(110);
    expect(watts[5]).toBeGreaterThan(290);
  });
});

describe('a power cap', () => {
  it.each(SIM_MODELS)('is kept by a fully busy %s wherever it stands, and counted', (model) => {
    const { node, gpu, load, run } = rig({ model, cards: 1 });
    load({ gfx: 1, mem: 0.4 });
    for (const share of [0.9, 0.7, 0.5]) {
      const cap = Math.round(MODELS[model].cap * share);
      gpu(0).settings.cap = cap;
      run(1);
      const before = { ticks: gpu(0).counters.ticks, power: gpu(0).counters.packagePower };
      run(2, 0.1, () => expect(gpu(0).live.power).toBeLessThan(cap + 0.05));
      expect(gpu(0).live.power).toBeGreaterThan(cap * 0.94);
      expect(gpu(0).counters.ticks - before.ticks).toBe(2000);
      expect(gpu(0).counters.packagePower - before.power).toBe(2000);
    }
    for (const { live } of node.gpus)
      for (const clock of live.clock.gfx) expect(clock).toBeLessThan(MODELS[model].clocks.gfx.at(-1)!);
  });

  it('sets the throttle bits of package power on MI100 and MI200, and takes them back', () => {
    for (const [model, bit] of [
      ['mi100', 1 << 9],
      ['mi210', 1],
    ] as const) {
      const { gpu, load, run } = rig({ model, cards: 1 });
      load({ gfx: 1, mem: 0.5 });
      gpu(0).settings.cap = 200;
      run(1);
      expect(gpu(0).live.throttle).toEqual({ status: bit, independent: 1n });
      load({ gfx: 0.2, mem: 0.1 });
      run(1);
      expect(gpu(0).live.throttle).toEqual({ status: 0, independent: 0n });
    }
  });

  it('below the draw of the lowest clock leaves the lowest clock and the draw', () => {
    const { gpu, load, run } = rig({ model: 'mi210', cards: 1 });
    load({ gfx: 1, mem: 0.5 });
    gpu(0).settings.cap = 1;
    run(1);
    expect(gpu(0).live.clock.gfx).toEqual([500]);
    expect(gpu(0).live.power).toBeGreaterThan(60);
  });

  it('does not hold an idle card', () => {
    const { gpu, run } = rig({ model: 'mi300x', cards: 1 });
    gpu(0).settings.cap = 100;
    const before = gpu(0).counters.packagePower;
    run(1);
    expect(gpu(0).live.power).toBeGreaterThan(100);
    expect(gpu(0).counters.packagePower).toBe(before);
  });

  it('is the lower of both on MI355X', () => {
    const { gpu, load, run } = rig({ model: 'mi355x', cards: 1 });
    load({ gfx: 1, mem: 0.5 });
    gpu(0).settings.secondCap = 900;
    run(1);
    expect(gpu(0).live.power).toBeCloseTo(900, 0);
  });
});

describe('the package of an MI250X', () => {
  it('shows the power of both dies on the first and nothing on the second', () => {
    const { gpu, load, run } = rig({ model: 'mi250x', cards: 1 });
    run(1);
    const idle = gpu(0).live.power;
    load({ gfx: 1, mem: 0.5 }, 1);
    run(1);
    const one = gpu(0).live.power;
    load({ gfx: 1, mem: 0.5 });
    gpu(0).settings.cap = 1000;
    run(1);
    const both = gpu(0).live.power;
    expect(one - idle).toBeGreaterThan(200);
    expect((both - idle) / (one - idle)).toBeCloseTo(2, 1);
    expect(gpu(1).live.power).toBe(0);
  });

  it('counts the energy of both dies on the first', () => {
    const { gpu, load, run } = rig({ model: 'mi250x', cards: 1 });
    load({ gfx: 0.5, mem: 0.2 }, 1);
    const before = [gpu(0).counters.energy, gpu(1).counters.energy];
    let joules = 0;
    run(10, 0.1, () => {
      joules += gpu(0).live.power * 0.1;
    });
    expect(gpu(0).counters.energy - before[0]!).toBeCloseTo(joules, 3);
    expect(gpu(1).counters.energy).toBe(before[1]);
  });

  it('lets the busier die have the budget: one cap, one highest clock', () => {
    const { gpu, load, run } = rig({ model: 'mi250x', cards: 1 });
    load({ gfx: 1, mem: 0.3 });
    gpu(1).settings.gfxMax = 900;
    gpu(0).settings.cap = 380;
    run(1);
    expect(gpu(1).live.clock.gfx).toEqual([900]);
    expect(gpu(0).live.clock.gfx[0]).toBeGreaterThan(1100);
    expect(gpu(0).live.power).toBeCloseTo(380, 0);
  });
});
