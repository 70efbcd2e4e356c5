import { newGpu, partitionable } from './describe-gpu.ts';
import { type DriverGeneration, since } from './driver.ts';
import { type ComputeMode, type MemoryMode, MODELS, type ModelSpec } from './models.ts';
import type { CpuSocket, NodeDescription, NodeOptions } from './node.ts';
import { layOutPartitions, partitionsOf, partitionXccs, validModes } from './partitions.ts';
import { describeProcesses, type ProcessOptions } from './process.ts';
import { type Random, random } from './random.ts';

/** 2025-10-01 00:00 UTC: the simulated nodes start after it, so that nothing depends on the clock of the machine. */
const FIRST_BOOT = 1_759_276_800;

/** Revision of gpu_metrics by generation of the driver, MI300 and MI350. */
const METRICS: Record<DriverGeneration, string> = {
  'linux-6.1': '1.4',
  'linux-6.12': '1.5',
  'linux-6.13': '1.7',
  'linux-6.16': '1.8',
  'linux-6.19': '1.9',
};

export function describeNode(options: NodeOptions): NodeDescription {
  const spec = MODELS[options.model];
  const seed = options.seed ?? 1;
  const driver = options.driver ?? defaultDriver(options);
  const total = options.cards * spec.dies;
  check(options, spec, driver, total);
  const draw = random(seed, 'node');
  const sockets = describeSockets(spec);
  const boot = {
    id: uuid(draw),
    time: FIRST_BOOT + draw.int(0, 90 * 86_400),
    uptime: draw.real(3 * 86_400, 40 * 86_400, 2),
  };
  const processes = describeProcesses(options.processes ?? trainers(spec, total, options.partition));
  const node: NodeDescription = {
    model: options.model,
    driver,
    gpuMetrics: options.gpuMetrics ?? (partitionable(spec) ? METRICS[driver] : '1.3'),
    ...(options.outOfTree !== undefined && { outOfTree: options.outOfTree }),
    seed,
    boot,
    sockets,
    gpus: [],
    processes,
    generation: 1 + total,
  };
  node.gpus = Array.from({ length: total }, (_, index) => newGpu(node, index, total, options));
  layOutPartitions(node);
  checkProcesses(node);
  return node;
}

function defaultDriver({ model, gpuMetrics }: NodeOptions): DriverGeneration {
  if (!partitionable(MODELS[model])) return 'linux-6.16';
  switch (gpuMetrics) {
    case undefined:
      return model === 'mi355x' ? 'linux-6.19' : 'linux-6.16';
    case '1.4':
    case '1.5':
      return 'linux-6.12';
    case '1.6':
    case '1.7':
      return 'linux-6.13';
    case '1.8':
      return 'linux-6.16';
    default:
      return 'linux-6.19';
  }
}

const REVISIONS: Record<ModelSpec['family'], readonly string[]> = {
  mi100: ['1.0', '1.1', '1.3'],
  mi200: ['1.1', '1.2', '1.3'],
  mi300: ['1.4', '1.5', '1.6', '1.7', '1.8', '1.9'],
  mi350: ['1.7', '1.8', '1.9'],
};

function check(options: NodeOptions, spec: ModelSpec, driver: DriverGeneration, total: number): void {
  const { model, cards, partition, memory, gpuMetrics } = options;
  const most = spec.addresses.length / spec.dies;
  if (!Number.isInteger(cards) || cards < 1 || cards > most) fail(`${model}: cards must be 1 to ${most}, not ${cards}`);
  if (!partitionable(spec) && (partition || memory)) fail(`${model} cannot be partitioned`);
  const nps: MemoryMode = memory ?? 'nps1';
  if (memory && !spec.memoryModes.includes(memory)) fail(`${model} has no memory mode ${memory}`);
  const mode = partition ?? 'spx';
  if (partitionable(spec) && !validModes(spec, nps).includes(mode)) fail(`${model} has no mode ${mode} in ${nps}`);
  if (gpuMetrics && !REVISIONS[spec.family].includes(gpuMetrics))
    fail(`${model} never wrote gpu_metrics ${gpuMetrics}`);
  const oldest = { mi100: 'linux-6.1', mi200: 'linux-6.1', mi300: 'linux-6.12', mi350: 'linux-6.13' } as const;
  if (!since(driver, oldest[spec.family])) fail(`${model} needs ${oldest[spec.family]} or later`);
  for (const process of options.processes ?? [])
    for (const use of process.gpus ?? [])
      if (use.gpu < 0 || use.gpu >= total) fail(`a process uses GPU ${use.gpu}; the node has ${total}`);
}

function checkProcesses(node: NodeDescription): void {
  for (const process of node.processes)
    for (const use of process.gpus)
      if (!node.gpus[use.gpu]?.partitions[use.partition])
        fail(`process ${process.pid} uses partition ${use.partition} of GPU ${use.gpu}, which does not exist`);
}

function fail(message: string): never {
  throw new RangeError(message);
}

function describeSockets(spec: ModelSpec): CpuSocket[] {
  const { sockets, cores, memory, mhz } = spec.cpu;
  return Array.from({ length: sockets }, (_, numa) => {
    const first = numa * cores;
    const sibling = sockets * cores + first;
    return {
      numa,
      cpus: `${first}-${first + cores - 1},${sibling}-${sibling + cores - 1}`,
      threads: 2 * cores,
      memory,
      mhz,
    };
  });
}

/** One training process on the first partition of each GPU but the last, which stays idle. */
function trainers(spec: ModelSpec, total: number, mode: ComputeMode | undefined): ProcessOptions[] {
  const busy = Math.max(1, total - 1);
  const dies = partitionXccs(spec, mode, 0).length;
  const memory = spec.vram / partitionsOf(spec, mode);
  return Array.from({ length: busy }, (_, gpu) => ({
    comm: 'python3',
    cmdline: ['python3', 'train.py', '--local-rank', String(gpu)],
    age: 5400,
    environ: { LOCAL_RANK: String(gpu), WORLD_SIZE: String(busy) },
    gpus: [
      {
        gpu,
        vram: Math.floor((memory * (0.42 + 0.05 * (gpu % 4))) / 2 ** 21) * 2 ** 21,
        gtt: 24 * 2 ** 20,
        sdma: 1_250_000 + 10_000 * gpu,
        // Sampled on one die and multiplied.
        cuOccupancy: Math.floor(spec.cusPerXcc * 0.9) * dies,
        queues: ['compute', 'sdma'],
      },
    ],
  }));
}

/** A random UUID of version 4, as /proc/sys/kernel/random/boot_id is. */
function uuid(draw: Random): string {
  const hex = (draw.bits64().toString(16).padStart(16, '0') + draw.bits64().toString(16).padStart(16, '0')).split('');
  hex[12] = '4';
  hex[16] = '89ab'[Number.parseInt(hex[16] as string, 16) % 4] as string;
  const text = hex.join('');
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-');
}
