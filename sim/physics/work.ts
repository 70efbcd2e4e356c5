import type { ModelSpec } from '../models.ts';
import type { Gpu } from '../node.ts';
import { highestClock, lowestClock, memoryClock, onLevel, wantedClock } from './clock.ts';
import type { PhysicsConstants } from './constants.ts';
import { IDLE, type Load, unit } from './load.ts';
import { noisy } from './noise.ts';
import { clockUnderCap, drawAt, memoryDraw, setDraw } from './power.ts';
import { activityOf } from './show.ts';
import type { CardPhysics, Package } from './state.ts';

/** What the loads of one step come to. */
export interface Jobs {
  spec: ModelSpec;
  constants: PhysicsConstants;
  loads: ReadonlyMap<number, Load>;
  /** By GPU index: busy share asked of each compute die. */
  demand: ReadonlyMap<number, readonly number[]>;
}

/** Deviations of utilisation and memory traffic at one half, and of the work of a busy shader. */
const BUSY_NOISE = 0.02;
const TRAFFIC_NOISE = 0.03;
const ACTIVITY_NOISE = 0.006;

/** Clocks, traffic and power of a package: what each die wants, what heat allows, what the cap leaves. */
export function work(jobs: Jobs, pack: Package): void {
  const { spec, constants, loads } = jobs;
  const lowest = lowestClock(spec) / highestClock(spec);
  let video = 0;
  for (let i = 0; i < pack.gpus.length; i++) {
    const gpu = pack.gpus[i] as Gpu;
    wish(jobs, gpu, pack.cards[i] as CardPhysics, lowest);
    video += unit(loads.get(gpu.index)?.video) / spec.dies;
  }
  const base = spec.idle * pack.idle + constants.video * video;
  const limit = clockUnderCap(pack.dies, constants, lowest, capOf(spec, pack) - base);
  pack.watts = 0;
  for (const card of pack.cards) {
    settle(jobs, card, lowest, limit);
    card.watts += base / pack.cards.length;
    pack.watts += card.watts;
  }
}

/** Watts. The first GPU of a package carries the cap; MI350 has a second one, for peaks. A cap of 0 is none. */
function capOf(spec: ModelSpec, pack: Package): number {
  const { cap = spec.cap, secondCap = cap } = pack.gpus[0]?.settings ?? {};
  const watts = spec.family === 'mi350' ? Math.min(cap, secondCap) : cap;
  return watts > 0 ? watts : Number.POSITIVE_INFINITY;
}

/** Sets what each die is asked to do, the clock that settings and heat give it for that, and what it draws by clock. */
function wish({ spec, constants, loads, demand }: Jobs, gpu: Gpu, card: CardPhysics, lowest: number): void {
  const { noise, limiters, dies } = card;
  const top = highestClock(spec);
  const allowed = limiters.emergency ? 0 : Math.min(limiters.die.allowed, limiters.hbm.allowed);
  const asked = demand.get(gpu.index) ?? [];
  for (let xcc = 0; xcc < dies.length; xcc++)
    (dies[xcc] as CardPhysics['dies'][number]).busy = noisy(asked[xcc] ?? 0, noise.busy, BUSY_NOISE);
  card.traffic = noisy(unit((loads.get(gpu.index) ?? IDLE).mem), noise.traffic, TRAFFIC_NOISE);
  card.memoryClock = memoryClock(spec, gpu.settings, activityOf(card));
  const drawn = {
    traffic: Math.min(card.traffic, card.memoryClock / (spec.clocks.mem.at(-1) as number)),
    activity: ACTIVITY_NOISE * noise.activity,
    duty: Math.min(1, allowed / lowest),
  };
  for (const die of dies) {
    const wanted = wantedClock(spec, gpu.settings, die.busy) / top;
    die.clock = Math.min(wanted, Math.max(lowest, allowed));
    die.held = die.busy > 0 && allowed < wanted ? 'heat' : 'nothing';
    setDraw(die, constants, spec.idle, 1 / (spec.dies * spec.xccs), drawn);
  }
}

/** Gives each die the clock that the cap leaves, and the card its power above idle and the traffic that it moves. */
function settle({ spec, constants }: Jobs, card: CardPhysics, lowest: number, limit: number): void {
  const top = highestClock(spec);
  const { die: dieLimiter, hbm: hbmLimiter } = card.limiters;
  let power = false;
  let heat = false;
  card.watts = 0;
  card.memoryWatts = 0;
  for (const die of card.dies) {
    if (die.clock > limit) {
      die.clock = limit;
      if (die.busy > 0) die.held = 'power';
    }
    if (die.clock >= lowest) die.clock = onLevel(spec, die.clock * top) / top;
    power ||= die.held === 'power';
    heat ||= die.held === 'heat';
    card.watts += drawAt(die, constants, lowest, die.clock);
    card.memoryWatts += memoryDraw(die);
  }
  card.throttled.power = power;
  card.throttled.die = heat && dieLimiter.allowed <= hbmLimiter.allowed;
  card.throttled.hbm = heat && hbmLimiter.allowed <= dieLimiter.allowed;
  card.traffic = (card.memoryWatts * spec.dies) / constants.memory;
}
