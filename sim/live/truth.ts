import { join } from 'node:path';
import type { Gpu } from '../tree.ts';
import type { ServerState } from './inference.ts';
import { Journal } from './journal.ts';

/** What really happened, for judging those who look at the node from outside. */

/** One line of truth.jsonl. */
export type TruthLine = TruthTime & ({ event: string; [key: string]: unknown } | { second: Summary });

interface TruthTime {
  /** Of the node: what its own clock would show. */
  time: string;
  /** Seconds since the node came to life, in its own time. */
  t: number;
  /** Of the machine that it runs on, ms since the epoch. */
  at: number;
}

/** By GPU. */
export interface Summary {
  /** Share of the dies' time, 0 to 1. */
  busy: number[];
  /** Share of the dies' time that was asked for: above `busy` where the GPU could not follow. */
  demand: number[];
  /** Watts, °C, MHz, bytes. */
  power: number[];
  junction: number[];
  memory: number[];
  clock: number[];
  vram: number[];
  /** Joules since the node came to life, in its own time. */
  energy: number[];
  health: string[];
  ambient: number;
  /** Where there are inference servers. */
  inference?: readonly ServerState[];
}

const LIMIT = 64 * 2 ** 20;
/** Events that are kept in memory too. */
const KEPT = 10_000;

export class Truth {
  readonly #journal: Journal;
  readonly events: TruthLine[] = [];

  constructor(dir: string, limit = LIMIT) {
    this.#journal = new Journal(join(dir, 'truth.jsonl'), limit);
  }

  event(time: TruthTime, event: string, more: Readonly<Record<string, unknown>> = {}): void {
    const line: TruthLine = { ...time, event, ...more };
    this.events.push(line);
    if (this.events.length > KEPT) this.events.shift();
    this.#journal.add(JSON.stringify(line));
  }

  second(time: TruthTime, second: Summary): void {
    this.#journal.add(JSON.stringify({ ...time, second }));
  }

  close(): void {
    this.#journal.close();
  }
}

export interface SummarySource {
  gpus: readonly Gpu[];
  demand: (gpu: number) => number;
  energy: (gpu: number) => number;
  health: (gpu: number) => string;
  ambient: number;
  inference: readonly ServerState[];
}

export function summary({ gpus, demand, energy, health, ambient, inference }: SummarySource): Summary {
  const each = (value: (gpu: Gpu) => number, digits = 0): number[] =>
    gpus.map((gpu) => Number(value(gpu).toFixed(digits)));
  return {
    busy: each(({ live }) => live.gfxBusy.reduce((sum, busy) => sum + busy, 0) / live.gfxBusy.length / 100, 3),
    demand: each(({ index }) => demand(index), 3),
    power: each(({ live }) => live.power, 1),
    junction: each(({ live }) => live.temperature.junction, 1),
    memory: each(({ live }) => live.temperature.mem, 1),
    clock: each(({ live }) => live.clock.gfx[0] ?? 0),
    vram: each(({ live }) => live.vramUsed),
    energy: each(({ index }) => energy(index), 1),
    health: gpus.map(({ index }) => health(index)),
    ambient: Number(ambient.toFixed(2)),
    ...(inference.length > 0 && { inference }),
  };
}
