import { DEBUG, RECOVER } from '../files/debug.ts';
import { type ComputeMode, MODELS } from '../models.ts';
import type { Counters, Gpu, NodeDescription } from '../node.ts';
import { validModes } from '../partitions.ts';
import { defaultSettings, firmwareDefaults } from '../settings.ts';
import { holdsKfd, relist } from './compute-partition.ts';
import { withDifference } from './difference.ts';
import { refused, type WriteResult } from './result.ts';
import { treeIndex } from './tree-index.ts';

/** Files whose reading does something, as a pattern: `*` is one part of a path. A collector never opens them. */
export const READS_WITH_EFFECT: readonly string[] = [`${DEBUG}/*/${RECOVER}`];

/**
 * What reading such a file does, before it answers: the GPU is reset with all others of its hive. Any other file answers as it
 * is, and nothing happens.
 */
export function readFile(node: NodeDescription, path: string): WriteResult {
  const file = treeIndex(node).resolve(path);
  if (file === undefined) return refused('ENOENT');
  const gpu = node.gpus.find(({ card }) => file === `${DEBUG}/${card}/${RECOVER}`);
  return gpu ? recoverHive(node, gpu.index) : { ok: true, changed: [] };
}

/** What the driver's recovery does: links between GPUs do not survive the reset of one of them. */
export function recoverHive(node: NodeDescription, index: number): WriteResult {
  const hive = node.gpus[index]?.hive.index;
  return withDifference(node, () => {
    for (const gpu of node.gpus) if (gpu.hive.index === hive) resetGpu(node, gpu.index);
    return [];
  });
}

/**
 * The whole chip starts anew: what its firmware held (level, caps, clock limits, policies, profile) is back at its defaults, and
 * its counters begin at 0. The driver keeps what is its own: partitions, isolation, logging, the memory mode to come.
 */
export function resetGpu(node: NodeDescription, index: number): void {
  const gpu = node.gpus[index];
  if (!gpu) throw new RangeError(`there is no GPU ${index} to reset; the node has ${node.gpus.length}`);
  restart(gpu);
  const { isolation, configView, memoryAtReload, throttleLog } = gpu.settings;
  gpu.settings = {
    ...firmwareDefaults(MODELS[node.model]),
    isolation,
    ...(configView && { configView }),
    ...(memoryAtReload && { memoryAtReload }),
    ...(throttleLog && { throttleLog }),
  };
}

function restart(gpu: Gpu): void {
  gpu.live.throttle = { status: 0, independent: 0n };
  const zero = (value: number | number[]): number | number[] => (typeof value === 'number' ? 0 : value.map(() => 0));
  gpu.counters = Object.fromEntries(
    Object.entries(gpu.counters).map(([key, value]) => [key, zero(value)]),
  ) as unknown as Counters;
}

/**
 * The driver is unloaded and loaded again: a memory mode that was asked for comes into force, all settings are the defaults, and all
 * agents are listed anew. EBUSY while a process has /dev/kfd open.
 */
export function reloadDriver(node: NodeDescription): WriteResult {
  if (holdsKfd(node)) return refused('EBUSY');
  const spec = MODELS[node.model];
  return withDifference(node, () => {
    const removed = node.gpus.reduce((sum, gpu) => sum + gpu.partitions.length, 0);
    for (const gpu of node.gpus) {
      if (gpu.memory) gpu.memory = gpu.settings.memoryAtReload ?? gpu.memory;
      if (gpu.compute && gpu.memory) gpu.compute = validModes(spec, gpu.memory)[0] as ComputeMode;
      gpu.settings = defaultSettings(spec);
      restart(gpu);
    }
    relist(node, removed);
    return [];
  });
}
