import { describe, expect, it } from 'vitest';
import { reloadDriver } from '../../../sim/driver/reset.ts';
import { writeFile } from '../../../sim/driver/write.ts';
import { type NodeDescription, renderNode } from '../../../sim/tree.ts';
import { idleNode, pathOf, read, write } from './support.ts';

const MODE = 'current_compute_partition';
const ids = (node: NodeDescription): number[] =>
  node.gpus.flatMap(({ partitions }) => partitions.map((p) => p.kfdGpuId));

describe('a switch of the compute mode', () => {
  it('lists new agents under new ids and a new generation', () => {
    const node = idleNode({ model: 'mi300x', cards: 2 });
    const before = { ids: ids(node), generation: node.generation };
    expect(write(node, MODE, 'CPX')).toBe('ok');
    expect(node.gpus.map(({ partitions }) => partitions.length)).toEqual([8, 1]);
    expect(node.generation).toBe(before.generation + 9);
    expect(ids(node).filter((id) => before.ids.includes(id))).toEqual([]);
    expect(node.gpus[1]?.partitions[0]?.kfdNode).toBe(2 + 8);
    expect(read(node, 'enforce_isolation')).toBe('0 0 0 0 0 0 0 0\n');
  });

  it('names what came, what went and what reads otherwise', () => {
    const node = idleNode({ model: 'mi300x', cards: 1, partition: 'cpx' });
    const before = renderNode(node);
    const result = writeFile(node, pathOf(node.gpus[0]!, MODE), 'spx');
    const after = renderNode(node);
    const changed = result.ok ? result.changed : [];
    const nodes = 'sys/devices/virtual/kfd/kfd/topology/nodes';
    expect([...before.keys()].filter((path) => !after.has(path)).every((path) => changed.includes(path))).toBe(true);
    expect(changed).toEqual(
      expect.arrayContaining([`${nodes}/9/gpu_id`, `${nodes}/2/gpu_id`, pathOf(node.gpus[0]!, MODE)]),
    );
    expect(changed).not.toContain(`${nodes}/0/properties/name`);
  });

  it('leaves isolation and view of the other GPUs alone', () => {
    const node = idleNode({ model: 'mi300x', cards: 2 });
    write(node, 'enforce_isolation', '1', 1);
    write(node, 'compute_partition_config/xcp_config', 'QPX', 1);
    write(node, MODE, 'DPX', 0);
    expect(node.gpus[1]?.settings).toMatchObject({ isolation: [1], configView: 'qpx' });
    expect(node.gpus[0]?.settings).toMatchObject({ isolation: [0, 0], configView: 'dpx' });
  });

  it('takes up the present mode anew', () => {
    const node = idleNode({ model: 'mi300x', cards: 1 });
    const before = ids(node);
    expect(write(node, MODE, 'SPX')).toBe('ok');
    expect(ids(node)).not.toEqual(before);
  });

  it('keeps a graphics client whose partition goes', () => {
    const processes = [{ kfd: false, gpus: [{ gpu: 0, partition: 5, vram: 4096 }] }];
    const node = idleNode({ model: 'mi300x', cards: 1, partition: 'cpx', processes });
    expect(write(node, MODE, 'SPX')).toBe('ok');
    expect(node.processes[0]?.gpus[0]?.partition).toBe(0);
    expect(() => renderNode(node)).not.toThrow();
  });

  it.each([
    ['linux-6.16', 'EPERM'],
    ['linux-6.19', 'EBUSY'],
  ] as const)('during a reset ends on %s in %s', (driver, errno) => {
    const node = idleNode({ model: 'mi300x', cards: 1, driver });
    node.gpus[0]!.live.inReset = true;
    expect(write(node, MODE, 'CPX')).toBe(errno);
    expect(write(node, 'power1_cap', '500000000')).toBe(errno);
    node.gpus[0]!.live.inReset = false;
    expect(write(node, MODE, 'CPX')).toBe('ok');
  });
});

describe('the memory mode', () => {
  it('is noted for the whole hive, and comes with the next load of the driver', () => {
    const node = idleNode({ model: 'mi300x', cards: 2 });
    write(node, 'power1_cap', '500000000');
    expect(write(node, 'current_memory_partition', 'nps4', 1)).toBe('ok');
    expect(read(node, 'current_memory_partition')).toBe('NPS1\n');
    expect(reloadDriver(node)).toMatchObject({ ok: true });
    expect([0, 1].map((gpu) => read(node, 'current_memory_partition', gpu))).toEqual(['NPS4\n', 'NPS4\n']);
    expect(read(node, MODE)).toBe('QPX\n');
    expect(node.gpus[0]?.settings.cap).toBe(750);
    expect(node.gpus[0]?.counters.ticks).toBe(0);
  });

  it('that is in force already changes nothing', () => {
    const node = idleNode({ model: 'mi300x', cards: 1 });
    expect(write(node, 'current_memory_partition', 'NPS1')).toBe('ok');
    expect(node.gpus[0]?.settings.memoryAtReload).toBeUndefined();
  });

  it('waits while a process keeps the driver loaded', () => {
    const node = idleNode({ model: 'mi300x', cards: 1, processes: [{}] });
    expect(reloadDriver(node)).toEqual({ ok: false, errno: 'EBUSY' });
  });
});

describe('the view of partitions', () => {
  it('describes another mode and leaves the hardware alone', () => {
    const node = idleNode({ model: 'mi300x', cards: 1 });
    write(node, 'compute_partition_config/xcp_config', 'cpx');
    expect(read(node, 'compute_partition_config/xcc/num_inst')).toBe('1\n');
    expect(node.gpus[0]?.partitions.length).toBe(1);
    expect(write(node, 'compute_partition_config/xcp_config', 'TPX')).toBe('EINVAL');
  });
});
