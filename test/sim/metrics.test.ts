import { describe, expect, it } from 'vitest';
import { decodeTable, type Table, type TableKind } from '../../amdgpu/tables/decode.ts';
import { describeNode, type NodeOptions, renderNode } from '../../sim/tree.ts';
import { NODES, title } from './nodes.ts';
import { type Reader, reader } from './reader.ts';

const device = (card: number): string => `sys/class/drm/card${card}/device`;
const render = (options: NodeOptions): Reader => reader(renderNode(describeNode(options)));

function table(tree: Reader, path: string, kind: TableKind = 'gpu_metrics'): Table {
  const result = decodeTable(kind, tree.bytes(path));
  if (!result.ok) throw new Error(`${path}: ${result.fault}`);
  return result.table;
}

const SIZES: Record<string, number> = {
  '1.3': 120,
  '1.4': 288,
  '1.5': 360,
  '1.6': 1664,
  '1.7': 2208,
  '1.8': 3872,
  '1.9': 1150,
};

describe.each(NODES.map((options) => [title(options), options] as const))('%s', (_, options) => {
  const node = describeNode(options);
  const tree = reader(renderNode(node));

  it('writes gpu_metrics of the size that its header gives', () => {
    for (const gpu of node.gpus) {
      const bytes = tree.bytes(`${device(gpu.card)}/gpu_metrics`);
      expect(bytes.length).toBe(SIZES[node.gpuMetrics]);
      expect(new DataView(bytes.buffer).getUint16(0, true)).toBe(bytes.length);
      expect(`${bytes[2]}.${bytes[3]}`).toBe(node.gpuMetrics);
    }
  });

  it('says the same in gpu_metrics, hwmon, pp_dpm files and busy percentages', () => {
    for (const gpu of node.gpus) {
      const metrics = table(tree, `${device(gpu.card)}/gpu_metrics`);
      const number = (name: string): number => Number(tree.text(`${device(gpu.card)}/${name}`));
      const sensor = (name: string): number => number(`hwmon/hwmon${gpu.hwmon}/${name}`);
      const starred = (name: string): number =>
        Number(/: (\d+)Mhz \*/.exec(tree.text(`${device(gpu.card)}/${name}`))?.[1]);
      expect(metrics.num('temperature_hotspot')).toBe(sensor('temp2_input') / 1000);
      expect(metrics.num('temperature_mem')).toBe(sensor('temp3_input') / 1000);
      expect(metrics.num('average_gfx_activity')).toBe(number('gpu_busy_percent'));
      expect(metrics.num('average_umc_activity')).toBe(number('mem_busy_percent'));
      expect(metrics.nums('current_gfxclk')?.[0]).toBe(sensor('freq1_input') / 1e6);
      expect(metrics.nums('current_gfxclk')?.[0]).toBe(starred('pp_dpm_sclk'));
      expect(metrics.num('current_uclk')).toBe(starred('pp_dpm_mclk'));
      expect(metrics.nums('current_socclk')?.[0]).toBe(starred('pp_dpm_socclk'));
      if (gpu.die === 'secondary') continue;
      const modern = metrics.has('curr_socket_power');
      const watts = sensor(modern ? 'power1_input' : 'power1_average') / 1e6;
      expect(metrics.num(modern ? 'curr_socket_power' : 'average_socket_power')).toBe(watts);
    }
  });

  it('keeps every temperature below its limit and every draw below its cap', () => {
    for (const gpu of node.gpus) {
      const sensor = (name: string): number => Number(tree.text(`${device(gpu.card)}/hwmon/hwmon${gpu.hwmon}/${name}`));
      for (const channel of [2, 3]) expect(sensor(`temp${channel}_input`)).toBeLessThan(sensor(`temp${channel}_crit`));
      expect(gpu.live.power).toBeLessThanOrEqual(gpu.settings.cap);
    }
  });

  it('differs from card to card', () => {
    const copies = node.gpus.map((gpu) => String(tree.bytes(`${device(gpu.card)}/gpu_metrics`)));
    expect(new Set(copies).size).toBe(node.gpus.length);
  });
});

describe('fields that a chip does not report', () => {
  const absent = (metrics: Table): string[] =>
    [...metrics.fields()].filter((name) => metrics.nums(name)?.every((_, i) => metrics.bigs(name)?.[i] === undefined));

  it('are the rest of the table on MI100', () => {
    expect(absent(table(render({ model: 'mi100', cards: 1 }), `${device(0)}/gpu_metrics`)).sort()).toEqual(
      [
        ...['average_dclk0_frequency', 'average_dclk1_frequency', 'average_vclk0_frequency', 'average_vclk1_frequency'],
        ...[
          'current_dclk0',
          'current_dclk1',
          'current_vclk0',
          'current_vclk1',
          'firmware_timestamp',
          'gfx_activity_acc',
        ],
        ...['mem_activity_acc', 'temperature_hbm', 'voltage_gfx', 'voltage_mem', 'voltage_soc'],
      ].sort(),
    );
  });

  it('are voltages and second video clocks on MI210', () => {
    expect(absent(table(render({ model: 'mi210', cards: 1 }), `${device(0)}/gpu_metrics`)).sort()).toEqual(
      [
        ...['average_dclk1_frequency', 'average_vclk1_frequency', 'current_dclk1', 'current_vclk1'],
        ...['voltage_gfx', 'voltage_mem', 'voltage_soc'],
      ].sort(),
    );
  });

  it.each(['1.4', '1.5', '1.6', '1.7', '1.8', '1.9'])('are none on an MI300X of a hive in %s', (gpuMetrics) => {
    const tree = render({ model: 'mi300x', cards: 8, gpuMetrics });
    expect(absent(table(tree, `${device(0)}/gpu_metrics`))).toEqual([]);
  });

  it('are all PCIe fields on MI300A', () => {
    const fields = absent(table(render({ model: 'mi300a', cards: 4 }), `${device(0)}/gpu_metrics`));
    expect(fields.length).toBeGreaterThan(5);
    expect(fields.filter((name) => !name.startsWith('pcie_'))).toEqual([]);
  });

  it('are all xGMI fields of a lone MI300X from 6.16 on', () => {
    const fields = absent(table(render({ model: 'mi300x', cards: 1 }), `${device(0)}/gpu_metrics`));
    expect(fields.sort()).toEqual(
      ['xgmi_link_speed', 'xgmi_link_status', 'xgmi_link_width', 'xgmi_read_data_acc', 'xgmi_write_data_acc'].sort(),
    );
  });

  it('are given as 0 for power and energy of the secondary die', () => {
    const metrics = table(render({ model: 'mi250x', cards: 1 }), `${device(1)}/gpu_metrics`);
    expect(metrics.num('average_socket_power')).toBe(0);
    expect(metrics.big('energy_accumulator')).toBe(0n);
  });
});

describe('partition tables', () => {
  it('have one block for each partition in use, each with its dies', () => {
    const tree = render({ model: 'mi300x', cards: 1, partition: 'dpx' });
    const metrics = table(tree, `${device(0)}/gpu_metrics`);
    expect(metrics.num('num_partition')).toBe(2);
    const dies = (partition: number): number =>
      metrics.xcpNums(partition, 'gfx_busy_inst')?.filter((percent) => percent !== undefined).length ?? 0;
    expect([dies(0), dies(1), dies(2)]).toEqual([4, 4, 0]);
  });

  it.each([
    ['linux-6.16', '1.0'],
    ['linux-6.19', '1.1'],
  ] as const)('under %s are of revision %s and hold the dies of their partition only', (driver, version) => {
    const tree = render({ model: 'mi300x', cards: 1, partition: 'qpx', driver });
    for (const card of [0, 1, 2, 3]) {
      const metrics = table(tree, `${device(card)}/xcp/xcp_metrics`, 'partition');
      expect(metrics.family).toBe(version);
      expect(metrics.nums('gfx_busy_inst')?.filter((percent) => percent !== undefined)).toHaveLength(2);
    }
  });

  it('do not exist before 6.16', () => {
    const tree = render({ model: 'mi300x', cards: 1, partition: 'qpx', driver: 'linux-6.13' });
    expect(tree.resolve(`${device(0)}/xcp/xcp_metrics`)).toBeUndefined();
  });

  it('show load on the partition of a process and none beside it', () => {
    const processes = [{ gpus: [{ gpu: 0, partition: 1, vram: 2 ** 30 }] }];
    const tree = render({ model: 'mi300x', cards: 1, partition: 'dpx', processes });
    const busy = (card: number): number =>
      table(tree, `${device(card)}/xcp/xcp_metrics`, 'partition').nums('gfx_busy_inst')?.[0] ?? Number.NaN;
    expect(busy(0)).toBe(0);
    expect(busy(1)).toBeGreaterThan(50);
  });
});

describe('board tables', () => {
  it('are longer than they say, and name their sensors', () => {
    const tree = render({ model: 'mi355x', cards: 2 });
    const path = `${device(0)}/board/gpuboard_temp`;
    expect(tree.bytes(path).length).toBe(144);
    const board = table(tree, path, 'gpuboard_temp');
    expect(board.size).toBe(120);
    expect(board.temps().map(({ sensor }) => sensor)).toContain('vddcr_vdd0');
  });
});
