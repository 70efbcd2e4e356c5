import { describe, expect, it } from 'vitest';
import { MODELS, SIM_MODELS } from '../../../sim/models.ts';
import { PHYSICS } from '../../../sim/physics/constants.ts';
import { cardPhysics } from '../../../sim/physics/step.ts';
import { junction, memory } from '../../../sim/physics/thermal.ts';
import { type Rig, rig } from './rig.ts';

const heatOf = ({ gpu }: Rig, index = 0) => cardPhysics(gpu(index))!.heat;

describe('temperature', () => {
  it.each(SIM_MODELS)('of %s: 30 to 40 °C idle, 62 to 90 °C under full load at 25 °C', (model) => {
    const bench = rig({ model, cards: 3 });
    bench.run(600, 1);
    const { live } = bench.gpu(0);
    expect(live.temperature.junction).toBeGreaterThanOrEqual(30);
    expect(live.temperature.junction).toBeLessThanOrEqual(40);
    bench.load({ gfx: 1, mem: 0.5 });
    bench.run(600, 1);
    const { temperature } = live;
    expect(temperature.junction).toBeGreaterThan(62);
    expect(temperature.junction).toBeLessThan(90);
    expect(temperature.edge).toBeLessThan(temperature.junction);
    expect(temperature.mem).toBeLessThan(temperature.junction);
    expect(temperature.mem).toBe(Math.max(...temperature.hbm));
  });

  it('follows a lower cap within the time constant of the heat sink', () => {
    const bench = rig({ model: 'mi210', cards: 1 });
    bench.load({ gfx: 1, mem: 0.5 });
    bench.run(600, 1);
    const hot = heatOf(bench).sink;
    bench.gpu(0).settings.cap = 150;
    const { resistance, time } = PHYSICS.mi210.sink;
    const drop = resistance * (300 - 150);
    bench.run(time, 0.1);
    expect((hot - heatOf(bench).sink) / drop).toBeCloseTo(1 - Math.exp(-1), 1);
    bench.run(4 * time, 0.1);
    expect((hot - heatOf(bench).sink) / drop).toBeCloseTo(1, 1);
  });

  it('follows the room degree by degree', () => {
    const bench = rig({ model: 'mi300x', cards: 1 });
    bench.load({ gfx: 0.4, mem: 0.2 });
    bench.run(900, 1);
    const before = heatOf(bench).sink;
    bench.room.ambient += 10;
    bench.run(900, 1);
    expect(Math.abs(heatOf(bench).sink - before - 10)).toBeLessThan(0.5);
  });

  it('crosses 85 °C at the junction of an MI210 in a room of 40 °C, not in one of 25 °C', () => {
    for (const [ambient, crosses] of [
      [25, false],
      [40, true],
    ] as const) {
      const { node, load, run } = rig({ model: 'mi210', cards: 8 }, { ambient });
      load({ gfx: 1, mem: 0.5 });
      run(600, 1);
      const hottest = Math.max(...node.gpus.map(({ live }) => live.temperature.junction));
      expect(hottest > 85, `${hottest} °C at ${ambient} °C`).toBe(crosses);
    }
  });

  it('of a card rises by the work of its neighbours, most between two of them', () => {
    const bench = rig({ model: 'mi210', cards: 4 });
    bench.run(600, 1);
    const idle = [0, 1, 2, 3].map((index) => heatOf(bench, index).sink);
    bench.load({ gfx: 1, mem: 0.5 }, 1, 3);
    bench.run(600, 1);
    const rise = [0, 2].map((index) => heatOf(bench, index).sink - idle[index]!);
    expect(rise[0]).toBeGreaterThan(1);
    expect(rise[1]! / rise[0]!).toBeCloseTo(2, 1);
  });

  it('of both dies of an MI250X rises by the work of one, and most on that one', () => {
    const bench = rig({ model: 'mi250x', cards: 1 });
    bench.load({ gfx: 1, mem: 0.3 }, 1);
    bench.run(600, 1);
    const [idle, busy] = [bench.gpu(0).live.temperature, bench.gpu(1).live.temperature];
    expect(idle.junction).toBeGreaterThan(40);
    expect(busy.junction).toBeGreaterThan(idle.junction + 10);
  });

  it('behind a blocked cooler rises more and more slowly', () => {
    const rises = [1, 0.5].map((factor) => {
      const bench = rig({ model: 'mi210', cards: 1 });
      bench.room.blocked.set(0, factor);
      bench.run(900, 1);
      const start = heatOf(bench).sink;
      bench.load({ gfx: 0.3, mem: 0.1 });
      bench.run(30, 0.1);
      const early = heatOf(bench).sink - start;
      bench.run(900, 1);
      return { early, late: heatOf(bench).sink - start };
    });
    const [clear, blocked] = rises as [(typeof rises)[0], (typeof rises)[0]];
    expect(blocked.late / clear.late).toBeCloseTo(2, 1);
    expect(clear.early / clear.late).toBeCloseTo(1 - Math.exp(-30 / PHYSICS.mi210.sink.time), 1);
    expect(blocked.early / blocked.late).toBeCloseTo(1 - Math.exp(-30 / (2 * PHYSICS.mi210.sink.time)), 1);
  });
});

describe('thermal throttling', () => {
  it.each(SIM_MODELS)('holds a %s at its limits in far too hot air, at full utilisation', (model) => {
    const bench = rig({ model, cards: 1 }, { ambient: 70 });
    const { limits, clocks } = MODELS[model];
    bench.load({ gfx: 1, mem: 0.5 });
    bench.run(900, 1);
    const excess: number[] = [];
    bench.run(60, 0.1, () => {
      const heat = heatOf(bench);
      excess.push(Math.max(junction(heat) - limits.junction.crit, memory(heat) - limits.mem.crit));
    });
    expect(Math.max(...excess)).toBeLessThan(1.5);
    expect(Math.min(...excess)).toBeGreaterThan(-1.5);
    expect(bench.gpu(0).live.gfxBusy.every((busy) => busy === 100)).toBe(true);
    expect(bench.gpu(0).live.clock.gfx[0]).toBeLessThan(clocks.gfx.at(-1)! * 0.85);
  });

  it('overshoots by few degrees when the cooler is suddenly blocked', () => {
    const bench = rig({ model: 'mi300x', cards: 1 });
    bench.load({ gfx: 1, mem: 0.5 });
    bench.run(600, 1);
    bench.room.blocked.set(0, 0.3);
    let most = 0;
    bench.run(600, 0.1, () => {
      most = Math.max(most, junction(heatOf(bench)));
    });
    expect(most).toBeGreaterThan(99);
    expect(most).toBeLessThan(104);
  });

  it('ends when the air is cool again', () => {
    const bench = rig({ model: 'mi300x', cards: 1 }, { ambient: 70 });
    bench.load({ gfx: 1, mem: 0.5 });
    bench.run(600, 1);
    bench.room.ambient = 25;
    bench.run(600, 1);
    const { counters, live } = bench.gpu(0);
    const before = counters.socketThermal;
    bench.run(10);
    expect(counters.socketThermal).toBe(before);
    expect(live.clock.gfx[0]).toBeGreaterThan(1600);
  });

  it('counts each tick of it on MI300X, by the sensor that holds the clock and by die', () => {
    const { gpu, load, run } = rig({ model: 'mi300x', cards: 1 }, { ambient: 70 });
    load({ gfx: 1, mem: 0.5 });
    run(600, 1);
    const { counters } = gpu(0);
    const before = structuredClone(counters);
    run(10);
    expect(counters.socketThermal - before.socketThermal).toBe(10_000);
    expect(counters.belowThermal.map((ticks, xcc) => ticks - before.belowThermal[xcc]!)).toEqual(
      new Array(8).fill(10_000),
    );
    expect(counters.packagePower).toBe(before.packagePower);
    expect(counters.belowPower).toEqual(before.belowPower);
    expect(counters.prochot).toBe(before.prochot);
    expect(gpu(0).live.throttle).toEqual({ status: 0, independent: 0n });
  });

  it('sets the bits of the sensor on MI100 and MI200', () => {
    for (const [model, status, independent] of [
      ['mi100', 1 << 3, 1n << 34n],
      ['mi210', 1 << 7, 1n << 34n],
    ] as const) {
      const { gpu, load, run } = rig({ model, cards: 1 }, { ambient: 70 });
      load({ gfx: 1, mem: 1 });
      run(600, 1);
      expect(gpu(0).live.throttle).toEqual({ status, independent });
    }
  });

  it('sets the bit of the hottest spot where that is at its limit first', () => {
    for (const [model, status, independent] of [
      ['mi100', 1 << 2, 1n << 36n],
      ['mi210', 1 << 6, 1n << 32n],
    ] as const) {
      const bench = rig({ model, cards: 1 }, { ambient: 20 });
      bench.load({ gfx: 1, mem: 0 });
      bench.run(300, 1);
      const heat = cardPhysics(bench.gpu(0))!.heat;
      heat.die += 4 + MODELS[model].limits.junction.crit - junction(heat);
      bench.run(0.02, 0.01);
      expect(bench.gpu(0).live.throttle).toEqual({ status, independent });
    }
  });

  it('leaves out clock pulses where the lowest clock is still too warm, so that a card without a fan survives', () => {
    const bench = rig({ model: 'mi210', cards: 1 });
    bench.room.blocked.set(0, 0);
    bench.load({ gfx: 1, mem: 0.5 });
    bench.run(3600, 1);
    expect(bench.gpu(0).live.clock.gfx).toEqual([500]);
    expect(bench.gpu(0).live.temperature.mem).toBeLessThan(96);
    expect(bench.gpu(0).live.power).toBeLessThan(80);
  });

  it('is left to the hardware above the emergency limit: the clock is stopped and the ticks are counted', () => {
    const bench = rig({ model: 'mi300x', cards: 1 });
    bench.load({ gfx: 1, mem: 0.5 });
    bench.run(300, 1);
    cardPhysics(bench.gpu(0))!.heat.sink = 115;
    const before = bench.gpu(0).counters.prochot;
    bench.run(1);
    expect(bench.gpu(0).counters.prochot - before).toBeGreaterThanOrEqual(900);
    expect(bench.gpu(0).live.power).toBeLessThan(200);
  });
});
