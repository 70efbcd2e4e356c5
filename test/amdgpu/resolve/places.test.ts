import { describe, expect, it } from 'vitest';
import { resolveInfo } from '../../../amdgpu/resolve/info.ts';
import { resolveMemory, resolveMemorySizes } from '../../../amdgpu/resolve/memory.ts';
import { resolvePartitionInfo, resolvePartitionModes } from '../../../amdgpu/resolve/partition.ts';
import { resolveRas } from '../../../amdgpu/resolve/ras.ts';
import { info } from '../../../model/quantities/info.ts';
import { memory } from '../../../model/quantities/memory.ts';
import { partition } from '../../../model/quantities/partition.ts';
import { ras } from '../../../model/quantities/ras.ts';
import { Bench, kfdNode, once, props } from './fixture.ts';

const bank = (size: number) => [props({ heap_type: 1, size_in_bytes: size, width: 8192, mem_clk_max: 1300 })];

describe('memory', () => {
  it('is sized by the driver, or by the topology where one node stands for the whole card', () => {
    const kfd = [kfdNode(1, {}, { memBanks: bank(17_163_091_968) })];
    const files = { mem_info_vram_total: '206141652992\n' };
    expect(once(resolveMemorySizes, { family: 'mi300', files, kfd }).value(memory.vramSize)).toBe(206_141_652_992);
    expect(once(resolveMemorySizes, { family: 'vega', kfd }).value(memory.vramSize)).toBe(17_163_091_968);
  });

  it('of partitions is not summed: their banks may be views of one pool', () => {
    const kfd = [0, 1].map((n) => kfdNode(n, {}, { partition: n, memBanks: bank(103_070_826_496) }));
    const bench = once(resolveMemorySizes, { family: 'mi300', kfd, partitions: 2 });
    expect(bench.labels(memory.vramSize)).toEqual([]);
    expect(bench.value(memory.bankSize, '1')).toBe(103_070_826_496);
  });

  it('in use is told by the driver, or else by the topology', () => {
    const files = { mem_info_vram_used: '7\n', 'kfd/used_memory': '5\n' };
    expect(once(resolveMemory, { family: 'mi300', files }).value(memory.vramUsed)).toBe(7);
    const topology = once(resolveMemory, { family: 'mi300', files: { 'kfd/used_memory': '5\n' } });
    expect(topology.value(memory.vramUsed)).toBe(5);
    expect(topology.source(memory.vramUsed)).toBe('kfd used_memory');
  });
});

describe('identity', () => {
  const where = { card: 'card1', renderNode: '', driver: '', simulated: false };
  const uniqueId = (bench: Bench): string => bench.out.of(info.info)[0]?.labels[2] ?? 'none';
  const identify = (files: Record<string, string>, ids: bigint[]) =>
    new Bench().pass((context) => resolveInfo(context, where), {
      family: 'mi300',
      files,
      kfd: ids.map((unique_id, n) => kfdNode(n + 1, { unique_id }, { partition: n })),
    });

  it('has the driver\u2019s unique id, which is the socket\u2019s', () => {
    expect(uniqueId(identify({ unique_id: '946d7e1ef9b172dd\n' }, [1n, 2n]))).toBe('946d7e1ef9b172dd');
  });

  it('takes the topology\u2019s where all partitions have the same, with its leading zeros', () => {
    expect(uniqueId(identify({}, [0xabcn, 0xabcn]))).toBe('0000000000000abc');
    expect(uniqueId(identify({}, [1n, 2n]))).toBe('');
    expect(uniqueId(identify({ unique_id: '' }, [0n]))).toBe('');
  });

  it('shows no firmware of blocks that have none', () => {
    const bench = identify(
      { 'fw_version/smc_fw_version': '0x00557900\n', 'fw_version/vce_fw_version': '0x00000000\n' },
      [],
    );
    expect(bench.labels(info.firmware)).toEqual(['smc.0x00557900']);
  });

  it('counts compute units by partition and keeps out what the topology does not say', () => {
    const bench = new Bench().pass((context) => resolveInfo(context, where), {
      family: 'mi300',
      kfd: [kfdNode(1, { simd_count: 152, simd_per_cu: 4 }), kfdNode(2, { simd_count: 0 }, { partition: 1 })],
    });
    expect(bench.value(info.computeUnits, '0')).toBe(38);
    expect(bench.labels(info.computeUnits)).toEqual(['0']);
    expect(bench.labels(info.xccs)).toEqual([]);
  });

  it('leaves out the NUMA node that the firmware does not name', () => {
    expect(identify({ numa_node: '-1\n' }, []).labels(info.numaNode)).toEqual([]);
    expect(identify({ numa_node: '0\n' }, []).value(info.numaNode)).toBe(0);
  });
});

describe('partitions', () => {
  it('are named by all the numbers that others know them by', () => {
    const kfd = [kfdNode(7, { unique_id: 255 }, { partition: 1, gfx: 'gfx942' })];
    const context = new Bench();
    context.pass(
      (given) =>
        resolvePartitionInfo({
          ...given,
          card: { ...given.card, partitions: [{ number: 1, kfdGpuId: 1007, kfdNode: 7, renderMinor: 129 }] },
        }),
      { family: 'mi300', kfd },
    );
    expect(context.labels(partition.info)).toEqual(['1007.7.renderD129.gfx942.00000000000000ff.1']);
  });

  it('show one mode as 1, and a mode that is not known as one more', () => {
    const bench = once(resolvePartitionModes, { family: 'mi300', files: { current_compute_partition: 'QPX\n' } });
    expect(bench.value(partition.compute, 'QPX')).toBe(1);
    expect(bench.value(partition.compute, 'SPX')).toBe(0);
    expect(bench.labels(partition.memory)).toEqual([]);
  });
});

describe('hardware errors', () => {
  it('are shown with the severities that the driver counts, and not with one that it does not', () => {
    const files = {
      'ras/umc_err_count': 'ue: 1\nce: 2\nde: 3\n',
      'ras/gfx_err_count': 'ue: 0\nce: 0\n',
      'ras/sdma_err_count': 'Query currently inaccessible\n',
    };
    const bench = once(resolveRas, { family: 'mi300', files });
    expect(bench.value(ras.errors, 'umc', 'deferred')).toBe(3n);
    expect(bench.labels(ras.errors)).toEqual([
      'umc.correctable',
      'umc.uncorrectable',
      'umc.deferred',
      'gfx.correctable',
      'gfx.uncorrectable',
    ]);
    expect(bench.absent(ras.errors, 'sdma', 'uncorrectable')).toBe('busy');
  });
});
