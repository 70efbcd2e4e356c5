import { describe, expect, it } from 'vitest';
import { describeNode, type NodeOptions, renderLive, renderNode } from '../../sim/tree.ts';
import { reader } from './reader.ts';

describe('describeNode', () => {
  it('describes the same node for the same seed, and another for another', () => {
    const render = (seed: number): unknown => [...renderNode(describeNode({ model: 'mi300x', cards: 2, seed }))];
    expect(render(7)).toEqual(render(7));
    expect(render(7)).not.toEqual(render(8));
  });

  it('keeps the values of a card when a card is added', () => {
    const ids = (cards: number): bigint[] => describeNode({ model: 'mi100', cards }).gpus.map((gpu) => gpu.uniqueId);
    expect(ids(4).slice(0, 3)).toEqual(ids(3));
  });

  it.each([
    [{ model: 'mi210', cards: 1 }, '1.3', 'linux-6.16'],
    [{ model: 'mi300x', cards: 1 }, '1.8', 'linux-6.16'],
    [{ model: 'mi355x', cards: 1 }, '1.9', 'linux-6.19'],
    [{ model: 'mi300x', cards: 1, driver: 'linux-6.13' }, '1.7', 'linux-6.13'],
    [{ model: 'mi300x', cards: 1, gpuMetrics: '1.5' }, '1.5', 'linux-6.12'],
    [{ model: 'mi300x', cards: 1, gpuMetrics: '1.9' }, '1.9', 'linux-6.19'],
  ] as [NodeOptions, string, string][])('completes %j', (options, gpuMetrics, driver) => {
    expect(describeNode(options)).toMatchObject({ gpuMetrics, driver });
  });

  it.each([
    [{ model: 'mi210', cards: 0 }, 'cards must be 1 to 8, not 0'],
    [{ model: 'mi250x', cards: 5 }, 'cards must be 1 to 4, not 5'],
    [{ model: 'mi210', cards: 1, partition: 'cpx' }, 'cannot be partitioned'],
    [{ model: 'mi300a', cards: 1, partition: 'dpx' }, 'has no mode dpx'],
    [{ model: 'mi300x', cards: 1, partition: 'tpx' }, 'has no mode tpx'],
    [{ model: 'mi300x', cards: 1, memory: 'nps4' }, 'has no mode spx in nps4'],
    [{ model: 'mi300x', cards: 1, partition: 'dpx', memory: 'nps4' }, 'has no mode dpx in nps4'],
    [{ model: 'mi355x', cards: 1, partition: 'cpx', memory: 'nps4' }, 'has no memory mode nps4'],
    [{ model: 'mi300x', cards: 1, gpuMetrics: '1.3' }, 'never wrote gpu_metrics 1.3'],
    [{ model: 'mi355x', cards: 1, driver: 'linux-6.12' }, 'needs linux-6.13'],
    [{ model: 'mi300x', cards: 1, driver: 'linux-6.1' }, 'needs linux-6.12'],
    [{ model: 'mi210', cards: 2, processes: [{ gpus: [{ gpu: 2 }] }] }, 'uses GPU 2; the node has 2'],
    [{ model: 'mi210', cards: 1, processes: [{ pid: 9, gpus: [{ gpu: 0, partition: 1 }] }] }, 'partition 1 of GPU 0'],
  ] as [NodeOptions, string][])('refuses %j', (options, message) => {
    expect(() => describeNode(options)).toThrow(message);
  });

  it('leaves the cards idle on which no process holds memory', () => {
    const { gpus } = describeNode({ model: 'mi210', cards: 2, processes: [{ gpus: [{ gpu: 1, vram: 2 ** 30 }] }] });
    expect(gpus[0]?.live.gfxBusy).toEqual([0]);
    expect(gpus[1]?.live.gfxBusy[0]).toBeGreaterThan(50);
    expect((gpus[1]?.live.vramUsed ?? 0) - (gpus[0]?.live.vramUsed ?? 0)).toBe(2 ** 30);
  });

  it('finds MI210 in another order than that of their addresses', () => {
    const { gpus } = describeNode({ model: 'mi210', cards: 4 });
    expect(gpus.map((gpu) => gpu.pci)).toEqual([...gpus.map((gpu) => gpu.pci)].sort());
    expect(gpus.map((gpu) => gpu.card)).not.toEqual([0, 1, 2, 3]);
    expect(gpus.map((gpu) => gpu.card).sort()).toEqual([0, 1, 2, 3]);
  });
});

describe('a description changed in place', () => {
  it('shows the change in every file that tells of it', () => {
    const node = describeNode({ model: 'mi210', cards: 1 });
    const [gpu] = node.gpus;
    if (!gpu) throw new Error('no GPU');
    gpu.live.temperature.junction = 99;
    gpu.settings.cap = 230;
    gpu.ras.blocks.umc = { ue: 1, ce: 7, de: 0 };
    gpu.ras.badPages.push({ page: 0x1234, size: 0x1000, flag: 'R' });
    const live = reader(renderLive(node));
    const device = `sys/devices/${gpu.root}/${gpu.port}/${gpu.pci}`;
    expect(live.text(`${device}/hwmon/hwmon3/temp2_input`)).toBe('99000\n');
    expect(live.text(`${device}/hwmon/hwmon3/power1_cap`)).toBe('230000000\n');
    expect(live.bytes(`${device}/gpu_metrics`)[6]).toBe(99);
    expect(live.text(`${device}/ras/umc_err_count`)).toBe('ue: 1\nce: 7\n');
    expect(live.text(`${device}/ras/gpu_vram_bad_pages`)).toBe('0x00001234 : 0x00001000 : R\n');
  });

  it('renders what is live as part of the whole', () => {
    const node = describeNode({ model: 'mi300x', cards: 1, partition: 'cpx' });
    const whole = renderNode(node);
    const live = renderLive(node);
    expect(live.size).toBeGreaterThan(100);
    for (const [path, entry] of live) expect(whole.get(path)).toEqual(entry);
  });
});
