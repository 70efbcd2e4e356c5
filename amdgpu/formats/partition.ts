import { parseUint } from './scalar.ts';
import { firstLine } from './text.ts';

/**
 * Compute and memory partitioning (MI300, MI350). Source: `drivers/gpu/drm/amd/amdgpu/amdgpu_gfx.c`, `amdgpu_gmc.c`,
 * `amdgpu_xcp.c`.
 */

export const COMPUTE_PARTITIONS = ['SPX', 'DPX', 'TPX', 'QPX', 'CPX'] as const;
export type ComputePartition = (typeof COMPUTE_PARTITIONS)[number];

/** `current_compute_partition`, `compute_partition_config/xcp_config`. Absent for `UNKNOWN`. */
export function parseComputePartition(text: string): ComputePartition | undefined {
  const word = firstLine(text).toUpperCase();
  return COMPUTE_PARTITIONS.find((mode) => mode === word);
}

const MEMORY_PARTITION = /^NPS[1-9]\d?$/;

/** `current_memory_partition`: `NPS1`, `NPS2`, `NPS4`, `NPS8`. Absent for `UNKNOWN`. */
export function parseMemoryPartition(text: string): string | undefined {
  const word = firstLine(text).toUpperCase();
  return MEMORY_PARTITION.test(word) ? word : undefined;
}

const MODE = /^(?:[SDTQC]PX|NPS[1-9]\d?)$/;

/**
 * `available_compute_partition`, `available_memory_partition`, `supported_xcp_configs`, `supported_nps_configs`: `SPX, DPX`.
 * `Not supported` is an answer: an empty list. An empty line is none: absent. Words that name no mode are left out.
 */
export function parsePartitionList(text: string): string[] | undefined {
  const line = firstLine(text);
  if (line === '') return undefined;
  const modes: string[] = [];
  for (const part of line.split(',')) {
    const word = part.trim().toUpperCase();
    if (MODE.test(word) && !modes.includes(word)) modes.push(word);
  }
  return modes.length > 0 || line.toLowerCase() === 'not supported' ? modes : undefined;
}

/** `compute_partition_config/<resource>/num_inst`, `num_shared`: a plain count. */
export function parseCount(text: string): number | undefined {
  return parseUint(text);
}
