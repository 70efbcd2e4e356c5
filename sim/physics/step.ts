import { MODELS } from '../models.ts';
import type { NodeDescription } from '../node.ts';
import type { Random } from '../random.ts';
import { PHYSICS } from './constants.ts';
import { countState } from './counters.ts';
import { dieDemand, IDLE, type Load, showMemory } from './load.ts';
import { drawNoise, NOISE_GRID } from './noise.ts';
import { show } from './show.ts';
import { type CardPhysics, type NodePhysics, type Package, physicsOf } from './state.ts';
import { updateLimiters, warm } from './thermal.ts';
import { countTraffic } from './traffic.ts';
import { type Jobs, work } from './work.ts';

export type { Load } from './load.ts';
export { type CardPhysics, cardPhysics } from './state.ts';

/** What surrounds the cards. */
export interface Room {
  /** °C of the air that enters the node. */
  ambient: number;
  /** By GPU index: factor of its cooling that is left, 0 to 1. Of a package with two GPUs the worse counts. */
  blocked: ReadonlyMap<number, number>;
}

/** Shorter than this is rounding, not time. */
const NO_TIME = 1e-9;

/**
 * Lets `dt` seconds pass on all cards: changes `live` and `counters` of the node's GPUs in place and reads their settings; the time since
 * boot is the caller's. Loads and room are constant meanwhile. `live.power` is then the mean over the step, all else as at its end.
 * Long steps are cut at the grid of the noise, so that the result hardly depends on `dt`. Throws RangeError for a `dt` that is no time.
 */
export function stepNode(
  node: NodeDescription,
  loads: ReadonlyMap<number, Load>,
  room: Room,
  dt: number,
  random: Random,
): void {
  if (!(dt >= 0 && dt < Number.POSITIVE_INFINITY)) throw new RangeError(`a step must last 0 s or more, not ${dt}`);
  if (dt === 0) return;
  const physics = physicsOf(node, random);
  const jobs = jobsOf(node, loads);
  for (const pack of physics.packages) {
    pack.energy = 0;
    pack.cooling = 1;
    for (const gpu of pack.gpus) pack.cooling = Math.min(pack.cooling, room.blocked.get(gpu.index) ?? 1);
  }
  for (let left = dt; left > NO_TIME; ) {
    const seconds = Math.min(left, physics.untilNoise);
    advance(jobs, room.ambient, physics, seconds);
    left -= seconds;
    physics.untilNoise -= seconds;
    if (physics.untilNoise < NO_TIME) {
      physics.untilNoise = NOISE_GRID;
      for (const pack of physics.packages) for (const card of pack.cards) drawNoise(card.noise, random);
    }
  }
  for (const pack of physics.packages) finish(node, jobs, pack, dt);
}

function jobsOf(node: NodeDescription, loads: ReadonlyMap<number, Load>): Jobs {
  const spec = MODELS[node.model];
  const demand = node.gpus.map((gpu) => [gpu.index, dieDemand(node, spec, gpu, loads.get(gpu.index) ?? IDLE)] as const);
  return { spec, constants: PHYSICS[node.model], loads, demand: new Map(demand) };
}

/** The air in front of each card is taken before any of them moves, so that their order does not matter. */
function advance(jobs: Jobs, ambient: number, { packages }: NodePhysics, seconds: number): void {
  for (let i = 0; i < packages.length; i++)
    (packages[i] as Package).inlet = ambient + jobs.constants.neighbour * beside(packages, i);
  for (const pack of packages) {
    work(jobs, pack);
    pack.energy += pack.watts * seconds;
    heatUp(jobs, pack, seconds);
  }
}

/** Watts of the packages in the places next to one. */
function beside(packages: readonly Package[], index: number): number {
  const here = (packages[index] as Package).place;
  const before = packages[index - 1];
  const after = packages[index + 1];
  return (before?.place === here - 1 ? before.watts : 0) + (after?.place === here + 1 ? after.watts : 0);
}

function heatUp({ spec, constants }: Jobs, pack: Package, seconds: number): void {
  for (let i = 0; i < pack.gpus.length; i++) {
    const card = pack.cards[i] as CardPhysics;
    countState(pack.gpus[i] as Package['gpus'][number], card, seconds);
    warm(card, constants, pack, seconds);
    updateLimiters(card.limiters, spec, card.heat, seconds);
  }
}

/** Board supply in mV without load, and mV that each watt takes from it. */
const BOARD = { open: 54_200, droop: 0.3 };

function finish(node: NodeDescription, { spec, constants, loads }: Jobs, pack: Package, dt: number): void {
  for (const [index, gpu] of pack.gpus.entries()) {
    const card = pack.cards[index] as CardPhysics;
    const load = loads.get(gpu.index) ?? IDLE;
    const reads = index === 0;
    gpu.live.power = reads ? pack.energy / dt : 0;
    if (reads) gpu.counters.energy += pack.energy;
    gpu.live.voltage.board = Math.round(BOARD.open - BOARD.droop * pack.watts);
    show(spec, constants, gpu, card, load);
    showMemory(spec, gpu, load);
    countTraffic(node, gpu, card, loads, dt);
  }
}
