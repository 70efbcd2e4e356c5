import { decimalBig } from './scalar.ts';
import { lines } from './text.ts';

/**
 * KFD topology: `/sys/class/kfd/kfd/topology/nodes/N/{properties,mem_banks,io_links,p2p_links,caches}` and
 * `system_properties`. Source: `drivers/gpu/drm/amd/amdkfd/kfd_topology.c`, `kfd_topology.h`, `kfd_crat.h`.
 */

/** `key value` a line, values as 64-bit integers: `unique_id` and `hive_id` do not survive a JavaScript number. */
export type KfdProperties = ReadonlyMap<string, bigint>;

/** Lines that are not a key and one decimal number are passed over; keys of other driver generations are kept. */
export function parseProperties(text: string): Map<string, bigint> {
  const properties = new Map<string, bigint>();
  for (const line of lines(text)) {
    const split = line.indexOf(' ');
    const value = split > 0 ? decimalBig(line.slice(split + 1).trim()) : undefined;
    if (value !== undefined) properties.set(line.slice(0, split), value);
  }
  return properties;
}

/** A value that is to be counted with; absent when the key is, or when it passes 2^53 - 1. */
export function kfdNumber(properties: KfdProperties, key: string): number | undefined {
  const value = properties.get(key);
  return value !== undefined && value <= Number.MAX_SAFE_INTEGER ? Number(value) : undefined;
}

/** CPU nodes stand in the same list, with `simd_count 0`. */
export function isGpuNode(properties: KfdProperties): boolean {
  return (properties.get('simd_count') ?? 0n) > 0n;
}

/** Compute units of the node (of the partition, where the GPU is partitioned). */
export function computeUnits(properties: KfdProperties): number | undefined {
  const simds = kfdNumber(properties, 'simd_count');
  const perUnit = kfdNumber(properties, 'simd_per_cu');
  return simds && perUnit ? Math.floor(simds / perUnit) : undefined;
}

/** Most dies (XCC) that one GPU of the partitionable families has. */
const MAX_XCC = 8;
/** gfx942 (MI300 family) and gfx950 (MI350 family). */
const PARTITIONABLE: readonly number[] = [90402, 90500];

/**
 * PCI address and partition number of a GPU node; absent for CPU nodes, without `location_id`, and for a location with bits
 * that have no known meaning.
 *
 * Bits 15:8 are the bus, 7:3 the device, 2:0 the function, 31:28 the partition. Earlier drivers put the partition of gfx942
 * into bits 2:0 instead. There the function is always 0, so low bits on a node of a partitionable family are taken as the
 * partition, unless its dies leave no room for that many partitions (an unpartitioned virtual function behind function 1).
 * `domain` is missing on drivers older than the property; those are taken to be in domain 0.
 */
export function kfdPciAddress(properties: KfdProperties): { pci: string; partition: number } | undefined {
  const location = kfdNumber(properties, 'location_id');
  const domain = properties.has('domain') ? kfdNumber(properties, 'domain') : 0;
  if (!isGpuNode(properties) || location === undefined || domain === undefined) return undefined;
  if (location > 0xffff_ffff || domain > 0xffff_ffff || ((location >>> 16) & 0xfff) !== 0) return undefined;
  let partition = location >>> 28;
  let func = location & 7;
  if (partition === 0 && func > 0 && lowBitsArePartition(properties, func)) {
    partition = func;
    func = 0;
  }
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
  return {
    pci: `${hex(domain, 4)}:${hex((location >> 8) & 0xff, 2)}:${hex((location >> 3) & 31, 2)}.${func}`,
    partition,
  };
}

function lowBitsArePartition(properties: KfdProperties, number: number): boolean {
  const target = kfdNumber(properties, 'gfx_target_version');
  const dies = kfdNumber(properties, 'num_xcc');
  if (target === undefined || !PARTITIONABLE.includes(target) || !dies) return false;
  return (number + 1) * dies <= MAX_XCC;
}

/**
 * `gfx942` from `gfx_target_version` 90402: major, minor and stepping in two decimal digits each; the last two print as one
 * hexadecimal digit each (90010 is gfx90a). Absent for 0 (CPU node, or a driver without the property).
 */
export function gfxName(version: number | undefined): string | undefined {
  if (version === undefined || !Number.isSafeInteger(version) || version <= 0) return undefined;
  const major = Math.floor(version / 10000);
  const minor = Math.floor(version / 100) % 100;
  const stepping = version % 100;
  if (major === 0 || minor > 15 || stepping > 15) return undefined;
  return `gfx${major}${minor.toString(16)}${stepping.toString(16)}`;
}

const HEAPS: ReadonlyMap<bigint | undefined, 'system' | 'vram_public' | 'vram_private'> = new Map([
  [0n, 'system'],
  [1n, 'vram_public'],
  [2n, 'vram_private'],
]);

export interface MemoryBank {
  /** Absent for a heap that is neither system memory nor VRAM (on-chip memories). */
  heap?: 'system' | 'vram_public' | 'vram_private';
  bytes?: number;
  /** Bus width in bits. */
  width?: number;
  /** Highest memory clock. */
  hertz?: number;
}

/** `mem_banks/K/properties`. Bank size is the node's: of the partition, where memory is partitioned. */
export function memoryBank(properties: KfdProperties): MemoryBank {
  const heap = HEAPS.get(properties.get('heap_type'));
  const bytes = kfdNumber(properties, 'size_in_bytes');
  const width = kfdNumber(properties, 'width');
  const megahertz = kfdNumber(properties, 'mem_clk_max');
  return {
    ...(heap && { heap }),
    ...(bytes !== undefined && { bytes }),
    ...(width && { width }),
    ...(megahertz && { hertz: megahertz * 1e6 }),
  };
}

const LINKS: ReadonlyMap<bigint | undefined, 'pcie' | 'xgmi'> = new Map([
  [2n, 'pcie'],
  [11n, 'xgmi'],
]);

export interface IoLink {
  /** Absent for any other kind. */
  kind?: 'pcie' | 'xgmi';
  /** KFD node numbers. */
  from: number;
  to: number;
  weight?: number;
  /** Bytes per second, from the driver's MB/s; absent where it says 0 (not known). */
  minBandwidth?: number;
  maxBandwidth?: number;
}

/** `io_links/K/properties`, `p2p_links/K/properties`. Absent when an end of the link is missing. */
export function ioLink(properties: KfdProperties): IoLink | undefined {
  const from = kfdNumber(properties, 'node_from');
  const to = kfdNumber(properties, 'node_to');
  if (from === undefined || to === undefined) return undefined;
  const kind = LINKS.get(properties.get('type'));
  const weight = kfdNumber(properties, 'weight');
  const slowest = kfdNumber(properties, 'min_bandwidth');
  const fastest = kfdNumber(properties, 'max_bandwidth');
  return {
    ...(kind && { kind }),
    from,
    to,
    ...(weight !== undefined && { weight }),
    ...(slowest && { minBandwidth: slowest * 1e6 }),
    ...(fastest && { maxBandwidth: fastest * 1e6 }),
  };
}

export interface KfdCache {
  level: number;
  bytes: number;
  lineBytes?: number;
  data: boolean;
  instruction: boolean;
}

/** `caches/K/properties`. Type bits: 0 data, 1 instruction. Sizes are printed in KiB. */
export function kfdCache(properties: KfdProperties): KfdCache | undefined {
  const level = kfdNumber(properties, 'level');
  const kibibytes = kfdNumber(properties, 'size');
  if (level === undefined || kibibytes === undefined) return undefined;
  const type = properties.get('type') ?? 0n;
  const lineBytes = kfdNumber(properties, 'cache_line_size');
  return {
    level,
    bytes: kibibytes * 1024,
    ...(lineBytes && { lineBytes }),
    data: (type & 1n) !== 0n,
    instruction: (type & 2n) !== 0n,
  };
}
