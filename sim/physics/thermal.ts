import type { ModelSpec } from '../models.ts';
import type { PhysicsConstants } from './constants.ts';

/** Heat of one PCI function, and what it does against too much of it. Temperatures in °C, rises in K. */
export interface Heat {
  /** Heat sink; both dies of a package have it in common. */
  sink: number;
  /** Hottest spot and memory stacks above it. */
  die: number;
  hbm: number;
}

/** Part of the die's rise that the edge sensor sees. */
const EDGE_SHARE = 0.45;
/** Cooling that no obstacle takes away: the board, and air that rises by itself. */
const LEAST_COOLING = 0.1;

export const junction = (heat: Heat): number => heat.sink + heat.die;
export const edge = (heat: Heat): number => heat.sink + EDGE_SHARE * heat.die;
export const memory = (heat: Heat): number => heat.sink + heat.hbm;

/** The state in which a card has the shown junction and memory temperature while it draws `watts` in this function. */
export function heatFrom(constants: PhysicsConstants, shown: { junction: number; mem: number }, watts: number): Heat {
  const die = constants.die.resistance * watts;
  const sink = shown.junction - die;
  return { sink, die, hbm: shown.mem - sink };
}

/** What warms one function: its own state and that of its package. */
export interface Warmed {
  heat: Heat;
  /** Watts of this function and of its memory traffic. */
  watts: number;
  memoryWatts: number;
}

export interface Cooled {
  /** Watts of the package. */
  watts: number;
  /** Air in front of the heat sink, °C. */
  inlet: number;
  /** Factor of cooling left, 0 to 1, and this package's own factor on its thermal resistance. */
  cooling: number;
  resistance: number;
}

/** Exact for power that is constant during the `seconds`. A blocked cooler is slower in proportion: the metal is the same. */
export function warm(card: Warmed, { sink, die, hbm }: PhysicsConstants, pack: Cooled, seconds: number): void {
  const { heat } = card;
  const obstacle = pack.resistance / Math.max(LEAST_COOLING, Math.min(1, pack.cooling));
  const rise = sink.resistance * obstacle * pack.watts;
  heat.sink = approach(heat.sink, pack.inlet + rise, sink.time * obstacle, seconds);
  heat.hbm = approach(heat.hbm, hbm.coupling * heat.die + hbm.resistance * card.memoryWatts, hbm.time, seconds);
  heat.die = approach(heat.die, die.resistance * pack.resistance * card.watts, die.time, seconds);
}

function approach(value: number, target: number, time: number, seconds: number): number {
  return target + (value - target) * Math.exp(-seconds / time);
}

/** Holds one sensor at its limit: a proportional and an integral part, in shares of the highest clock. */
export interface Limiter {
  integral: number;
  /** Share of the highest clock that is allowed, 0 to 1. Below the lowest clock of the chip pulses are left out. */
  allowed: number;
}

export interface Limiters {
  die: Limiter;
  hbm: Limiter;
  /** A sensor has reached the temperature at which the hardware pulls the brake without asking the firmware. */
  emergency: boolean;
}

export function newLimiters(): Limiters {
  return { die: { integral: 1, allowed: 1 }, hbm: { integral: 1, allowed: 1 }, emergency: false };
}

/** Per K, and per K and second: well damped with the slow heat sink and with the quick die alike. */
const PROPORTIONAL = 0.05;
const INTEGRAL = 0.01;
/** K below the limit that count at most: the way back takes seconds, not the time for which the card was cool. */
const MOST_CREDIT = 5;

export function updateLimiters(limiters: Limiters, { limits }: ModelSpec, heat: Heat, seconds: number): void {
  const hot = junction(heat) - limits.junction.crit;
  const beside = limits.edge ? edge(heat) - limits.edge.crit : hot;
  const stacks = memory(heat) - limits.mem.crit;
  hold(limiters.die, Math.max(hot, beside), seconds);
  hold(limiters.hbm, stacks, seconds);
  limiters.emergency = junction(heat) >= limits.junction.emergency || memory(heat) >= limits.mem.emergency;
}

function hold(limiter: Limiter, excess: number, seconds: number): void {
  const error = Math.max(-MOST_CREDIT, excess);
  limiter.integral = share(limiter.integral - INTEGRAL * error * seconds);
  limiter.allowed = share(limiter.integral - PROPORTIONAL * error);
}

const share = (value: number): number => Math.min(1, Math.max(0, value));
