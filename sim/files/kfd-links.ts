import { MODELS } from '../models.ts';
import type { Gpu, NodeDescription, SimPartition } from '../node.ts';
import type { Directory } from './entry.ts';
import { linkBandwidth, neighbour } from './fabric.ts';

/** Ways between agents: direct ones, and those that lead over the host. Source: drivers/gpu/drm/amd/amdkfd/kfd_crat.c. */

const SOCKET = 1;
const PCIE = 2;
const XGMI = 11;

export interface KfdLink {
  type: number;
  to: number;
  weight: number;
  /** MB/s. */
  min: number;
  max: number;
  sdma: number;
  flags: number;
}

export interface KfdLinks {
  from: number;
  io: KfdLink[];
  p2p: KfdLink[];
}

type Agent = { gpu: Gpu; partition: SimPartition };

export function kfdLinks(node: NodeDescription): Map<number, KfdLinks> {
  const agents: Agent[] = node.gpus
    .flatMap((gpu) => gpu.partitions.map((partition) => ({ gpu, partition })))
    .sort((a, b) => a.partition.kfdNode - b.partition.kfdNode);
  const all = new Map<number, KfdLinks>();
  for (const { numa } of node.sockets) all.set(numa, socketLinks(node, numa, agents));
  for (const agent of agents) all.set(agent.partition.kfdNode, agentLinks(node, agent, agents));
  return all;
}

/** MB/s of the way between a GPU and its socket. On an APU both stand in one package. */
function hostLink(node: NodeDescription, to: number, flags: number): KfdLink {
  const { apu, pcie } = MODELS[node.model];
  if (apu) return { type: XGMI, to, weight: 13, min: 819_200, max: 819_200, sdma: 3, flags };
  return { type: PCIE, to, weight: 20, min: 312, max: ((pcie.speed * pcie.width) / 8) * 1000, sdma: 3, flags };
}

/** A way over the host: its bandwidth is not known to the driver. */
const detour = (to: number, weight: number, flags: number): KfdLink => ({
  type: PCIE,
  to,
  weight,
  min: 0,
  max: 0,
  sdma: 0,
  flags,
});

function socketLinks(node: NodeDescription, numa: number, agents: readonly Agent[]): KfdLinks {
  const io: KfdLink[] = [];
  const p2p: KfdLink[] = [];
  for (const other of node.sockets)
    if (other.numa !== numa) io.push({ type: SOCKET, to: other.numa, weight: 32, min: 0, max: 0, sdma: 0, flags: 0 });
  for (const { gpu, partition } of agents) {
    if (gpu.numa === numa) io.push(hostLink(node, partition.kfdNode, 3));
    else p2p.push(detour(partition.kfdNode, 52, 3));
  }
  return { from: numa, io, p2p };
}

function agentLinks(node: NodeDescription, { gpu, partition }: Agent, agents: readonly Agent[]): KfdLinks {
  const io: KfdLink[] = [hostLink(node, gpu.numa, 1)];
  const p2p: KfdLink[] = node.sockets.filter(({ numa }) => numa !== gpu.numa).map(({ numa }) => detour(numa, 52, 1));
  for (const other of agents) {
    const to = other.partition.kfdNode;
    if (to === partition.kfdNode) continue;
    const link = fabricLink(node, gpu, other.gpu, to);
    if (link) io.push(link);
    else p2p.push(detour(to, gpu.numa === other.gpu.numa ? 40 : 72, 3));
  }
  return { from: partition.kfdNode, io, p2p };
}

/** Weight of one hop between GPUs; between partitions of one GPU; between divided GPUs, whose share of a link is not known. */
const HOP = 15;
const INSIDE = 13;
const DIVIDED = 41;

function fabricLink(node: NodeDescription, from: Gpu, toGpu: Gpu, to: number): KfdLink | undefined {
  const common = { type: XGMI, to, sdma: 3, flags: 1 };
  if (from === toGpu) return { ...common, weight: INSIDE, min: 819_200, max: 819_200 };
  const way = neighbour(node, from, toGpu);
  if (!way) return undefined;
  if (from.partitions.length > 1 || toGpu.partitions.length > 1) return { ...common, weight: DIVIDED, min: 0, max: 0 };
  const bandwidth = linkBandwidth(node);
  return { ...common, weight: HOP * way.hops, min: way.links ? bandwidth : 0, max: way.links * bandwidth };
}

export function writeLinks(dir: Directory, links: KfdLinks | undefined): void {
  for (const [kind, list] of [
    ['io_links', links?.io ?? []],
    ['p2p_links', links?.p2p ?? []],
  ] as const)
    for (const [index, link] of list.entries())
      dir.raw(
        `${kind}/${index}/properties`,
        `type ${link.type}\nversion_major 0\nversion_minor 0\nnode_from ${links?.from}\nnode_to ${link.to}\n` +
          `weight ${link.weight}\nmin_latency 0\nmax_latency 0\nmin_bandwidth ${link.min}\nmax_bandwidth ${link.max}\n` +
          `recommended_transfer_size 0\nrecommended_sdma_engine_id_mask ${link.sdma}\nflags ${link.flags}\n`,
      );
}
