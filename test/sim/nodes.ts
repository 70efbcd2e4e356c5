import type { NodeOptions } from '../../sim/tree.ts';

/** Every model, and every mode of those that can be divided. */
export const NODES: readonly NodeOptions[] = [
  { model: 'mi100', cards: 4 },
  { model: 'mi100', cards: 1, driver: 'linux-6.1' },
  { model: 'mi210', cards: 8 },
  { model: 'mi210', cards: 2, driver: 'linux-6.1' },
  { model: 'mi250x', cards: 4 },
  { model: 'mi300x', cards: 2 },
  { model: 'mi300x', cards: 2, partition: 'dpx' },
  { model: 'mi300x', cards: 1, partition: 'qpx', memory: 'nps4', driver: 'linux-6.13' },
  { model: 'mi300x', cards: 2, partition: 'cpx', driver: 'linux-6.12' },
  { model: 'mi300x', cards: 2, partition: 'cpx', memory: 'nps4', driver: 'linux-6.19' },
  { model: 'mi300a', cards: 4 },
  { model: 'mi300a', cards: 2, partition: 'tpx' },
  { model: 'mi300a', cards: 1, partition: 'cpx', driver: 'linux-6.19' },
  { model: 'mi325x', cards: 2, gpuMetrics: '1.6' },
  { model: 'mi325x', cards: 1, gpuMetrics: '1.4' },
  { model: 'mi355x', cards: 2 },
  { model: 'mi355x', cards: 2, partition: 'dpx', memory: 'nps2', driver: 'linux-6.16' },
];

export function title({ model, cards, partition, memory, driver, gpuMetrics }: NodeOptions): string {
  return [`${cards} × ${model}`, partition, memory, driver, gpuMetrics && `gpu_metrics ${gpuMetrics}`]
    .filter(Boolean)
    .join(', ');
}
