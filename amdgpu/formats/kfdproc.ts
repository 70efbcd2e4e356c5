import { decimal, parseUint } from './scalar.ts';

/**
 * KFD's view of compute processes: `/sys/class/kfd/kfd/proc/PID/`. Several of the files end without a newline.
 * Source: `drivers/gpu/drm/amd/amdkfd/kfd_process.c`, `kfd_process_queue_manager.c`, `kfd_priv.h` (queue types).
 *
 * PID is the one of the initial PID namespace, whatever namespace reads it. The number in a file's name is the `gpu_id` of a
 * topology node (a partition, where the GPU is partitioned): neither a card index nor a count.
 */

export function kfdProcDir(sysfs: string): string {
  return `${sysfs}/class/kfd/kfd/proc`;
}

const PID = /^[1-9][0-9]{0,9}$/;

/** Name of a directory below `kfd/proc`, as PID. */
export function kfdPid(name: string): number | undefined {
  return PID.test(name) ? Number(name) : undefined;
}

export const KFD_ENTRIES = ['vram', 'sdma', 'stats', 'counters'] as const;
export type KfdEntryKind = (typeof KFD_ENTRIES)[number];

/** `vram_26273`: files `vram` and `sdma`, directories `stats` and `counters`. Absent for every other name. */
export function kfdEntry(name: string): { kind: KfdEntryKind; gpuId: number } | undefined {
  const split = name.indexOf('_');
  const kind = KFD_ENTRIES.find((known) => known === name.slice(0, split));
  const gpuId = decimal(name.slice(split + 1));
  return split > 0 && kind && gpuId !== undefined ? { kind, gpuId } : undefined;
}

/** `vram_GPUID`: bytes now allocated by the process on that node. */
export const parseVram: (text: string) => number | undefined = parseUint;

/** `sdma_GPUID`: microseconds of copy-engine use since the process opened the device, as nanoseconds. */
export function parseSdma(text: string): bigint | undefined {
  return scaled(text, 1_000n);
}

/** `stats_GPUID/evicted_ms`: milliseconds that queues of the process were evicted, as nanoseconds. */
export function parseEvicted(text: string): bigint | undefined {
  return scaled(text, 1_000_000n);
}

function scaled(text: string, factor: bigint): bigint | undefined {
  const value = parseUint(text);
  return value === undefined ? undefined : BigInt(value) * factor;
}

/**
 * Whether this kernel still counts the debugger's queue among the types, which moves the xGMI and by-engine types up by one.
 * Only a 5 tells: with the newer numbering there is no such type. The numbering is the kernel's, so one queue tells for all.
 */
export function hasOlderQueueTypes(types: Iterable<number>): boolean {
  for (const type of types) if (type === 5) return true;
  return false;
}

const COMMON: readonly string[] = ['compute', 'sdma', 'internal'];
const OLDER: readonly string[] = [...COMMON, 'internal', 'sdma_xgmi', 'sdma_by_engine'];

/**
 * Name of `queues/ID/type`. Types 0 to 2 are the same everywhere. A 3 is a copy queue over xGMI or the debugger's, a 4 a copy
 * queue by engine or over xGMI: unless the numbering is known to be the older one they are named by number, as is what is newer.
 */
export function queueTypeName(type: number, older: boolean): string {
  return (older ? OLDER : COMMON)[type] ?? `type_${type}`;
}
