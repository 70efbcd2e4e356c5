import type { ModelSpec } from '../models.ts';
import type { Gpu } from '../node.ts';
import { highestClock, showSideClocks } from './clock.ts';
import type { PhysicsConstants } from './constants.ts';
import { type Load, unit } from './load.ts';
import { voltage } from './power.ts';
import type { CardPhysics } from './state.ts';
import { edge, junction, memory } from './thermal.ts';

/** What the firmware makes known of the state: whole degrees, percents, MHz and mV. Power stays as it is. */

export function show(spec: ModelSpec, constants: PhysicsConstants, gpu: Gpu, card: CardPhysics, load: Load): void {
  const { live } = gpu;
  const top = highestClock(spec);
  const video = unit(load.video);
  live.gfxBusy = card.dies.map(({ busy }) => Math.round(100 * busy));
  live.memBusy = Math.round(100 * card.traffic);
  live.vcnBusy = live.vcnBusy.map(() => Math.round(100 * video));
  live.clock.gfx = card.dies.map(({ clock }) => Math.round(clock * top));
  live.clock.mem = card.memoryClock;
  showSideClocks(spec, gpu, activityOf(card), video);
  live.voltage.gfx = Math.round(constants.voltage.top * voltage(constants, meanClock(card)));
  showTemperatures(gpu, card);
  showThrottling(spec, gpu, card);
}

export function activityOf(card: CardPhysics): number {
  let most = card.traffic;
  for (const { busy } of card.dies) most = Math.max(most, busy);
  return most;
}

function meanClock({ dies }: CardPhysics): number {
  return dies.reduce((sum, { clock }) => sum + clock, 0) / dies.length;
}

/** Regulators sit beside what they feed and see a part of its rise. */
const REGULATOR = { gfx: 0.8, soc: 0.4, mem: 0.6 };

function showTemperatures({ live: { temperature } }: Gpu, { heat, stacks }: CardPhysics): void {
  temperature.junction = Math.round(junction(heat));
  temperature.edge = Math.round(edge(heat));
  temperature.mem = Math.round(memory(heat));
  temperature.vrGfx = Math.round(heat.sink + REGULATOR.gfx * heat.die);
  temperature.vrSoc = Math.round(heat.sink + REGULATOR.soc * heat.die);
  temperature.vrMem = Math.round(heat.sink + REGULATOR.mem * heat.hbm);
  temperature.hbm = stacks.map((below) => temperature.mem - below);
}

/** Bits of throttle_status for package power, hottest spot and memory, and those of indep_throttle_status. */
const BITS = { mi100: { power: 9, die: 2, hbm: 3 }, mi200: { power: 0, die: 6, hbm: 7 } } as const;
const INDEPENDENT = {
  mi100: { power: 1n, die: 1n << 36n, hbm: 1n << 34n },
  mi200: { power: 1n, die: 1n << 32n, hbm: 1n << 34n },
} as const;

/** From MI300 on the table has residencies in place of bits. */
function showThrottling({ family }: ModelSpec, { live: { throttle } }: Gpu, { throttled }: CardPhysics): void {
  throttle.status = 0;
  throttle.independent = 0n;
  if (family !== 'mi100' && family !== 'mi200') return;
  for (const cause of ['power', 'die', 'hbm'] as const) {
    if (!throttled[cause]) continue;
    throttle.status |= 1 << BITS[family][cause];
    throttle.independent |= INDEPENDENT[family][cause];
  }
}
