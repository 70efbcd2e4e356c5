import { MODELS } from '../models.ts';
import { type SimEvent, selected } from '../scenario.ts';
import type { NodeDescription } from '../tree.ts';

/** What surrounds the GPUs and what has befallen them: changed by events, and by time. No files. */

export type Health = 'ok' | 'hung' | 'gone' | 'asleep' | 'resetting' | 'restarting';

/** From a reset on: until the chip answers again, and until the jobs are started again. */
const RESET_S = 3;
const RESTART_S = 10;
const PAGE = 4096;

interface Storm {
  gpu: number;
  block: string;
  severity: 'ce' | 'ue' | 'de';
  /** Errors that are still to come, and in how many seconds. */
  left: number;
  seconds: number;
  /** Pages that are still to be retired. */
  pages: number;
  due: number;
}

/** Events that the loop itself must carry out, for they go through the driver, or reach jobs. */
export type DriverEvent = Extract<SimEvent, { event: 'reset' | 'foreign_cap' | 'repartition' }>;
export type JobEvent = Extract<SimEvent, { event: 'signal' | 'restart' }>;
export const isDriverEvent = (event: SimEvent): event is DriverEvent =>
  event.event === 'reset' || event.event === 'foreign_cap' || event.event === 'repartition';
export const isJobEvent = (event: SimEvent): event is JobEvent => event.event === 'signal' || event.event === 'restart';
type WorldEvent = Exclude<SimEvent, DriverEvent | JobEvent>;

export class World {
  readonly node: NodeDescription;
  readonly blocked = new Map<number, number>();
  readonly hung = new Set<number>();
  readonly gone = new Set<number>();
  /** Busy share set by hand, by GPU. */
  readonly held = new Map<number, number>();
  ambient: number;
  readonly #restarting = new Map<number, number>();
  #drift: { to: number; seconds: number } | undefined;
  #storms: Storm[] = [];

  constructor(node: NodeDescription, ambient: number) {
    this.node = node;
    this.ambient = ambient;
  }

  health(gpu: number): Health {
    if (this.gone.has(gpu)) return 'gone';
    if (this.node.gpus[gpu]?.live.runtimeStatus === 'suspended') return 'asleep';
    if (this.hung.has(gpu)) return 'hung';
    if (this.node.gpus[gpu]?.live.inReset) return 'resetting';
    return this.#restarting.has(gpu) ? 'restarting' : 'ok';
  }

  /** A room as it was at the start, and all GPUs back in it. Errors that were counted stay. */
  restart(ambient: number): void {
    this.ambient = ambient;
    this.#drift = undefined;
    this.#storms = [];
    for (const set of [this.blocked, this.hung, this.gone, this.held, this.#restarting]) set.clear();
    for (const { live } of this.node.gpus) {
      live.runtimeStatus = 'active';
      live.inReset = false;
    }
  }

  /** One sentence about what it did. */
  apply(event: WorldEvent): string {
    if (event.event === 'ambient') return this.#setAmbient(event.celsius, event.over);
    const gpus = selected(event.gpus, this.node.gpus.length);
    for (const gpu of gpus) this.#one(event, gpu);
    return `${event.event}: GPU ${gpus.join(', ')}`;
  }

  /** The chip comes up again, and after it its jobs. */
  wasReset(gpu: number): void {
    this.hung.delete(gpu);
    this.#restarting.set(gpu, RESTART_S);
    const live = this.node.gpus[gpu]?.live;
    if (live) live.inReset = true;
  }

  /** Whether a GPU changed its health meanwhile. */
  advance(dt: number): boolean {
    this.#drift = this.#drifted(dt);
    let changed = false;
    for (const [gpu, left] of this.#restarting) {
      if (left > dt) this.#restarting.set(gpu, left - dt);
      else this.#restarting.delete(gpu);
      const live = this.node.gpus[gpu]?.live;
      const up = left - dt <= RESTART_S - RESET_S;
      changed ||= left <= dt || (live?.inReset === true && up);
      if (live && up) live.inReset = false;
    }
    for (const storm of this.#storms) this.#rain(storm, dt);
    this.#storms = this.#storms.filter(({ left }) => left > 0);
    return changed;
  }

  #setAmbient(celsius: number, over: number): string {
    if (over <= 0) {
      this.ambient = celsius;
      this.#drift = undefined;
      return `the room has ${celsius} °C`;
    }
    this.#drift = { to: celsius, seconds: over };
    return `the room goes from ${this.ambient.toFixed(1)} to ${celsius} °C within ${over} s`;
  }

  #drifted(dt: number): { to: number; seconds: number } | undefined {
    if (this.#drift === undefined) return undefined;
    const { to, seconds } = this.#drift;
    this.ambient += (to - this.ambient) * Math.min(1, dt / seconds);
    return seconds > dt ? { to, seconds: seconds - dt } : undefined;
  }

  #one(event: Exclude<WorldEvent, { event: 'ambient' }>, gpu: number): void {
    const live = this.node.gpus[gpu]?.live;
    switch (event.event) {
      case 'load':
        if (event.busy === 'auto') this.held.delete(gpu);
        else this.held.set(gpu, event.busy);
        return;
      case 'block':
        if (event.cooling >= 1) this.blocked.delete(gpu);
        else this.blocked.set(gpu, event.cooling);
        return;
      case 'hang':
        this.hung.add(gpu);
        return;
      case 'unhang':
        this.hung.delete(gpu);
        return;
      case 'vanish':
        this.gone.add(gpu);
        return;
      case 'return':
        this.gone.delete(gpu);
        return;
      case 'suspend':
        if (live) live.runtimeStatus = 'suspended';
        return;
      case 'resume':
        if (live) live.runtimeStatus = 'active';
        return;
      default:
        this.#storm(event, gpu);
    }
  }

  #storm(event: Extract<SimEvent, { event: 'ecc' }>, gpu: number): void {
    const { block, severity, count, over, retire } = event;
    const storm: Storm = { gpu, block, severity, left: count, seconds: over, pages: retire, due: 0 };
    if (over > 0) this.#storms.push(storm);
    else this.#rain(storm, 1);
  }

  /** As many errors as fall due in `dt`, evenly; the rest of one waits for the next step. */
  #rain(storm: Storm, dt: number): void {
    const share = storm.seconds > dt ? dt / storm.seconds : 1;
    storm.due += share >= 1 ? storm.left : storm.left * share;
    storm.seconds -= dt;
    const now = share >= 1 ? storm.left : Math.floor(storm.due);
    storm.due -= now;
    storm.left -= now;
    if (now > 0) this.#count(storm, now);
  }

  #count(storm: Storm, count: number): void {
    const gpu = this.node.gpus[storm.gpu];
    const counts = gpu?.ras.blocks[storm.block];
    if (!gpu || !counts) return;
    counts[storm.severity] += count;
    if (storm.severity === 'ue') gpu.ras.events.poisonConsumption += count;
    if (storm.severity === 'de') gpu.ras.events.poisonCreation += count;
    for (; storm.pages > 0; storm.pages--) {
      // Spread over the memory by a stride that never meets a page twice.
      const frames = Math.floor(MODELS[this.node.model].vram / PAGE);
      const page = ((gpu.ras.badPages.length + 1) * 0x1a2b3d) % frames;
      gpu.ras.badPages.push({ page, size: PAGE, flag: 'R' });
    }
  }
}
