import type { PhysicsConstants } from './constants.ts';

/** Power of compute dies as a function of their clock, and the clock that a cap leaves. Clocks are shares x of the highest one. */

/** One compute die at work: its power is a · h(x) + leak · max(0, h(x) − h(lowest)) + stream · x + fixed, in watts. */
export interface Die {
  /** Busy share 0 to 1 with its noise. */
  busy: number;
  clock: number;
  /** Watts at the highest clock of shaders at work, and of a clock tree without work. */
  active: number;
  tree: number;
  /** Watts of memory traffic that moves with the clock, and of traffic that does not. */
  stream: number;
  fixed: number;
  /** What holds the clock below the one that was wanted. */
  held: 'nothing' | 'power' | 'heat';
}

/** Share of the shaders' power that a running clock takes without work. */
const TREE = 0.04;

/** V(x) in parts of the highest voltage. */
export function voltage({ voltage: { slope } }: PhysicsConstants, x: number): number {
  return 1 - slope * (1 - x);
}

/** x · V(x)²: what the power of switching transistors follows. */
function switching(slope: number, x: number): number {
  const v = 1 - slope * (1 - x);
  return x * v * v;
}

function switchingSlope(slope: number, x: number): number {
  const v = 1 - slope * (1 - x);
  return v * v + 2 * slope * x * v;
}

export interface Work {
  /** Share of memory bandwidth asked at the highest clock. */
  traffic: number;
  /** Deviation of the shaders' work from its mean, about ±0.01. */
  activity: number;
  /** Share of the clock pulses that heat lets through. */
  duty: number;
}

/**
 * Sets what a die draws. A shader that waits for memory switches less: at the highest clock that saves as much as the traffic costs.
 * `share`: the part of the package that the die is.
 */
export function setDraw(die: Die, constants: PhysicsConstants, idle: number, share: number, work: Work): void {
  const shaders = (constants.peak - idle) * share;
  const stall = (constants.memory / (constants.peak - idle)) * work.traffic;
  const memory = constants.memory * share * work.traffic;
  die.active = shaders * die.busy * work.duty * (1 - stall) * (1 + work.activity);
  die.tree = shaders * TREE * (1 - die.busy);
  die.stream = memory * die.busy * work.duty;
  die.fixed = memory * (1 - die.busy);
}

/** Watts of one die at clock x. */
export function drawAt(die: Die, { voltage: { slope } }: PhysicsConstants, lowest: number, x: number): number {
  const h = switching(slope, x);
  return die.active * h + die.tree * Math.max(0, h - switching(slope, lowest)) + die.stream * x + die.fixed;
}

/** Watts of the memory traffic alone. */
export function memoryDraw(die: Die): number {
  return die.stream * die.clock + die.fixed;
}

/** Newton's method needs three to five rounds; a die that is let go between two rounds costs one more. */
const ROUNDS = 12;
const CLOSE_WATTS = 0.01;

/**
 * Highest clock at which the dies, each at most at its own, draw no more than `budget` watts; Infinity where they do so unbidden. Never
 * below `lowest`, the lowest clock of the chip: what that draws cannot be saved.
 */
export function clockUnderCap(
  dies: readonly Die[],
  constants: PhysicsConstants,
  lowest: number,
  budget: number,
): number {
  const { slope } = constants.voltage;
  let limit = 0;
  for (const { clock } of dies) limit = Math.max(limit, clock);
  for (let round = 0; round < ROUNDS; round++) {
    let watts = 0;
    let gradient = 0;
    for (const die of dies) {
      const x = Math.min(die.clock, limit);
      watts += drawAt(die, constants, lowest, x);
      if (die.clock >= limit) gradient += (die.active + die.tree) * switchingSlope(slope, x) + die.stream;
    }
    const over = watts - budget;
    if (round === 0 && over <= 0) return Number.POSITIVE_INFINITY;
    if (Math.abs(over) < CLOSE_WATTS || gradient === 0) break;
    limit -= over / gradient;
    if (limit <= lowest) return lowest;
  }
  return limit;
}
