import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNode, type NodeDescription, type NodeOptions, writeTree } from '../../sim/tree.ts';

/** Every model in every mode that the simulator can write, with each revision of gpu_metrics that its family has had. */
export const GOLDEN_NODES: Readonly<Record<string, NodeOptions>> = {
  'mi100-1.0': { model: 'mi100', cards: 1, gpuMetrics: '1.0', driver: 'linux-6.1' },
  'mi100-1.1': { model: 'mi100', cards: 1, gpuMetrics: '1.1', driver: 'linux-6.1' },
  'mi100-1.3': { model: 'mi100', cards: 2 },
  'mi210-1.1': { model: 'mi210', cards: 1, gpuMetrics: '1.1', driver: 'linux-6.1' },
  'mi210-1.2': { model: 'mi210', cards: 1, gpuMetrics: '1.2', driver: 'linux-6.1' },
  'mi210-1.3': { model: 'mi210', cards: 2 },
  'mi250x-1.3': { model: 'mi250x', cards: 2 },
  'mi300x-spx-1.4': { model: 'mi300x', cards: 1, gpuMetrics: '1.4' },
  'mi300x-spx-1.5': { model: 'mi300x', cards: 2, gpuMetrics: '1.5' },
  'mi300x-spx-1.6': { model: 'mi300x', cards: 1, gpuMetrics: '1.6' },
  'mi300x-spx-1.7': { model: 'mi300x', cards: 2, gpuMetrics: '1.7' },
  'mi300x-spx-1.8': { model: 'mi300x', cards: 2 },
  'mi300x-spx-1.9': { model: 'mi300x', cards: 2, gpuMetrics: '1.9' },
  'mi300x-dpx-1.8': { model: 'mi300x', cards: 2, partition: 'dpx' },
  'mi300x-dpx-1.9': { model: 'mi300x', cards: 1, partition: 'dpx', gpuMetrics: '1.9' },
  'mi300x-qpx-1.8': { model: 'mi300x', cards: 1, partition: 'qpx', memory: 'nps4' },
  'mi300x-cpx-1.5': { model: 'mi300x', cards: 1, partition: 'cpx', gpuMetrics: '1.5' },
  'mi300x-cpx-1.7': { model: 'mi300x', cards: 1, partition: 'cpx', memory: 'nps4', gpuMetrics: '1.7' },
  'mi300x-cpx-1.8': { model: 'mi300x', cards: 2, partition: 'cpx' },
  'mi300x-cpx-1.9': { model: 'mi300x', cards: 2, partition: 'cpx', gpuMetrics: '1.9' },
  'mi300a-spx-1.8': { model: 'mi300a', cards: 2 },
  'mi300a-spx-1.9': { model: 'mi300a', cards: 1, gpuMetrics: '1.9' },
  'mi300a-tpx-1.8': { model: 'mi300a', cards: 1, partition: 'tpx' },
  'mi300a-tpx-1.9': { model: 'mi300a', cards: 1, partition: 'tpx', gpuMetrics: '1.9' },
  'mi300a-cpx-1.8': { model: 'mi300a', cards: 1, partition: 'cpx' },
  'mi325x-spx-1.8': { model: 'mi325x', cards: 2 },
  'mi325x-spx-1.9': { model: 'mi325x', cards: 1, gpuMetrics: '1.9' },
  'mi355x-spx-1.7': { model: 'mi355x', cards: 1, gpuMetrics: '1.7' },
  'mi355x-spx-1.8': { model: 'mi355x', cards: 1, gpuMetrics: '1.8' },
  'mi355x-spx-1.9': { model: 'mi355x', cards: 2 },
  'mi355x-dpx-1.8': { model: 'mi355x', cards: 1, partition: 'dpx', memory: 'nps2', gpuMetrics: '1.8' },
  'mi355x-qpx-1.9': { model: 'mi355x', cards: 1, partition: 'qpx' },
  'mi355x-cpx-1.9': { model: 'mi355x', cards: 1, partition: 'cpx', memory: 'nps2' },
};

/** A node is thousands of small files. */
const RAM = '/dev/shm';

export interface WrittenNode {
  node: NodeDescription;
  /** Holds sys and proc. */
  tree: string;
  remove(): void;
}

/** A simulated node in a folder of its own. */
export function writtenNode(options: NodeOptions): WrittenNode {
  const node = describeNode(options);
  const tree = mkdtempSync(join(existsSync(RAM) ? RAM : tmpdir(), 'nightshift-tree-'));
  writeTree(tree, node);
  return { node, tree, remove: () => rmSync(tree, { recursive: true, force: true }) };
}
