import { gfxName, kfdNumber, kfdPciAddress, parseProperties } from './formats/kfd.ts';
import { parseUint, parseWord } from './formats/scalar.ts';
import type { LanePool } from './lanes/pool.ts';
import type { Entry, FileResult, Item } from './lanes/protocol.ts';
import type { Paths } from './paths.ts';
import { isOurFault } from './raw.ts';

export type Properties = ReadonlyMap<string, bigint>;

/** One GPU node of the KFD topology: a GPU, or one partition of it. */
export interface KfdNode {
  node: number;
  /** Names files below kfd/proc. 0 where the file is missing. */
  gpuId: number;
  name: string;
  props: Properties;
  /** gfx90a, gfx942, …; empty where the driver does not say. */
  gfx: string;
  pci?: string;
  partition: number;
  renderMinor?: number;
  memBanks: Properties[];
  /** File with the bytes in use of its video memory; out-of-tree and old drivers only. */
  usedMemory?: string;
  ioLinks: Properties[];
  p2pLinks: Properties[];
  /** Caches of one level and kind are alike: how many there are, and the size of one. Empty until they were read. */
  caches: CacheKind[];
}

export interface CacheKind {
  level: number;
  kind: 'data' | 'instruction' | 'unified';
  bytes: number;
  count: number;
}

export interface Topology {
  nodes: KfdNode[];
  complete: boolean;
}

const ASK = 2000;
const SUBS = ['mem_banks', 'io_links', 'p2p_links'] as const;

/**
 * Reads the topology's GPU nodes but for their caches. CPU nodes are left out, and nodes that a device cgroup hides (EPERM).
 * Not complete where some of it did not answer: its lock can be held by a reset that hangs.
 * Source: torvalds/linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c.
 */
export async function surveyKfd(pool: LanePool, paths: Paths, nodes: Entry[]): Promise<Topology> {
  const base = `${paths.sysfs}/class/kfd/kfd/topology/nodes`;
  const numbers = nodes
    .filter((entry) => /^\d+$/.test(entry.name))
    .map((entry) => Number(entry.name))
    .sort((a, b) => a - b);
  if (numbers.length === 0) return { nodes: [], complete: true };
  const dirs = numbers.map((n) => `${base}/${n}`);
  const heads = await ask(
    pool,
    dirs.map((dir) => ({ op: 'read', files: ['gpu_id', 'name', 'properties'].map((f) => `${dir}/${f}`) })),
  );
  const found = numbers
    .map((node, i) => nodeOf(node, heads[i] ?? []))
    .map((node, i) => ({ node, dir: dirs[i] as string }))
    .filter((one): one is { node: KfdNode; dir: string } => one.node !== undefined);
  const subs = found.map(({ node }) => subsOf(node));
  const lists = await pool.run(
    found.map(({ dir }, i) => ({
      owner: 'kfd',
      item: { op: 'list', dirs: subs[i]?.map((sub) => `${dir}/${sub}`) ?? [] },
    })),
    ASK,
  );
  const details = await ask(
    pool,
    found.map(({ dir }, i) => ({
      op: 'read',
      files: detailFiles(dir, subs[i] ?? [], lists[i]).map((file) => file.path),
    })),
  );
  found.forEach(({ node, dir }, i) => {
    detailFiles(dir, subs[i] ?? [], lists[i]).forEach((file, k) => {
      const text = textOf(details[i]?.[k]);
      if (text !== undefined) add(node, file.sub, parseProperties(text));
    });
  });
  const used = found.map(({ dir }) => `${dir}/mem_banks/0/used_memory`);
  const answers = await ask(pool, used.length === 0 ? [] : [{ op: 'read', files: used }]);
  const listed = lists.every((list) => list.op === 'list' && !list.dirs.some(isOurFault));
  const complete = listed && !heads.includes(undefined) && !details.includes(undefined);
  const gpus = found.map(({ node }, i) => ({
    ...node,
    ...(textOf(answers[0]?.[i]) === undefined ? {} : { usedMemory: used[i] as string }),
  }));
  return { nodes: gpus, complete };
}

function nodeOf(number: number, files: readonly FileResult[]): KfdNode | undefined {
  const gpuId = parseUint(textOf(files[0]) ?? '');
  const text = textOf(files[2]);
  const props = parseProperties(text ?? '');
  const isGpu = gpuId === undefined ? (props.get('simd_count') ?? 0n) > 0n : gpuId !== 0;
  if (!isGpu) return undefined;
  const place = kfdPciAddress(props);
  const minor = Number(props.get('drm_render_minor') ?? 0n);
  return {
    node: number,
    gpuId: gpuId ?? 0,
    name: parseWord(textOf(files[1]) ?? '') ?? '',
    props,
    gfx: gfxName(kfdNumber(props, 'gfx_target_version')) ?? '',
    ...(place === undefined ? {} : { pci: place.pci }),
    partition: place?.partition ?? 0,
    ...(minor > 0 ? { renderMinor: minor } : {}),
    memBanks: [],
    ioLinks: [],
    p2pLinks: [],
    caches: [],
  };
}

type Sub = (typeof SUBS)[number];

/** Partitions of a card share its links, and each lists those to all others: they are read for the first one only. */
function subsOf(node: KfdNode): readonly Sub[] {
  return node.partition === 0 ? SUBS : SUBS.filter((sub) => !sub.endsWith('links'));
}

function detailFiles(
  dir: string,
  subs: readonly Sub[],
  listing: { op: string; dirs?: (Entry[] | number)[] } | undefined,
): { sub: Sub; path: string }[] {
  const out: { sub: Sub; path: string }[] = [];
  subs.forEach((sub, i) => {
    const entries = listing?.dirs?.[i];
    if (entries === undefined || typeof entries === 'number') return;
    for (const entry of entries) out.push({ sub, path: `${dir}/${sub}/${entry.name}/properties` });
  });
  return out;
}

function add(node: KfdNode, sub: Sub, properties: Properties): void {
  if (sub === 'mem_banks') node.memBanks.push(properties);
  else if (sub === 'io_links') node.ioLinks.push(properties);
  else node.p2pLinks.push(properties);
}

async function ask(pool: LanePool, items: Item[]): Promise<(readonly FileResult[] | undefined)[]> {
  const outcomes = await pool.run(
    items.map((item) => ({ owner: 'kfd', item })),
    ASK,
  );
  return outcomes.map((outcome) =>
    outcome.op === 'read' && !outcome.files.some(isOurFault) ? outcome.files : undefined,
  );
}

function textOf(result: FileResult | undefined): string | undefined {
  return result === undefined || typeof result === 'number' ? undefined : Buffer.from(result).toString('utf8');
}
