import { MODELS } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import { type Random, random as seeded } from '../random.ts';
import { PHYSICS } from './constants.ts';
import { type CounterRests, newRests } from './counters.ts';
import { NOISE_GRID, type Noise, newNoise } from './noise.ts';
import type { Die } from './power.ts';
import { type Heat, heatFrom, type Limiters, newLimiters } from './thermal.ts';

/**
 * What the firmware keeps to itself: unrounded temperatures, limiters, parts of counts. It goes with the description, is made from
 * what that shows when a GPU is stepped first, and is lost with a copy of it, which costs fractions of a degree.
 */
export interface CardPhysics {
  noise: Noise;
  dies: Die[];
  heat: Heat;
  limiters: Limiters;
  rests: CounterRests;
  /** K by memory stack below the hottest one. */
  stacks: number[];
  /** Which sensors have held the clock during the last step, and whether the cap has. */
  throttled: { power: boolean; die: boolean; hbm: boolean };
  /** Memory traffic as a share of the bandwidth, and clock in MHz. */
  traffic: number;
  memoryClock: number;
  /** Watts of this function and of its memory traffic. */
  watts: number;
  memoryWatts: number;
}

/** GPUs that share cooler and cap; the first has the power reading. */
export interface Package {
  /** Number of the package in the node; neighbours are those with the numbers beside it. */
  place: number;
  gpus: Gpu[];
  cards: CardPhysics[];
  /** Of all its cards. */
  dies: Die[];
  /** Watts at the end of the last step, and joules since it began. */
  watts: number;
  energy: number;
  /** °C of the air in front of it, and factor of its cooling that is left. */
  inlet: number;
  cooling: number;
  /** Its own factors on thermal resistance and idle draw: packages of one kind differ. */
  resistance: number;
  idle: number;
}

export interface NodePhysics {
  packages: Package[];
  /** The GPUs for which this was laid out. */
  gpus: Gpu[];
  /** Seconds until the next draw of noise. */
  untilNoise: number;
}

const nodes = new WeakMap<NodeDescription, NodePhysics>();
const cards = new WeakMap<Gpu, CardPhysics>();

export function physicsOf(node: NodeDescription, random: Random): NodePhysics {
  const known = nodes.get(node);
  if (known && sameGpus(known.gpus, node.gpus)) return known;
  const made: NodePhysics = {
    packages: [],
    gpus: [...node.gpus],
    untilNoise: known?.untilNoise ?? NOISE_GRID,
  };
  for (const gpu of node.gpus) {
    const card = cards.get(gpu) ?? newCard(node, gpu, random);
    cards.set(gpu, card);
    const last = made.packages.at(-1);
    if (last?.gpus[0]?.package === gpu.package) {
      last.gpus.push(gpu);
      last.cards.push(card);
      last.dies.push(...card.dies);
    } else made.packages.push(newPackage(node, gpu, card));
  }
  nodes.set(node, made);
  return made;
}

/** The unrounded state of a GPU that has been stepped. */
export function cardPhysics(gpu: Gpu): Readonly<CardPhysics> | undefined {
  return cards.get(gpu);
}

function sameGpus(known: readonly Gpu[], now: readonly Gpu[]): boolean {
  return known.length === now.length && known.every((gpu, index) => gpu === now[index]);
}

/** Packages of one kind differ by so much of thermal resistance and idle draw at most. */
const SPREAD_THERMAL = 0.04;
const SPREAD_IDLE = 0.03;

function newPackage(node: NodeDescription, gpu: Gpu, card: CardPhysics): Package {
  const own = seeded(node.seed, 'physics', 'package', gpu.package);
  return {
    place: gpu.package,
    gpus: [gpu],
    cards: [card],
    dies: [...card.dies],
    watts: gpu.live.power,
    energy: 0,
    inlet: 0,
    cooling: 1,
    resistance: own.real(1 - SPREAD_THERMAL, 1 + SPREAD_THERMAL, 4),
    idle: own.real(1 - SPREAD_IDLE, 1 + SPREAD_IDLE, 4),
  };
}

function newCard(node: NodeDescription, gpu: Gpu, random: Random): CardPhysics {
  const spec = MODELS[node.model];
  const own = seeded(node.seed, 'physics', gpu.index);
  const watts = gpu.live.power / spec.dies;
  return {
    noise: newNoise(random),
    dies: Array.from({ length: spec.xccs }, () => ({
      busy: 0,
      clock: 0,
      active: 0,
      tree: 0,
      stream: 0,
      fixed: 0,
      held: 'nothing',
    })),
    heat: heatFrom(PHYSICS[node.model], gpu.live.temperature, watts),
    limiters: newLimiters(),
    rests: newRests(spec.xccs),
    stacks: Array.from({ length: spec.hbmStacks }, (_, stack) => (stack === 0 ? 0 : own.int(0, 4))),
    throttled: { power: false, die: false, hbm: false },
    traffic: 0,
    memoryClock: spec.clocks.mem[0] as number,
    watts,
    memoryWatts: 0,
  };
}
