import { partition } from '../../model/quantities/partition.ts';
import { parseIsolation } from '../formats/isolation.ts';
import {
  COMPUTE_PARTITIONS,
  parseComputePartition,
  parseCount,
  parseMemoryPartition,
  parsePartitionList,
} from '../formats/partition.ts';
import { type Context, first, states, uint } from './context.ts';

const MEMORY_PARTITIONS = ['NPS1', 'NPS2', 'NPS4', 'NPS8'];
const RESOURCES = ['xcc', 'dma', 'dec', 'jpeg'];
const DIR = 'compute_partition_config';

export function resolvePartitionModes({ card, raw, table, out }: Context): void {
  const counted = first(table, 'num_partition');
  out.put(partition.count, counted || card.partitions.length || undefined, 'gpu_metrics');
  const compute = raw.parse('current_compute_partition', parseComputePartition);
  states(out, partition.compute, COMPUTE_PARTITIONS, compute, 'current_compute_partition');
  const memory = raw.parse('current_memory_partition', parseMemoryPartition);
  states(out, partition.memory, MEMORY_PARTITIONS, memory, 'current_memory_partition');
}

/** The logical devices and what each of them has. */
export function resolvePartitionInfo({ card, raw, kfd, out }: Context): void {
  for (const one of card.partitions) {
    const node = kfd.find((k) => k.partition === one.number);
    const unique = node?.props.get('unique_id');
    out.putAll(partition.info, 1, 'kfd topology', [
      text(one.kfdGpuId),
      text(one.kfdNode),
      one.renderMinor === undefined ? '' : `renderD${one.renderMinor}`,
      node?.gfx ?? card.model.gfx,
      unique === undefined || unique === 0n ? '' : unique.toString(16).padStart(16, '0'),
      String(one.number),
    ]);
  }
  for (const resource of RESOURCES) {
    out.put(partition.resources, raw.parse(`${DIR}/${resource}/num_inst`, parseCount), DIR, resource);
    out.put(partition.resourceSharing, raw.parse(`${DIR}/${resource}/num_shared`, parseCount), DIR, resource);
  }
  for (const list of ['supported_xcp_configs', 'supported_nps_configs']) {
    for (const mode of raw.parse(`${DIR}/${list}`, parsePartitionList) ?? [])
      out.put(partition.supported, 1, list, mode);
  }
  out.put(partition.vfs, uint(raw, 'sriov_numvfs'), 'sriov_numvfs');
  out.put(partition.vfsMax, uint(raw, 'sriov_totalvfs'), 'sriov_totalvfs');
  raw.parse('enforce_isolation', parseIsolation)?.forEach((mode, number) => {
    if (number < Math.max(1, card.partitions.length))
      out.put(partition.isolation, mode, 'enforce_isolation', String(number));
  });
}

function text(value: number | undefined): string {
  return value === undefined || value === 0 ? '' : String(value);
}
