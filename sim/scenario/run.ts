import { type Amount, type Layer, type Scenario, type SimEvent, selected } from '../scenario.ts';
import { type Demand, LayerRun, type Stretch } from './curves.ts';
import { AMOUNTS } from './schema.ts';

/** A scenario in time: what it asks of each GPU now, and which of its events fall due. No clock and no files. */

const DAY = 86_400;

export interface LayerDemand {
  layer: Layer;
  /** Position among the layers of the scenario. */
  index: number;
  gpu: number;
  amount: Amount;
}

export interface StretchEdge {
  gpu: number;
  layer: number;
  phase: 'start' | 'end';
  name: string;
  amount: Amount;
}

interface Run {
  layer: Layer;
  index: number;
  gpu: number;
  run: LayerRun;
  stretch?: Stretch;
}

export class ScenarioRun {
  readonly scenario: Scenario;
  readonly #gpus: number;
  readonly #seed: number;
  #runs: Run[] = [];
  #t = 0;
  #round = 0;
  #next = 0;

  constructor(scenario: Scenario, gpus: number, seed: number) {
    this.scenario = scenario;
    this.#gpus = gpus;
    this.#seed = seed;
    this.#begin();
  }

  /** Seconds since this round began. */
  get t(): number {
    return this.#t;
  }

  /** Seconds since the midnight before the scenario's first beginning. */
  get sinceMidnight(): number {
    return this.scenario.start + this.#round * this.scenario.duration + this.#t;
  }

  get timeOfDay(): number {
    return (this.scenario.start + this.#t) % DAY;
  }

  /** Moves on by `dt` seconds. `restarted`: the end was reached and the scenario began anew. */
  advance(dt: number): { events: SimEvent[]; restarted: boolean } {
    this.#t += dt;
    const restarted = this.#t >= this.scenario.duration;
    if (restarted) {
      this.#t -= this.scenario.duration;
      this.#round += 1;
      this.#begin();
    }
    const events: SimEvent[] = [];
    for (let entry = this.scenario.timeline[this.#next]; entry && entry.at <= this.#t; ) {
      events.push(entry.event);
      this.#next += 1;
      entry = this.scenario.timeline[this.#next];
    }
    return { events, restarted };
  }

  /** What every layer asks of every GPU it is for, and which stretches of work began or ended since the last call. */
  demands(): { demands: LayerDemand[]; edges: StretchEdge[] } {
    const moment = { t: this.#t, timeOfDay: this.timeOfDay };
    const demands: LayerDemand[] = [];
    const edges: StretchEdge[] = [];
    for (const run of this.#runs) {
      const demand = run.run.at(moment);
      edges.push(...edgesOf(run, demand));
      if (demand.stretch) run.stretch = demand.stretch;
      else delete run.stretch;
      demands.push({ layer: run.layer, index: run.index, gpu: run.gpu, amount: demand.amount });
    }
    return { demands, edges };
  }

  #begin(): void {
    this.#next = 0;
    this.#runs = this.scenario.load.flatMap((layer, index) =>
      selected(layer.gpus, this.#gpus).map((gpu) => ({
        layer,
        index,
        gpu,
        run: new LayerRun(layer, this.#seed, this.#round, index, gpu),
      })),
    );
  }
}

function edgesOf({ gpu, index: layer, stretch: before }: Run, { stretch: now }: Demand): StretchEdge[] {
  if (before === now || (before?.name === now?.name && before?.amount.busy === now?.amount.busy)) return [];
  const edge = (phase: 'start' | 'end', { name, amount }: Stretch): StretchEdge => ({
    gpu,
    layer,
    phase,
    name,
    amount,
  });
  return [...(before ? [edge('end', before)] : []), ...(now ? [edge('start', now)] : [])];
}

/** Loads add up; no GPU does more than it can. */
export function sum(amounts: readonly Amount[]): Record<keyof Amount, number> {
  const total = { busy: 0, memory: 0, vram: 0, fabric: 0, pcie: 0, video: 0 };
  for (const amount of amounts) {
    // Work that says nothing of its memory traffic is taken to be a training job's: about half of its busy share.
    const { memory = (amount.busy ?? 0) * MEMORY_OF_BUSY } = amount;
    for (const key of AMOUNTS) total[key] += key === 'memory' ? memory : (amount[key] ?? 0);
  }
  for (const key of AMOUNTS) total[key] = Math.min(1, Math.max(0, total[key]));
  return total;
}

export const MEMORY_OF_BUSY = 0.55;
