import { hiveOf, linkBandwidth, neighbour } from '../files/fabric.ts';
import { MODELS } from '../models.ts';
import { type LayerDemand, MEMORY_OF_BUSY, sum } from '../scenario/run.ts';
import type { Amount } from '../scenario.ts';
import type { Gpu, NodeDescription } from '../tree.ts';
import type { Load } from './contracts.ts';
import type { Jobs, LiveJob } from './jobs.ts';
import type { World } from './world.ts';

/** From what a scenario or a hand asks of the GPUs to loads in bytes, and to what the processes show of them. */

const IDLE: Load = { gfx: 0, mem: 0, vram: 0 };
/** Device memory is given out in pieces of this size. */
const PIECE = 2 ** 21;
/** Share of the shader time in which a job's copy engines are at work too. */
const COPY_SHARE = 0.02;

/** What the described node does by itself, where no scenario says otherwise. */
export function presentAmounts(node: NodeDescription): Amount[] {
  const spec = MODELS[node.model];
  return node.gpus.map((gpu) => ({
    busy: gpu.live.gfxBusy.reduce((total, percent) => total + percent, 0) / gpu.live.gfxBusy.length / 100,
    memory: gpu.live.memBusy / 100,
    vram: vramHeld(node, gpu) / spec.vram,
  }));
}

function vramHeld(node: NodeDescription, gpu: Gpu): number {
  const uses = node.processes.flatMap((process) => process.gpus).filter((use) => use.gpu === gpu.index);
  return uses.reduce((total, use) => total + use.vram, 0);
}

/** Loads of all GPUs. A GPU that is away, hung, asleep or coming up does nothing; a hung one keeps its memory. */
export function loadsOf(world: World, amounts: readonly Amount[]): Map<number, Load> {
  const { node } = world;
  const spec = MODELS[node.model];
  const loads = new Map<number, Load>();
  for (const gpu of node.gpus) {
    const amount = sum([amounts[gpu.index] ?? {}]);
    const held = world.held.get(gpu.index);
    const health = world.health(gpu.index);
    const vram = Math.floor((amount.vram * spec.vram) / PIECE) * PIECE;
    if (health !== 'ok') {
      loads.set(gpu.index, health === 'hung' ? { ...IDLE, vram } : IDLE);
      continue;
    }
    loads.set(gpu.index, {
      gfx: held ?? amount.busy,
      mem: held === undefined ? amount.memory : held * MEMORY_OF_BUSY,
      video: amount.video,
      fabric: amount.fabric * fabricBandwidth(node, gpu),
      pcie: (amount.pcie * spec.pcie.speed * spec.pcie.width * 1e9) / 8,
      vram,
    });
  }
  return loads;
}

/** Bytes a second that a GPU can send to the others of its hive. */
export function fabricBandwidth(node: NodeDescription, gpu: Gpu): number {
  const links = hiveOf(node, gpu).reduce((total, other) => total + (neighbour(node, gpu, other)?.links ?? 0), 0);
  return links * linkBandwidth(node) * 1e6;
}

/** What the layers ask of each GPU, together. */
export function amountsOf(demands: readonly LayerDemand[], gpus: number): Amount[] {
  return Array.from({ length: gpus }, (_, gpu) =>
    sum(demands.filter((demand) => demand.gpu === gpu).map(({ amount }) => amount)),
  );
}

/** Lets the processes show what their GPUs do: memory by layer, copy time, occupancy, age. */
export class Processes {
  readonly #node: NodeDescription;
  readonly #jobs: Jobs;

  constructor(node: NodeDescription, jobs: Jobs) {
    this.#node = node;
    this.#jobs = jobs;
  }

  move(world: World, demands: readonly LayerDemand[], loads: ReadonlyMap<number, Load>, seconds: number): void {
    for (const process of this.#node.processes) {
      process.age += seconds;
      const job = this.#jobs.of(process.pid);
      const busy = job === undefined || isBusy(job, demands);
      for (const use of process.gpus) {
        const gpu = this.#node.gpus[use.gpu];
        if (!gpu) continue;
        const share = busy ? (loads.get(use.gpu)?.gfx ?? 0) : 0;
        if (job) use.vram = this.#vram(world, gpu, job.granted);
        use.sdma += Math.round(share * COPY_SHARE * seconds * 1e6);
        use.cuOccupancy = use.vram > 0 ? this.#occupancy(gpu, use.partition, share) : 0;
      }
    }
  }

  #vram(world: World, gpu: Gpu, bytes: number): number {
    const health = world.health(gpu.index);
    if (health !== 'ok' && health !== 'hung') return 0;
    return Math.floor(bytes / gpu.partitions.length / PIECE) * PIECE;
  }

  /** Sampled on one die and multiplied. */
  #occupancy(gpu: Gpu, partition: number, share: number): number {
    const { cusPerXcc } = MODELS[this.#node.model];
    return Math.round(cusPerXcc * share) * (gpu.partitions[partition]?.xccs.length ?? 0);
  }
}

const isBusy = ({ layer, gpu }: LiveJob, demands: readonly LayerDemand[]): boolean =>
  (demands.find((demand) => demand.index === layer && demand.gpu === gpu)?.amount.busy ?? 0) > 0;
