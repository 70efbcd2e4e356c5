import { describe, expect, it } from 'vitest';
import { SIM_MODELS } from '../../../sim/models.ts';
import { cardPhysics, stepNode } from '../../../sim/physics/step.ts';
import { random } from '../../../sim/random.ts';
import { renderLive, renderNode } from '../../../sim/tree.ts';
import { NODES, title } from '../nodes.ts';
import { type Rig, rig } from './rig.ts';

/** A day in short: rest, work, a lower cap, a hot room, rest. */
function story(bench: Rig, dt: number): void {
  const { gpu, load, run, room } = bench;
  run(30, dt);
  load({ gfx: 0.9, mem: 0.5, fabric: 1e10, pcie: 3e9, vram: 1e10 }, 0, 1);
  run(60, dt);
  gpu(0).settings.cap *= 0.7;
  run(60, dt);
  load({ gfx: 1, mem: 0.4, vram: 1e10 });
  room.ambient = 65;
  run(120, dt);
  room.ambient = 30;
  load({ gfx: 0, mem: 0, vram: 0 }, 1);
  run(60, dt);
}

function stateOf({ node }: Rig) {
  return node.gpus.map((gpu) => structuredClone({ live: gpu.live, counters: gpu.counters }));
}

describe('a step', () => {
  it.each(SIM_MODELS)('of %s gives the same for the same seed, and something else for another', (model) => {
    const [one, two, other] = [7, 7, 8].map((seed) => {
      const bench = rig({ model, cards: 2 }, { seed });
      story(bench, 0.5);
      return stateOf(bench);
    });
    expect(one).toEqual(two);
    expect(one).not.toEqual(other);
  });

  it.each(SIM_MODELS)('of %s may be long or short: 10 and 100 Hz agree', (model) => {
    const [slow, fast] = [0.1, 0.01].map((dt) => {
      const bench = rig({ model, cards: 2 });
      const before = bench.node.gpus.map(({ counters }) => structuredClone(counters));
      story(bench, dt);
      return { bench, before };
    });
    for (const gpu of slow!.bench.node.gpus) {
      const twin = fast!.bench.gpu(gpu.index);
      const [a, b] = [cardPhysics(gpu)!.heat, cardPhysics(twin)!.heat];
      for (const key of ['sink', 'die', 'hbm'] as const) expect(Math.abs(a[key] - b[key])).toBeLessThan(0.05);
      const gained = (of: 'energy' | 'memBusy' | 'ticks', side: typeof slow) =>
        side!.bench.gpu(gpu.index).counters[of] - side!.before[gpu.index]![of];
      for (const key of ['ticks', 'memBusy'] as const)
        expect(Math.abs(gained(key, slow) / gained(key, fast) - 1), key).toBeLessThan(0.0005);
      if (gpu.die !== 'secondary')
        expect(Math.abs(gained('energy', slow) / gained('energy', fast) - 1)).toBeLessThan(0.0005);
      expect(Math.abs(gpu.live.clock.gfx[0]! / twin.live.clock.gfx[0]! - 1)).toBeLessThan(0.02);
      expect(Math.abs(gpu.counters.packagePower - twin.counters.packagePower)).toBeLessThan(0.001 * 330_000);
      expect(Math.abs(gpu.counters.socketThermal - twin.counters.socketThermal)).toBeLessThan(0.001 * 330_000);
    }
  });

  it('of minutes is cut into small ones', () => {
    const [long, short] = [60, 0.1].map((dt) => {
      const bench = rig({ model: 'mi210', cards: 2 });
      bench.load({ gfx: 1, mem: 0.5 });
      bench.run(600, dt);
      return bench;
    });
    const [a, b] = [cardPhysics(long!.gpu(0))!.heat, cardPhysics(short!.gpu(0))!.heat];
    for (const key of ['sink', 'die', 'hbm'] as const) expect(a[key]).toBeCloseTo(b[key], 6);
    expect(long!.gpu(0).counters.ticks).toBe(short!.gpu(0).counters.ticks);
  });

  it('of no time changes nothing, and one that is no time is refused', () => {
    const { node, loads, room, load, run } = rig({ model: 'mi210', cards: 1 });
    load({ gfx: 1 });
    run(1);
    const before = structuredClone(node);
    stepNode(node, loads, room, 0, random(1));
    expect(node).toEqual(before);
    for (const dt of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => stepNode(node, loads, room, dt, random(1))).toThrow(RangeError);
  });

  it.each(NODES.map((options) => [title(options), options] as const))(
    'leaves %s in a state that renders',
    (_, options) => {
      const bench = rig(options, { ambient: 60 });
      const files = renderNode(bench.node);
      bench.load({ gfx: 0.63, mem: 0.31, video: 0.2, fabric: 1.5e10, pcie: 4.4e9, vram: 12_345_678_901, gtt: 1e8 });
      bench.run(20, 0.17);
      const after = renderLive(bench.node);
      for (const [path, entry] of after) {
        expect(files.has(path), path).toBe(true);
        if ('content' in entry && typeof entry.content === 'string')
          expect(entry.content, path).not.toMatch(/NaN|undefined|Infinity|\de[+-]/);
      }
    },
  );

  it('keeps a card in mind where another one vanishes', () => {
    const bench = rig({ model: 'mi210', cards: 3 });
    bench.load({ gfx: 1, mem: 0.5 });
    bench.run(300, 1);
    const before = cardPhysics(bench.gpu(2))!.heat.sink;
    bench.node.gpus.splice(1, 1);
    bench.run(0.1);
    expect(cardPhysics(bench.node.gpus[1]!)!.heat.sink).toBeCloseTo(before, 0);
  });

  it('begins at the temperature that is shown', () => {
    const bench = rig({ model: 'mi210', cards: 1 });
    const { junction, mem } = bench.gpu(0).live.temperature;
    bench.run(0.1);
    expect(Math.abs(bench.gpu(0).live.temperature.junction - junction)).toBeLessThanOrEqual(1);
    expect(Math.abs(bench.gpu(0).live.temperature.mem - mem)).toBeLessThanOrEqual(1);
  });
});

describe('cost', () => {
  /** Steps per ms at which 8 cards at 10 steps a second take 2 % of a core. */
  const FLOOR = 0.5;

  it.each(['mi210', 'mi250x', 'mi300x'] as const)(
    'of 8 packages %s at 10 steps a second is below 2 %% of a core',
    (model) => {
      const cards = model === 'mi250x' ? 4 : 8;
      const { load, run } = rig({ model, cards });
      load({ gfx: 0.95, mem: 0.5, fabric: 1e10, pcie: 1e9, vram: 1e10 });
      run(20);
      let best = 0;
      for (let round = 0; round < 5; round++) {
        const start = performance.now();
        run(20);
        best = Math.max(best, 200 / (performance.now() - start));
      }
      expect(best / FLOOR).toBeGreaterThan(2);
    },
  );
});
