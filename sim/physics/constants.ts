import type { SimModel } from '../models.ts';

/**
 * What a product's physics is computed with; the origin of each number stands in docs/simulator.md. Power is of the package, that is of
 * both dies where there are two.
 */
export interface PhysicsConstants {
  /** Watts with all engines busy at the highest clock, before any cap. */
  peak: number;
  /** Watts that full memory traffic adds, and all video engines at work. */
  memory: number;
  video: number;
  /** Millivolts at the highest clock, and the share of them that is gone at a clock near zero: V(x) = top · (1 − slope · (1 − x)). */
  voltage: { top: number; slope: number };
  /** Heat sink above inlet air: K/W of the package, and the time constant in seconds. */
  sink: Lag;
  /** Hottest spot above heat sink: K/W of one PCI function. */
  die: Lag;
  /** Memory stacks above heat sink: K/W of memory power, and the share of the die's rise that reaches them. */
  hbm: Lag & { coupling: number };
  /** K that each watt of a package next door adds to the inlet air. */
  neighbour: number;
}

export interface Lag {
  resistance: number;
  /** Seconds. */
  time: number;
}

export const PHYSICS: Readonly<Record<SimModel, PhysicsConstants>> = {
  mi100: {
    peak: 319,
    memory: 26,
    video: 10,
    voltage: { top: 950, slope: 0.3 },
    sink: { resistance: 0.1, time: 45 },
    die: { resistance: 0.055, time: 1.5 },
    hbm: { resistance: 0.12, coupling: 0.7, time: 4 },
    neighbour: 0.006,
  },
  mi210: {
    peak: 300,
    memory: 30,
    video: 10,
    voltage: { top: 900, slope: 0.25 },
    sink: { resistance: 0.1, time: 45 },
    die: { resistance: 0.06, time: 1.5 },
    hbm: { resistance: 0.12, coupling: 0.7, time: 4 },
    neighbour: 0.006,
  },
  mi250x: {
    peak: 616,
    memory: 60,
    video: 20,
    voltage: { top: 900, slope: 0.25 },
    sink: { resistance: 0.055, time: 50 },
    die: { resistance: 0.07, time: 1.5 },
    hbm: { resistance: 0.06, coupling: 0.7, time: 4 },
    neighbour: 0.003,
  },
  mi300x: {
    peak: 1012,
    memory: 90,
    video: 25,
    voltage: { top: 950, slope: 0.35 },
    sink: { resistance: 0.043, time: 60 },
    die: { resistance: 0.027, time: 1.5 },
    hbm: { resistance: 0.04, coupling: 0.6, time: 4 },
    neighbour: 0.003,
  },
  mi300a: {
    peak: 690,
    memory: 80,
    video: 20,
    voltage: { top: 950, slope: 0.35 },
    sink: { resistance: 0.045, time: 20 },
    die: { resistance: 0.032, time: 1.5 },
    hbm: { resistance: 0.045, coupling: 0.6, time: 4 },
    neighbour: 0.001,
  },
  mi325x: {
    peak: 1300,
    memory: 110,
    video: 25,
    voltage: { top: 950, slope: 0.35 },
    sink: { resistance: 0.033, time: 60 },
    die: { resistance: 0.021, time: 1.5 },
    hbm: { resistance: 0.035, coupling: 0.6, time: 4 },
    neighbour: 0.002,
  },
  mi355x: {
    peak: 1820,
    memory: 140,
    video: 30,
    voltage: { top: 950, slope: 0.35 },
    sink: { resistance: 0.022, time: 20 },
    die: { resistance: 0.017, time: 1.5 },
    hbm: { resistance: 0.028, coupling: 0.6, time: 4 },
    neighbour: 0.0005,
  },
};
