import { describe, expect, it } from 'vitest';
import { readFile, resetGpu } from '../../../sim/driver/reset.ts';
import { pathsOfGpu } from '../../../sim/driver/unplug.ts';
import { renderNode } from '../../../sim/tree.ts';
import { idleNode, pathOf, read, write } from './support.ts';

const LEVEL = 'power_dpm_force_performance_level';

function changedNode() {
  const node = idleNode({ model: 'mi300x', cards: 2 });
  for (const gpu of [0, 1]) {
    write(node, LEVEL, 'manual', gpu);
    write(node, 'pp_od_clk_voltage', 's 1 1500', gpu);
    write(node, 'pp_od_clk_voltage', 'c', gpu);
    write(node, 'pp_od_clk_voltage', 's 1 1400', gpu);
    write(node, 'power1_cap', '500000000', gpu);
    write(node, 'pm_policy/soc_pstate', '2', gpu);
    write(node, 'enforce_isolation', '1', gpu);
    write(node, 'thermal_throttling_logging', '10', gpu);
  }
  return node;
}

describe('a reset', () => {
  it('loses what the firmware held and keeps what the driver holds', () => {
    const node = changedNode();
    resetGpu(node, 0);
    const { settings } = node.gpus[0]!;
    expect(settings).toMatchObject({ level: 'auto', cap: 750, gfxMin: 500, gfxMax: 2100, socPstate: 0 });
    expect(settings.staged).toBeUndefined();
    expect(settings).toMatchObject({ isolation: [1], throttleLog: { on: true, seconds: 10 } });
    expect(node.gpus[1]?.settings).toMatchObject({ level: 'manual', cap: 500 });
  });

  it('starts all counters anew', () => {
    const node = changedNode();
    const { counters } = node.gpus[0]!;
    expect(counters.energy).toBeGreaterThan(0);
    resetGpu(node, 0);
    const after = node.gpus[0]!.counters;
    expect(Object.keys(after)).toEqual(Object.keys(counters));
    expect(
      Object.values(after)
        .flat()
        .every((value) => value === 0),
    ).toBe(true);
    expect(after.gfxBusy).toHaveLength(8);
  });

  it('of a GPU that is not there is an error of the caller', () => {
    expect(() => resetGpu(changedNode(), 7)).toThrow(RangeError);
  });
});

describe('reading the file of the recovery', () => {
  it.each(['card', 'pci'] as const)('resets the hive, found by %s', (key) => {
    const node = changedNode();
    const result = readFile(node, `sys/kernel/debug/dri/${node.gpus[1]![key]}/amdgpu_gpu_recover`);
    expect(node.gpus.map(({ settings }) => settings.cap)).toEqual([750, 750]);
    expect(result).toMatchObject({ ok: true });
    expect(result.ok && result.changed).toEqual(expect.arrayContaining(node.gpus.map((gpu) => pathOf(gpu, LEVEL))));
  });

  it('leaves another hive alone', () => {
    const node = idleNode({ model: 'mi210', cards: 8 });
    for (const { index } of node.gpus) write(node, 'power1_cap', '200000000', index);
    readFile(node, `sys/kernel/debug/dri/${node.gpus[0]!.card}/amdgpu_gpu_recover`);
    expect(node.gpus.map(({ settings }) => settings.cap)).toEqual([300, 300, 300, 300, 200, 200, 200, 200]);
  });

  it('is all that reading does: other files answer and nothing happens', () => {
    const node = changedNode();
    expect(readFile(node, pathOf(node.gpus[0]!, LEVEL))).toEqual({ ok: true, changed: [] });
    expect(readFile(node, 'sys/kernel/debug/dri/77/amdgpu_gpu_recover')).toEqual({ ok: false, errno: 'ENOENT' });
    expect(read(node, LEVEL)).toBe('manual\n');
  });
});

describe('the paths of a GPU that falls off the bus', () => {
  it('are there while it is, and all that names it lies under them', () => {
    const node = idleNode({ model: 'mi300x', cards: 2, partition: 'dpx' });
    const gone = pathsOfGpu(node, 0);
    const files = [...renderNode(node).keys()];
    expect(gone.filter((path) => !files.some((file) => file === path || file.startsWith(`${path}/`)))).toEqual([]);
    const left = files.filter((file) => !gone.some((path) => file === path || file.startsWith(`${path}/`)));
    expect(left.filter((file) => file.includes(node.gpus[0]!.pci))).toEqual([]);
    expect(left.some((file) => file.includes(node.gpus[1]!.pci))).toBe(true);
  });
});
