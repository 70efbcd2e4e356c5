import { type Random, random } from '../random.ts';
import type { Amount, Layer } from '../scenario.ts';
import { AMOUNTS } from './schema.ts';

/** What one layer of a scenario asks of one GPU at a time. All times in seconds. */

const DAY = 86_400;

export interface Moment {
  /** Since the scenario began. */
  t: number;
  /** Since midnight. */
  timeOfDay: number;
}

/** A stretch of work that detectors should find: a burst, or a named phase of a cycle. */
export interface Stretch {
  name: string;
  amount: Amount;
}

export interface Demand {
  amount: Amount;
  stretch?: Stretch;
}

const NOTHING: Demand = { amount: {} };

/** Holds what has to be remembered between two moments; time only goes on. */
export class LayerRun {
  readonly #layer: Layer;
  readonly #bursts: BurstTrain | undefined;

  constructor(layer: Layer, seed: number, ...path: (string | number)[]) {
    this.#layer = layer;
    if (layer.curve === 'bursts') this.#bursts = new BurstTrain(layer, random(seed, 'bursts', ...path));
  }

  at(moment: Moment): Demand {
    const layer = this.#layer;
    // A train of bursts goes on outside its hours, so that those hours do not decide what is drawn in them.
    const burst = this.#bursts?.at(moment.t);
    if (!within(moment.timeOfDay, layer.from, layer.until)) return NOTHING;
    switch (layer.curve) {
      case 'steady':
        return { amount: amountOf(layer) };
      case 'steps':
        return { amount: amountOf(layer.points.findLast(({ at }) => at <= moment.t) ?? {}) };
      case 'ramp':
        return { amount: between(layer.points, moment.t) };
      case 'day':
        return { amount: aroundTheClock(layer.points, moment.timeOfDay) };
      case 'cycle':
        return phaseAt(layer, moment.t);
      default:
        return burst === undefined ? NOTHING : { amount: burst, stretch: { name: 'burst', amount: burst } };
    }
  }
}

function within(time: number, from: number | undefined, until: number | undefined): boolean {
  if (from === undefined || until === undefined) return true;
  return from <= until ? time >= from && time < until : time >= from || time < until;
}

/** The amounts that stand in an object among other keys. */
function amountOf(source: Amount): Amount {
  const amount: Amount = {};
  for (const key of AMOUNTS) if (source[key] !== undefined) amount[key] = source[key];
  return amount;
}

type Point = Amount & { at: number };

function between(points: readonly Point[], at: number): Amount {
  const next = points.findIndex((point) => point.at > at);
  if (next === 0) return amountOf(points[0] as Point);
  if (next < 0) return amountOf(points.at(-1) as Point);
  return mix(points[next - 1] as Point, points[next] as Point, at);
}

/** What one point leaves out is 0 there. */
function mix(from: Point, to: Point, at: number): Amount {
  const share = (at - from.at) / (to.at - from.at);
  const amount: Amount = {};
  for (const key of AMOUNTS) {
    if (from[key] === undefined && to[key] === undefined) continue;
    amount[key] = (from[key] ?? 0) * (1 - share) + (to[key] ?? 0) * share;
  }
  return amount;
}

/** The last point of the day leads to the first of the next. */
function aroundTheClock(points: readonly Point[], at: number): Amount {
  const first = points[0] as Point;
  const last = points.at(-1) as Point;
  return between([{ ...last, at: last.at - DAY }, ...points, { ...first, at: first.at + DAY }], at);
}

function phaseAt(layer: Extract<Layer, { curve: 'cycle' }>, t: number): Demand {
  const length = layer.phases.reduce((sum, { lasts }) => sum + lasts, 0);
  let left = t % length;
  for (const phase of layer.phases) {
    if (left < phase.lasts) {
      const amount = amountOf(phase);
      return phase.name === undefined ? { amount } : { amount, stretch: { name: phase.name, amount } };
    }
    left -= phase.lasts;
  }
  return NOTHING;
}

/** Bursts one after the other, each drawn when the one before is over. */
class BurstTrain {
  readonly #layer: Extract<Layer, { curve: 'bursts' }>;
  readonly #draw: Random;
  #start = 0;
  #end = 0;
  #amount: Amount = {};

  constructor(layer: Extract<Layer, { curve: 'bursts' }>, draw: Random) {
    this.#layer = layer;
    this.#draw = draw;
    this.#next();
  }

  at(t: number): Amount | undefined {
    while (t >= this.#end) this.#next();
    return t >= this.#start ? this.#amount : undefined;
  }

  #next(): void {
    const { every, lasts } = this.#layer;
    this.#start = this.#end + this.#draw.real(...every);
    this.#end = this.#start + this.#draw.real(...lasts);
    this.#amount = {};
    for (const key of AMOUNTS) {
      const range = this.#layer[key];
      if (range) this.#amount[key] = this.#draw.real(...range);
    }
  }
}
