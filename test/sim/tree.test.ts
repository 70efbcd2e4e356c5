import { describe, expect, it } from 'vitest';
import { describeNode, type NodeOptions, renderNode } from '../../sim/tree.ts';
import { NODES, title } from './nodes.ts';
import { properties, type Reader, reader } from './reader.ts';

const KFD_NODES = 'sys/class/kfd/kfd/topology/nodes';
const render = (options: NodeOptions): Reader => reader(renderNode(describeNode(options)));
const device = (tree: Reader, card: number): string => tree.resolve(`sys/class/drm/card${card}/device`) as string;
const hwmon = (tree: Reader, card: number): string[] => {
  const [name] = tree.list(`${device(tree, card)}/hwmon`);
  return tree.list(`${device(tree, card)}/hwmon/${name}`);
};
const gpuNodes = (tree: Reader): Record<string, string>[] =>
  tree
    .list(KFD_NODES)
    .map((node) => ({ node, id: tree.text(`${KFD_NODES}/${node}/gpu_id`).trim() }))
    .filter(({ id }) => id !== '0')
    .map(({ node, id }) => ({ node, id, ...properties(tree.text(`${KFD_NODES}/${node}/properties`)) }));

describe.each(NODES.map((options) => [title(options), options] as const))('%s', (_, options) => {
  const node = describeNode(options);
  const files = renderNode(node);
  const tree = reader(files);

  it('has no link that leads nowhere', () => {
    const dangling = [...files]
      .filter(([path, entry]) => 'link' in entry && !/^proc\/\d+\/fd\//.test(path) && tree.resolve(path) === undefined)
      .map(([path]) => path);
    expect(dangling).toEqual([]);
  });

  it('has relative links only, but for the descriptors of processes', () => {
    const absolute = [...files]
      .filter(([, entry]) => 'link' in entry && entry.link.startsWith('/'))
      .map(([path]) => path);
    expect(absolute.filter((path) => !/^proc\/\d+\/fd\//.test(path))).toEqual([]);
  });

  it('leads from every DRM node to its device and back', () => {
    const cards = tree.list('sys/class/drm').filter((name) => /^card\d+$/.test(name));
    const extra = options.model.startsWith('mi3') ? 8 : 1;
    expect(cards).toHaveLength(node.gpus.length * extra);
    for (const card of cards) expect(tree.list(`sys/class/drm/${card}/device/drm`)).toContain(card);
    for (const gpu of node.gpus) {
      const path = device(tree, gpu.card);
      expect(path.endsWith(`/${gpu.pci}`)).toBe(true);
      for (const link of [`sys/bus/pci/devices/${gpu.pci}`, `sys/bus/pci/drivers/amdgpu/${gpu.pci}`])
        expect(tree.resolve(link)).toBe(path);
      expect(tree.resolve(`sys/class/drm/renderD${gpu.render}/device`)).toBe(path);
      expect(tree.resolve(`sys/class/hwmon/hwmon${gpu.hwmon}/device`)).toBe(path);
    }
  });

  it('counts in each KFD node what stands below it', () => {
    for (const name of tree.list(KFD_NODES)) {
      const said = properties(tree.text(`${KFD_NODES}/${name}/properties`));
      for (const kind of ['io_links', 'p2p_links', 'caches', 'mem_banks'])
        expect(`${kind} ${said[`${kind}_count`]}`).toBe(`${kind} ${tree.list(`${KFD_NODES}/${name}/${kind}`).length}`);
    }
  });

  it('joins each KFD node with one render node and one PCI address', () => {
    for (const { location_id = '', domain = '', drm_render_minor } of gpuNodes(tree)) {
      const location = Number(location_id);
      const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
      const pci = `${hex(Number(domain), 4)}:${hex((location >> 8) & 0xff, 2)}:${hex((location >> 3) & 0x1f, 2)}.${location & 7}`;
      const partition = Math.floor(location / 2 ** 28);
      const parent = tree.resolve(`sys/class/drm/renderD${drm_render_minor}/device`);
      if (partition === 0) expect(parent?.endsWith(pci)).toBe(true);
      else expect(parent).toMatch(/^sys\/devices\/platform\/amdgpu_xcp_\d+$/);
      expect(tree.resolve(`sys/bus/pci/devices/${pci}`)).toBeDefined();
    }
  });

  it('divides the compute units of each GPU among its partitions', () => {
    const sums = new Map<string, number>();
    for (const { location_id, domain, simd_count, simd_per_cu } of gpuNodes(tree)) {
      const key = `${domain}/${Number(location_id) % 2 ** 28}`;
      sums.set(key, (sums.get(key) ?? 0) + Number(simd_count) / Number(simd_per_cu));
    }
    const whole = { mi100: 120, mi210: 104, mi250x: 110, mi300x: 304, mi300a: 228, mi325x: 304, mi355x: 256 }[
      options.model
    ];
    expect([...sums.values()]).toEqual(node.gpus.map(() => whole));
  });

  it('ends no clock table with a stray line', () => {
    const tables = [...files.keys()].filter((path) => /\/pp_dpm_\w+$/.test(path));
    expect(tables.length).toBeGreaterThanOrEqual(4 * node.gpus.length);
    for (const path of tables) {
      const lines = tree.text(path).split('\n');
      expect(lines.pop()).toBe('');
      for (const line of lines) expect(line).toMatch(/^(?:\d+|S): .*\S/);
      expect(lines.filter((line) => line.endsWith('*'))).toHaveLength(1);
    }
  });
});

describe('partitions', () => {
  it('has 64 partitions where eight MI300X are in CPX, each with its render node', () => {
    const nodes = gpuNodes(render({ model: 'mi300x', cards: 8, partition: 'cpx' }));
    expect(nodes).toHaveLength(64);
    expect(new Set(nodes.map(({ id }) => id)).size).toBe(64);
    expect(nodes.map((node) => Number(node.drm_render_minor)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 64 }, (_, index) => 128 + index),
    );
    expect(new Set(nodes.map((node) => node.unique_id)).size).toBe(8);
  });

  it('keeps the seven reserved nodes of each MI300 in SPX, without metrics', () => {
    const tree = render({ model: 'mi300x', cards: 1 });
    expect(tree.list('sys/devices/platform')).toHaveLength(7);
    expect(tree.list('sys/devices/platform/amdgpu_xcp_0')).toEqual(['drm', 'modalias', 'power', 'subsystem', 'uevent']);
    expect(tree.list(`${device(tree, 0)}/xcp`)).toEqual(['xcp_metrics']);
  });

  it('gives the further partitions in use nothing but metrics', () => {
    const tree = render({ model: 'mi300x', cards: 1, partition: 'dpx' });
    expect(tree.list('sys/devices/platform/amdgpu_xcp_0')).toContain('xcp');
    expect(tree.list('sys/devices/platform/amdgpu_xcp_0')).not.toContain('gpu_metrics');
    expect(tree.list('sys/devices/platform/amdgpu_xcp_1')).not.toContain('xcp');
  });

  it('gives partitions ids of their own under the newest driver only, and not in SPX', () => {
    const ids = (options: Partial<NodeOptions>): number =>
      new Set(gpuNodes(render({ model: 'mi300x', cards: 1, ...options })).map((node) => node.unique_id)).size;
    expect(ids({ partition: 'qpx', driver: 'linux-6.16' })).toBe(1);
    expect(ids({ partition: 'qpx', driver: 'linux-6.19' })).toBe(4);
    const spx = render({ model: 'mi300x', cards: 1, driver: 'linux-6.19' });
    const drm = BigInt(`0x${spx.text(`${device(spx, 0)}/unique_id`).trim()}`);
    expect(gpuNodes(spx)[0]?.unique_id).toBe(String(drm));
  });
});

describe('what a model lacks', () => {
  it('hides power on the secondary die of MI250X', () => {
    const tree = render({ model: 'mi250x', cards: 1 });
    expect(hwmon(tree, 0)).toContain('power1_average');
    expect(hwmon(tree, 1)).not.toContain('power1_average');
    expect(tree.text(`${device(tree, 1)}/hwmon/hwmon4/power1_cap`)).toBe('0\n');
    expect(tree.text(`${device(tree, 0)}/hwmon/hwmon3/power1_cap`)).toBe('560000000\n');
  });

  it('has neither edge temperature, fan, core voltage nor smoothed power on MI300X', () => {
    const sensors = hwmon(render({ model: 'mi300x', cards: 1 }), 0);
    expect(sensors).toEqual(expect.arrayContaining(['power1_input', 'temp2_input', 'temp3_input']));
    expect(sensors.filter((name) => /^(temp1|fan|pwm|in0|power1_average)/.test(name))).toEqual([]);
  });

  it('shows a sleeping clock of MI300X under the label S', () => {
    const tree = render({ model: 'mi300x', cards: 1, processes: [] });
    expect(tree.text(`${device(tree, 0)}/pp_dpm_sclk`)).toMatch(/^S: 13\dMhz \*\n0: 500Mhz \n1: 2100Mhz \n$/);
    expect(tree.text(`${device(tree, 0)}/pp_dpm_socclk`)).toMatch(/^S: 30Mhz \*\n/);
  });

  it('shows the clock of a busy MI210 between the ends of the range', () => {
    const tree = render({ model: 'mi210', cards: 1 });
    expect(tree.text(`${device(tree, 0)}/pp_dpm_sclk`)).toMatch(/^0: 500Mhz \n1: 1\d{3}Mhz \*\n2: 1700Mhz \n$/);
  });

  it('has power profiles and pcie_bw, but no overdrive, on MI100', () => {
    const tree = render({ model: 'mi100', cards: 1 });
    const files = tree.list(device(tree, 0));
    expect(files).toEqual(expect.arrayContaining(['pp_power_profile_mode', 'pcie_bw', 'pp_dpm_pcie']));
    expect(files).not.toContain('pp_od_clk_voltage');
    expect(hwmon(tree, 0).filter((name) => /^(fan|pwm)/.test(name))).toEqual([]);
  });

  it('shows no VRAM of MI300A under the newest driver', () => {
    const vram = (driver: 'linux-6.16' | 'linux-6.19'): string[] => {
      const tree = render({ model: 'mi300a', cards: 1, driver });
      return tree.list(device(tree, 0)).filter((name) => name.startsWith('mem_info_vram'));
    };
    expect(vram('linux-6.16')).toEqual(['mem_info_vram_total', 'mem_info_vram_used']);
    expect(vram('linux-6.19')).toEqual([]);
  });

  it('has board sensors and a second cap on MI355X, the baseboard on one module alone', () => {
    const tree = render({ model: 'mi355x', cards: 8 });
    const boards = Array.from({ length: 8 }, (_, gpu) => tree.list(`${device(tree, 8 * gpu)}/board`));
    for (const board of boards) expect(board).toEqual(expect.arrayContaining(['gpuboard_temp', 'node_power']));
    expect(boards.filter((board) => board.includes('baseboard_temp'))).toHaveLength(1);
    expect(hwmon(tree, 0)).toContain('power2_cap');
    expect(tree.text(`${device(tree, 0)}/hwmon/hwmon3/power2_label`)).toBe('PPT1\n');
  });

  it('has no xGMI files without a second GPU', () => {
    const names = (cards: number): string[] => {
      const tree = render({ model: 'mi300x', cards });
      return tree.list(device(tree, 0)).filter((name) => name.startsWith('xgmi_'));
    };
    expect(names(1)).toEqual([]);
    expect(names(2)).toContain('xgmi_hive_info');
  });
});
