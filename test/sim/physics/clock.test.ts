import { describe, expect, it } from 'vitest';
import { MODELS, SIM_MODELS } from '../../../sim/models.ts';
import { rig } from './rig.ts';

describe('the shader clock', () => {
  it.each([
    ['auto', 0, 500],
    ['auto', 0.9, 1700],
    ['low', 0.9, 500],
    ['profile_min_sclk', 0.9, 500],
    ['high', 0, 1700],
    ['profile_peak', 0, 1700],
    ['profile_standard', 0.5, 1220],
    ['manual', 0, 700],
    ['manual', 0.9, 1200],
    ['perf_determinism', 0.9, 1200],
  ])('of an MI210 follows level %s at load %f', (level, gfx, expected) => {
    const { gpu, load, run } = rig({ model: 'mi210', cards: 1 });
    const ranged = level === 'manual' || level === 'perf_determinism';
    Object.assign(gpu(0).settings, { level, ...(ranged && { gfxMin: 700, gfxMax: 1200 }) });
    load({ gfx, mem: 0.2 });
    run(1);
    expect(gpu(0).live.clock.gfx).toEqual([expected]);
  });

  it('lies between the ends under a light load', () => {
    const { gpu, load, run } = rig({ model: 'mi210', cards: 1 });
    load({ gfx: 0.05, mem: 0.01 });
    run(1);
    expect(gpu(0).live.clock.gfx[0]).toBeGreaterThan(600);
    expect(gpu(0).live.clock.gfx[0]).toBeLessThan(1300);
  });

  it('of an MI100 is always one of its levels', () => {
    const { gpu, load, run } = rig({ model: 'mi100', cards: 1 }, { ambient: 55 });
    const seen = new Set<number>();
    for (const [gfx, cap] of [
      [0, 290],
      [0.07, 290],
      [1, 290],
      [1, 220],
      [1, 150],
    ] as const) {
      gpu(0).settings.cap = cap;
      load({ gfx, mem: gfx / 2 });
      run(30, 0.1, () => seen.add(gpu(0).live.clock.gfx[0]!));
    }
    expect(seen.size).toBeGreaterThan(4);
    for (const mhz of seen) expect(MODELS.mi100.clocks.gfx).toContain(mhz);
  });

  it.each(SIM_MODELS)('of an idle %s rests, and that of its memory too', (model) => {
    const { gpu, load, run } = rig({ model, cards: 1 });
    const { clocks, family } = MODELS[model];
    const sleeps = family === 'mi300' || family === 'mi350';
    run(1);
    for (const mhz of gpu(0).live.clock.gfx) expect(mhz).toBe(sleeps ? 132 : clocks.gfx[0]);
    expect(gpu(0).live.clock).toMatchObject({ mem: clocks.mem[0], soc: sleeps ? 30 : clocks.soc[0] });
    load({ gfx: 0.8, mem: 0.4 });
    run(1);
    expect(gpu(0).live.clock).toMatchObject({ mem: clocks.mem.at(-1), soc: clocks.soc.at(-1) });
  });

  it('brings voltage along', () => {
    const { gpu, load, run } = rig({ model: 'mi210', cards: 1 });
    run(1);
    const idle = gpu(0).live.voltage.gfx;
    load({ gfx: 1, mem: 0.2 });
    run(1);
    expect(idle).toBeLessThan(760);
    expect(gpu(0).live.voltage.gfx).toBeGreaterThan(890);
  });

  it('drawn down by a level costs work, not utilisation', () => {
    const { gpu, load, run } = rig({ model: 'mi210', cards: 1 });
    load({ gfx: 1, mem: 0.6 });
    run(1);
    const before = gpu(0).live.memBusy;
    gpu(0).settings.level = 'low';
    run(1);
    expect(gpu(0).live.gfxBusy).toEqual([100]);
    expect(gpu(0).live.memBusy).toBeLessThan(before * 0.4);
  });
});

describe('the memory clock', () => {
  it('never exceeds its limit, and traffic never what it carries', () => {
    const { gpu, load, run } = rig({ model: 'mi300x', cards: 1 });
    gpu(0).settings.memMax = 1000;
    load({ gfx: 1, mem: 1 });
    run(1);
    expect(gpu(0).live.clock.mem).toBe(1000);
    expect(gpu(0).live.memBusy).toBeLessThanOrEqual(77);
    expect(gpu(0).live.memBusy).toBeGreaterThan(50);
  });
});

describe('the video engines', () => {
  it('show their load, clock and power', () => {
    const { gpu, load, run } = rig({ model: 'mi300x', cards: 1 });
    run(1);
    const idle = gpu(0).live.power;
    load({ video: 0.7 });
    run(1);
    expect(gpu(0).live.vcnBusy).toEqual([70, 70, 70, 70]);
    expect(gpu(0).live.clock).toMatchObject({ vclk: 1333, dclk: 1111 });
    expect(gpu(0).live.power).toBeGreaterThan(idle + 10);
  });
});
