import { hiveOf, linkBandwidth, neighbour } from '../files/fabric.ts';
import { MODELS, type ModelSpec } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import { count, countAt, TICKS_PER_SECOND } from './counters.ts';
import { amount, IDLE, type Load } from './load.ts';
import type { CardPhysics } from './state.ts';

/** Bytes between GPUs and over PCIe. Only the tables of MI300 and later count them. */

export function countsTraffic(spec: ModelSpec): boolean {
  return spec.family === 'mi300' || spec.family === 'mi350';
}

const KILOBYTE = 1024;
const GIGABYTE = 1e9;
/** 128 of 130 bits of a PCIe 3.0 to 5.0 link are payload. */
const PCIE_CODING = 128 / 130;

/** What one GPU sends over each of its links in bytes a second: even shares, no more than a link carries. */
export function bytesPerLink(node: NodeDescription, gpu: Gpu, load: Load): number {
  const links = hiveOf(node, gpu).reduce((sum, other) => sum + (neighbour(node, gpu, other)?.links ?? 0), 0);
  return links > 0 ? Math.min(amount(load.fabric) / links, linkBandwidth(node) * 1e6) : 0;
}

/** Counts what the GPU sends, and as read what the others send to it, by firmware link: the links to each other in hive order. */
export function countTraffic(
  node: NodeDescription,
  gpu: Gpu,
  card: CardPhysics,
  loads: ReadonlyMap<number, Load>,
  seconds: number,
): void {
  const spec = MODELS[node.model];
  if (!countsTraffic(spec)) return;
  countPcie(spec, gpu, card, loads.get(gpu.index) ?? IDLE, seconds);
  const kilobytes = (from: Gpu): number =>
    (bytesPerLink(node, from, loads.get(from.index) ?? IDLE) * seconds) / KILOBYTE;
  const sent = kilobytes(gpu);
  let link = 0;
  for (const other of hiveOf(node, gpu)) {
    const links = neighbour(node, gpu, other)?.links ?? 0;
    const received = links > 0 ? kilobytes(other) : 0;
    for (let i = 0; i < links; i++, link++) {
      countAt(gpu.counters, card.rests, 'xgmiWrite', link, sent);
      countAt(gpu.counters, card.rests, 'xgmiRead', link, received);
    }
  }
}

/** An APU has no PCIe link of its own. Both directions of the link together are the most that it carries. */
function countPcie(spec: ModelSpec, { live, counters }: Gpu, card: CardPhysics, load: Load, seconds: number): void {
  const most = spec.apu ? 0 : (2 * live.link.speed * live.link.width * PCIE_CODING) / 8;
  const rate = Math.min(amount(load.pcie) / GIGABYTE, most);
  counters.pcieSample = Math.round(rate);
  count(counters, card.rests, 'pcieBandwidth', rate * seconds * TICKS_PER_SECOND);
}
