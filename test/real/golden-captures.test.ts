import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { wireState } from '../../exporter/api.ts';
import { ALL_QUANTITIES } from '../../model/quantities/catalogue.ts';
import { metricName } from '../../model/quantities/quantity.ts';
import { stateSchema } from '../../model/wire.ts';
import { capturesDir } from '../support/captures.ts';
import { differences, type Expected } from '../support/expected.ts';
import { startExporter, type TestExporter } from '../support/exporter.ts';
import { promtoolCheckMetrics } from '../support/promtool.ts';
import { type Labels, Series } from '../support/series.ts';
import { skipUnless } from '../support/skips.ts';

const directory = capturesDir();

interface Capture {
  /** `radeon-rx580`, `mi210-sclk-levels-vary/auto`. */
  name: string;
  tree: string;
  /** By path below the tree. */
  expected: Record<string, Expected>;
}

/** Every folder that holds a sys or a proc, or variants that do; expected.json stands beside the variants. */
function captures(dir: string): Capture[] {
  const isTree = (path: string): boolean => ['sys', 'proc'].some((part) => existsSync(join(path, part)));
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const path = join(dir, name);
      const file = join(path, 'expected.json');
      const expected: Record<string, Expected> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
      if (isTree(path)) return [{ name, tree: path, expected }];
      return readdirSync(path)
        .filter((variant) => isTree(join(path, variant)))
        .map((variant) => ({
          name: `${name}/${variant}`,
          tree: join(path, variant),
          expected: Object.fromEntries(
            Object.entries(expected)
              .filter(([key]) => key.startsWith(`${variant}/`))
              .map(([key, value]) => [key.slice(variant.length + 1), value]),
          ),
        }));
    });
}

/** What the index of the captures says beyond expected.json, one check a capture. */
const FACTS: Record<string, (series: Series, text: string) => void> = {
  'apu-phoenix-780m'(series) {
    expect(series.value('amdgpu_power_watts')).toBe(3.103);
    expect(series.value('amdgpu_average_activity_ratio', { engine: 'gfx' })).toBeCloseTo(0.0079, 10);
    expect(series.value('amdgpu_temperature_celsius', { sensor: 'gfx' })).toBe(25);
    expect(series.value('amdgpu_temperature_celsius', { sensor: 'soc' })).toBe(27.37);
    expect(series.value('amdgpu_apu_power_watts', { component: 'soc' })).toBe(0.743);
    absent(series, 'amdgpu_apu_power_watts', { component: 'cpu' });
    absent(series, 'amdgpu_clock_hertz', { clock: 'vclk' });
    absent(series, 'amdgpu_energy_joules_total');
    expect(series.labelValues('amdgpu_info', 'unique_id')).toEqual(['']);
  },
  'apu-vangogh-steamdeck'(series) {
    expect(series.value('amdgpu_power_watts')).toBe(3.218);
    expect(series.value('amdgpu_power2_watts')).toBe(3.04);
    expect(series.value('amdgpu_power2_cap_max_watts')).toBe(30);
    absent(series, 'amdgpu_clock_level_hertz', { clock: 'mem' });
  },
  'fdinfo-rx-gfx-client'(series) {
    expect(series.value('amdgpu_gpus')).toBe(0);
    expect(series.value('amdgpu_process_vram_bytes', { pid: '2217' })).toBe(2117632);
    expect(series.value('amdgpu_process_gtt_bytes', { pid: '2217' })).toBe(8192 * 1024);
    expect(series.value('amdgpu_process_engine_seconds_total', { pid: '2217', engine: 'gfx' })).toBe(0.107322799);
    expect(series.value('amdgpu_processes_vram_bytes')).toBe(2117632);
  },
  'hung-gpu-empty-reads'(series) {
    expect(series.value('amdgpu_gpus')).toBe(1);
    expect(series.value('amdgpu_up')).toBe(0);
    expect(series.state('amdgpu_health', 'state')).toBe('silent');
    expect(series.all('amdgpu_read_errors_total').reduce((sum, { value }) => sum + value, 0)).toBeGreaterThan(0);
    const shown = hardware(series).filter((name) => series.all(name, { gpu: '0' }).length > 0);
    expect(shown).toEqual(['amdgpu_up', 'amdgpu_health', 'amdgpu_info']);
  },
  'mi210-sclk-levels-vary/auto': (series) => fineGrained(series, 800e6),
  'mi210-sclk-levels-vary/manual': (series) => fineGrained(series, 500e6),
  'mi210-x8-two-hives-kfd'(series) {
    expect(series.value('amdgpu_gpus')).toBe(8);
    expect(series.all('amdgpu_compute_units').map(({ value }) => value)).toEqual(Array(8).fill(104));
    expect(new Set(series.labelValues('amdgpu_info', 'gfx'))).toEqual(new Set(['gfx90a']));
    const hives = series.labelValues('amdgpu_xgmi_hive_info', 'hive');
    expect(new Set(hives).size).toBe(2);
    for (const hive of hives) expect(BigInt(hive)).toBeGreaterThan(2n ** 53n);
    // Numbered by address, whatever the order of the topology's nodes.
    const addresses = series.labelValues('amdgpu_info', 'pci_address');
    expect(addresses).toEqual([...addresses].sort());
    expect(series.labelValues('amdgpu_partition_info', 'kfd_node', { gpu: '0' })).toEqual(['4']);
    for (const gpu of ['0', '1', '2', '3', '4', '5', '6', '7'])
      expect(series.all('amdgpu_io_link_weight', { gpu, link: 'xgmi' })).toHaveLength(3);
  },
  'mi25-kfd-legacy'(series) {
    expect(series.value('amdgpu_gpus')).toBe(1);
    expect(series.labelValues('amdgpu_partition_info', 'kfd_gpu_id')).toEqual(['13261']);
    expect(series.value('amdgpu_vram_size_bytes')).toBe(17163091968);
    expect(series.value('amdgpu_vram_used_bytes')).toBe(14102528);
    absent(series, 'amdgpu_xccs');
    absent(series, 'amdgpu_xgmi_hive_info');
  },
  'mi250-x4-8dies-secondary-no-power'(series) {
    expect(series.value('amdgpu_gpus')).toBe(8);
    expect(series.labelValues('amdgpu_power_watts', 'gpu')).toEqual(['0', '2', '4', '6']);
    expect(series.all('amdgpu_power_watts').reduce((sum, { value }) => sum + value, 0)).toBe(922);
    expect(new Set(series.labelValues('amdgpu_info', 'package')).size).toBe(4);
    expect(series.labelValues('amdgpu_power_source', 'gpu', { gpu: '1' })).toEqual([]);
  },
  'mi300x-vf-guest-powercap'(series) {
    expect(series.labelValues('amdgpu_info', 'virtual')).toEqual(['true']);
    expect(series.value('amdgpu_power_watts')).toBe(191);
    for (const limit of ['critical', 'emergency']) absent(series, 'amdgpu_temperature_limit_celsius', { limit });
  },
  'mi300x-x4-spx-rocm6.0'(series) {
    expect(series.value('amdgpu_gpus')).toBe(4);
    expect(series.all('amdgpu_power_watts').map(({ value }) => value)).toEqual([133, 130, 131, 136]);
    expect(new Set(series.labelValues('amdgpu_temperature_celsius', 'sensor'))).toEqual(new Set(['junction', 'mem']));
    expect(series.all('amdgpu_clock_limit_hertz', { clock: 'gfx', bound: 'min' }).map((s) => s.value)).toEqual(
      Array(4).fill(500e6),
    );
    expect(series.all('amdgpu_clock_levels', { clock: 'gfx' }).map(({ value }) => value)).toEqual([2, 2, 2, 2]);
    for (let gpu = 0; gpu < 4; gpu++)
      expect(series.state('amdgpu_power_source', 'source', { gpu: String(gpu) })).toBe('instantaneous');
    for (const name of ['fan_speed_rpm', 'fan_duty_ratio', 'voltage_volts', 'overdrive_ratio', 'energy_joules_total'])
      absent(series, `amdgpu_${name}`);
    absent(series, 'amdgpu_process_vram_bytes');
  },
  'mi300x-x8-cpx-kfd'(series) {
    expect(series.value('amdgpu_gpus')).toBe(8);
    const partitions = series.all('amdgpu_partition_info');
    expect(partitions).toHaveLength(63);
    expect(series.all('amdgpu_partitions').map(({ value }) => value)).toEqual([8, 8, 8, 8, 8, 8, 8, 7]);
    for (let gpu = 0; gpu < 8; gpu++) {
      const own = series.labelValues('amdgpu_partition_info', 'partition', { gpu: String(gpu) }).map(Number);
      expect(own).toEqual(Array.from({ length: gpu === 7 ? 7 : 8 }, (_, i) => i));
    }
    const minors = partitions.map(({ labels }) => Number(labels.render_node?.replace('renderD', '')));
    expect([...minors].sort((a, b) => a - b)).toEqual(Array.from({ length: 63 }, (_, i) => 128 + i));
    expect(series.all('amdgpu_compute_units').every(({ value }) => value === 38)).toBe(true);
    expect(new Set(series.labelValues('amdgpu_info', 'unique_id')).size).toBe(8);
    for (const { labels } of series.all('amdgpu_info')) expect(labels.unique_id).toMatch(/^[0-9a-f]{16}$/);
    absent(series, 'amdgpu_vram_size_bytes');
  },
  'mi300x-x8-dpx'(series) {
    expect(series.value('amdgpu_gpus')).toBe(3);
    expect(series.labelValues('amdgpu_info', 'card')).toEqual(['card1', 'card9', 'card17']);
    expect(series.all('amdgpu_partitions').map(({ value }) => value)).toEqual([2, 2, 2]);
    expect(series.labelValues('amdgpu_partition_info', 'render_node', { gpu: '1' })).toEqual([
      'renderD136',
      'renderD137',
    ]);
    expect(series.all('amdgpu_compute_units').every(({ value }) => value === 152)).toBe(true);
    expect(series.all('amdgpu_partition_vram_size_bytes').every(({ value }) => value === 103070826496)).toBe(true);
    // The partitions' banks are views of one pool, and its size is in a file that is not in the capture.
    absent(series, 'amdgpu_vram_size_bytes');
  },
  'mi325x-powercap'(series) {
    expect(series.value('amdgpu_gpus')).toBe(1);
    expect(series.value('amdgpu_power_cap_watts')).toBe(1000);
  },
  'mi50-x2-kfd-proc'(series) {
    expect(series.value('amdgpu_gpus')).toBe(2);
    const at = (kfd: string): string =>
      series.labelValues('amdgpu_partition_info', 'gpu', { kfd_gpu_id: kfd })[0] ?? '';
    const vram = (gpu: string, pid: string) => series.value('amdgpu_process_vram_bytes', { gpu, pid });
    expect(vram(at('26273'), '132174')).toBe(15053770752);
    expect(vram(at('13261'), '132174')).toBe(16869904384);
    expect(vram(at('13261'), '74853')).toBe(0);
    expect(series.all('amdgpu_processes').map(({ value }) => value)).toEqual([1, 1]);
    expect(series.labelValues('amdgpu_process_vram_bytes', 'comm', { pid: '74853', gpu: at('26273') })).toEqual([
      'llama-server-du',
    ]);
  },
  'odd-nul-padded-files': rx6900xt,
  'radeon-rx6900xt'(series) {
    rx6900xt(series);
    // A fan that stands still is a reading.
    expect(series.value('amdgpu_fan_speed_rpm')).toBe(0);
  },
  'radeon-hd7870-radeon-driver'(series, text) {
    expect(series.value('amdgpu_gpus')).toBe(0);
    expect(hardware(series).filter((name) => series.all(name).some(({ labels }) => 'gpu' in labels))).toEqual([]);
    expect(text).not.toContain('amdgpu_read_errors_total{');
  },
  'radeon-r7-240-amdgpu-si'(series) {
    for (const name of ['power_watts', 'power_source', 'busy_ratio', 'clock_level_hertz', 'clock_limit_hertz'])
      absent(series, `amdgpu_${name}`);
    expect(series.state('amdgpu_fan_mode', 'mode')).toBe('full_speed');
    expect(series.labelValues('amdgpu_info', 'memory_vendor')).toEqual(['']);
  },
  'radeon-rx5700xt'(series) {
    absent(series, 'amdgpu_clock_level_hertz', { clock: 'gfx' });
    expect(series.value('amdgpu_clock_hertz', { clock: 'gfx' })).toBe(10e6);
  },
  'radeon-rx580'(series) {
    expect(series.value('amdgpu_clock_hertz', { clock: 'gfx' })).toBe(798080000);
    expect(series.value('amdgpu_clock_level_hertz', { clock: 'gfx' })).toBe(900e6);
    expect(series.value('amdgpu_power_watts')).toBe(41.045);
  },
  'radeon-rx6600xt-gfxoff'(series) {
    expect(series.value('amdgpu_voltage_volts', { rail: 'vddgfx' })).toBe(0.006);
    expect(series.value('amdgpu_clock_hertz', { clock: 'gfx' })).toBe(0);
    expect(series.value('amdgpu_power_cap_min_watts')).toBe(94);
    expect(series.value('amdgpu_power_cap_max_watts')).toBe(100);
  },
  'radeon-rx7800xt'(series) {
    expect(series.value('amdgpu_busy_ratio', { engine: 'gfx' })).toBe(0.02);
    expect(series.value('amdgpu_average_activity_ratio', { engine: 'gfx' })).toBe(0.24);
    expect(series.value('amdgpu_clock_level_hertz', { clock: 'gfx' })).toBe(77e6);
    expect(series.value('amdgpu_clock_limit_hertz', { clock: 'gfx', bound: 'min' })).toBe(500e6);
    absent(series, 'amdgpu_energy_joules_total');
  },
  'radeon-rx9070xt-deepsleep'(series) {
    expect(series.value('amdgpu_clock_deep_sleep', { clock: 'gfx' })).toBe(1);
    expect(series.value('amdgpu_power_cap_watts')).toBe(120);
    expect(series.value('amdgpu_power_cap_default_watts')).toBe(304);
    absent(series, 'amdgpu_fan_mode');
  },
  'radeon-vega56'(series) {
    expect(series.value('amdgpu_fan_speed_rpm')).toBe(5);
    absent(series, 'amdgpu_clock_hertz', { clock: 'pcie' });
    absent(series, 'amdgpu_pcie_received_bytes_per_second');
  },
  'radeon-vega56-manual'(series) {
    expect(series.state('amdgpu_perf_level', 'state')).toBe('manual');
    expect(series.labelValues('amdgpu_info', 'serial')).toEqual(['']);
    expect(series.all('amdgpu_pcie_aer_errors_total').length).toBeGreaterThan(10);
  },
  'rx5700xt-fan-65535'(series) {
    absent(series, 'amdgpu_fan_speed_rpm');
    expect(series.value('amdgpu_fan_speed_max_rpm')).toBe(3500);
  },
  'vega-fe-corrupt-511c'(series) {
    absent(series, 'amdgpu_temperature_celsius');
    expect(series.value('amdgpu_fan_duty_ratio')).toBe(1);
    expect(series.value('amdgpu_read_errors_total', { source: 'temp1_input', reason: 'implausible' })).toBeGreaterThan(
      0,
    );
  },
  'vm-qxl-card0-plus-7-amd'(series) {
    expect(series.value('amdgpu_gpus')).toBe(7);
    expect(series.labelValues('amdgpu_info', 'card').sort()).toEqual([1, 2, 3, 4, 5, 6, 7].map((n) => `card${n}`));
    const byCard = new Map(series.all('amdgpu_info').map(({ labels }) => [labels.card, labels.gpu as string]));
    const celsius = [1, 2, 3, 4, 5, 6, 7].map((n) =>
      series.value('amdgpu_temperature_celsius', { gpu: byCard.get(`card${n}`) ?? '', sensor: 'edge' }),
    );
    expect(celsius).toEqual([58, 62, 61, 61, 57, 59, 71]);
  },
};

function rx6900xt(series: Series): void {
  absent(series, 'amdgpu_energy_joules_total');
  absent(series, 'amdgpu_temperature_limit_celsius', { limit: 'critical_hysteresis' });
  absent(series, 'amdgpu_activity_accumulator_total');
  absent(series, 'amdgpu_firmware_clock_seconds_total');
  absent(series, 'amdgpu_average_clock_hertz', { clock: 'soc' });
  absent(series, 'amdgpu_temperature_celsius', { sensor: 'hbm0' });
  expect(series.value('amdgpu_temperature_celsius', { sensor: 'junction' })).toBe(59);
}

function fineGrained(series: Series, current: number): void {
  expect(series.value('amdgpu_clock_level_hertz', { clock: 'gfx' })).toBe(current);
  expect(series.value('amdgpu_clock_limit_hertz', { clock: 'gfx', bound: 'min' })).toBe(500e6);
  expect(series.value('amdgpu_clock_limit_hertz', { clock: 'gfx', bound: 'max' })).toBe(1700e6);
  expect(series.value('amdgpu_clock_levels', { clock: 'gfx' })).toBe(2);
}

function absent(series: Series, name: string, labels: Labels = {}): void {
  expect(series.all(name, labels), name).toEqual([]);
}

const NAMES = new Set(ALL_QUANTITIES.map(metricName));
/** Families of the catalogue in the scrape; node-wide ones included. */
function hardware(series: Series): string[] {
  return [...series.families.keys()].filter((name) => NAMES.has(name));
}

/** Values that no card has: the markers of absence, in the units that they would be published in. */
const NEVER: readonly [name: RegExp, values: readonly number[]][] = [
  [/_celsius$/, [-273.15, -273, 511, 65535, 655.35, 255]],
  [/_rpm$/, [65535, 4294967295]],
  [/_watts$/, [65535, 65.535, 4294967.295, 4294967295, 4294.967295]],
  [/_volts$/, [65.535, 65535]],
  [/_hertz$/, [65535e6, 4294967295e6, 255e6]],
  [/_ratio$/, [655.35, 2.55, 65535]],
  [/_width$/, [65535, 255]],
];

type Decoded = number | null | number[];
type Field = [metric: string, labels: Labels, factor: number];

/** Fields that no text file of the same tree tells as well; raw values are in the units of the table. */
const RADEON_FIELDS: Record<string, Field> = {
  average_gfx_activity: ['amdgpu_average_activity_ratio', { engine: 'gfx' }, 0.01],
  average_umc_activity: ['amdgpu_average_activity_ratio', { engine: 'memory_controller' }, 0.01],
  average_mm_activity: ['amdgpu_average_activity_ratio', { engine: 'vcn' }, 0.01],
  temperature_vrgfx: ['amdgpu_temperature_celsius', { sensor: 'vr_gfx' }, 1],
  temperature_vrsoc: ['amdgpu_temperature_celsius', { sensor: 'vr_soc' }, 1],
  temperature_vrmem: ['amdgpu_temperature_celsius', { sensor: 'vr_mem' }, 1],
  average_gfxclk_frequency: ['amdgpu_average_clock_hertz', { clock: 'gfx' }, 1e6],
  average_socclk_frequency: ['amdgpu_average_clock_hertz', { clock: 'soc' }, 1e6],
  average_uclk_frequency: ['amdgpu_average_clock_hertz', { clock: 'mem' }, 1e6],
  average_vclk0_frequency: ['amdgpu_average_clock_hertz', { clock: 'vclk' }, 1e6],
  average_dclk1_frequency: ['amdgpu_average_clock_hertz', { clock: 'dclk1' }, 1e6],
  voltage_soc: ['amdgpu_voltage_volts', { rail: 'vddsoc' }, 1e-3],
  voltage_mem: ['amdgpu_voltage_volts', { rail: 'vddmem' }, 1e-3],
  system_clock_counter: ['amdgpu_table_boottime_seconds', {}, 1e-9],
  gfx_activity_acc: ['amdgpu_activity_accumulator_total', { engine: 'gfx' }, 1],
  firmware_timestamp: ['amdgpu_firmware_clock_seconds_total', {}, 1e-8],
};
const APU_FIELDS: Record<string, Field> = {
  average_gfx_activity: ['amdgpu_average_activity_ratio', { engine: 'gfx' }, 1e-4],
  average_mm_activity: ['amdgpu_average_activity_ratio', { engine: 'vcn' }, 1e-4],
  temperature_gfx: ['amdgpu_temperature_celsius', { sensor: 'gfx' }, 0.01],
  temperature_soc: ['amdgpu_temperature_celsius', { sensor: 'soc' }, 0.01],
  average_cpu_power: ['amdgpu_apu_power_watts', { component: 'cpu' }, 1e-3],
  average_soc_power: ['amdgpu_apu_power_watts', { component: 'soc' }, 1e-3],
  average_gfx_power: ['amdgpu_apu_power_watts', { component: 'gfx' }, 1e-3],
  average_fclk_frequency: ['amdgpu_average_clock_hertz', { clock: 'fabric' }, 1e6],
  system_clock_counter: ['amdgpu_table_boottime_seconds', {}, 1e-9],
};

skipUnlessCaptures();
describe.each(directory === undefined ? [] : captures(directory))('the capture $name', ({ name, tree, expected }) => {
  let running: TestExporter;
  let text: string;
  let series: Series;
  beforeAll(async () => {
    running = await startExporter(tree);
    text = await running.settled();
    series = new Series(text);
  });
  afterAll(() => running.close());

  it('shows what its expected.json says, and nothing where that says null', () => {
    const wrong = Object.entries(expected).flatMap(([path, device]) => differences(series, tree, path, device));
    expect(wrong).toEqual([]);
  });

  it('shows what the index says of it', () => {
    FACTS[name]?.(series, text);
    const cards = Object.values(expected).filter((device) => device.is_amdgpu === true).length;
    if (cards > 0) expect(series.value('amdgpu_gpus')).toBe(cards);
  });

  it('holds no marker of absence as a value', () => {
    const markers = [...series.families].flatMap(([family, { samples }]) =>
      samples.filter(({ value }) => {
        const number = Number(value);
        const wrong = NEVER.some(([pattern, values]) => pattern.test(family) && values.includes(number));
        return wrong || number === 2 ** 64 || Number.isNaN(number);
      }),
    );
    expect(markers).toEqual([]);
  });

  it('gives each family its HELP and TYPE, and promtool finds nothing to say', async () => {
    for (const [family, { help }] of series.families) expect(help, family).toBeTruthy();
    expect(await promtoolCheckMetrics(text)).toEqual([]);
  });

  it('is told to other programs in the agreed form', () => {
    const { node } = running.exporter;
    const sent = JSON.parse(JSON.stringify(wireState('n', node.current().at, node.states(), [])));
    expect(stateSchema.parse(sent)).toEqual(sent);
    expect(sent.cards).toHaveLength(series.value('amdgpu_gpus') as number);
  });

  it('shows what its decoded table says beside it', () => {
    const file = Object.keys(expected).length === 1 ? join(tree, 'gpu_metrics.decoded.json') : '';
    const decoded: Record<string, Decoded> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    const fields = decoded.format_revision === 1 ? RADEON_FIELDS : APU_FIELDS;
    for (const [field, [metric, labels, factor]] of Object.entries(fields)) {
      const raw = decoded[field];
      if (raw === undefined || Array.isArray(raw)) continue;
      const published = series.value(metric, labels);
      if (raw === null) expect(published, field).toBeUndefined();
      else expect(published, field).toBeCloseTo(raw * factor, 9);
    }
  });

  it('is taken without a resolver that throws', () => {
    expect(running.logged.join('')).not.toMatch(/resolver/);
    const failed = series.all('amdgpu_exporter_collector_success').filter(({ value }) => value !== 1);
    // Processes are not to be had from a tree without them.
    const missing = existsSync(join(tree, 'proc')) ? [] : ['process'];
    expect(failed.map(({ labels }) => labels.collector)).toEqual(missing);
  });
});

function skipUnlessCaptures(): void {
  describe('the captures', () => {
    beforeEach(() => skipUnless(directory, 'the captures are not on this machine'));
    it('are all known to the index of facts', () => {
      const names = captures(directory as string).map((capture) => capture.name);
      expect(names.length).toBeGreaterThan(20);
      // A capture that came later is compared with its expected.json alone.
      expect(Object.keys(FACTS).filter((name) => !names.includes(name))).toEqual([]);
    });
  });
}
