import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Labels, Series } from './series.ts';

/** What a capture's expected.json says of one device directory; null: no value may be published. */
export type Expected = Record<string, unknown>;

/** One thing that the scrape shows otherwise than the capture's right reading. */
export interface Difference {
  what: string;
  expected: unknown;
  published: unknown;
}

interface Level {
  level: string;
  mhz?: number;
  lclk_mhz?: number | null;
  current: boolean;
}
interface Domain {
  levels?: Level[];
  current_mhz: number | null;
  ambiguous: boolean;
  deep_sleep: boolean;
}

const CLOCKS: Record<string, string> = {
  sclk: 'gfx',
  mclk: 'mem',
  fclk: 'fabric',
  socclk: 'soc',
  dcefclk: 'dcef',
  vclk: 'vclk',
  dclk: 'dclk',
  vclk1: 'vclk1',
  dclk1: 'dclk1',
};
/** Channels without a label file stand for what the driver has always had there. */
const UNLABELLED: Record<string, string> = {
  temp1: 'edge',
  temp2: 'junction',
  temp3: 'mem',
  freq1: 'sclk',
  freq2: 'mclk',
};
const NUMBERS: Record<string, [metric: string, factor: number, labels?: Labels]> = {
  gpu_busy_percent: ['amdgpu_busy_ratio', 0.01, { engine: 'gfx' }],
  mem_busy_percent: ['amdgpu_busy_ratio', 0.01, { engine: 'memory_controller' }],
  vcn_busy_percent: ['amdgpu_busy_ratio', 0.01, { engine: 'vcn' }],
  mem_info_vram_total: ['amdgpu_vram_size_bytes', 1],
  mem_info_vram_used: ['amdgpu_vram_used_bytes', 1],
  mem_info_vis_vram_total: ['amdgpu_visible_vram_size_bytes', 1],
  mem_info_vis_vram_used: ['amdgpu_visible_vram_used_bytes', 1],
  mem_info_gtt_total: ['amdgpu_gtt_size_bytes', 1],
  mem_info_gtt_used: ['amdgpu_gtt_used_bytes', 1],
  pcie_replay_count: ['amdgpu_pcie_replays_total', 1],
  fan_rpm: ['amdgpu_fan_speed_rpm', 1],
  pwm: ['amdgpu_fan_duty_ratio', 1 / 255],
};
const IDENTITY: Record<string, string> = {
  device: 'device_id',
  unique_id: 'unique_id',
  serial_number: 'serial',
  product_name: 'product',
  vbios_version: 'vbios',
  mem_info_vram_vendor: 'memory_vendor',
};
const STATES: Record<string, [metric: string, label: string]> = {
  power_dpm_force_performance_level: ['amdgpu_perf_level', 'state'],
  power_state: ['amdgpu_pci_power_state', 'state'],
  current_compute_partition: ['amdgpu_compute_partition', 'mode'],
  current_memory_partition: ['amdgpu_memory_partition', 'mode'],
};
const CAPS: Record<string, string> = {
  power1_cap: 'amdgpu_power_cap_watts',
  power1_cap_min: 'amdgpu_power_cap_min_watts',
  power1_cap_max: 'amdgpu_power_cap_max_watts',
  power1_cap_default: 'amdgpu_power_cap_default_watts',
  power2_cap: 'amdgpu_power2_cap_watts',
  power2_cap_min: 'amdgpu_power2_cap_min_watts',
  power2_cap_max: 'amdgpu_power2_cap_max_watts',
  power2_cap_default: 'amdgpu_power2_cap_default_watts',
};
/** Say which device it is, or nothing that is published. */
const NOT_PUBLISHED = new Set(['driver', 'pci_slot', 'vendor', 'is_amdgpu', 'hwmon_name']);

/** PCI address of a device of expected.json: from its uevent, or else from its own path. */
export function addressOf(path: string, device: Expected): string | undefined {
  return (device.pci_slot as string | null) ?? /[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/.exec(path)?.[0];
}

/** Everything that the scrape shows of one device otherwise than expected. Throws at a key that it does not know. */
export function differences(series: Series, tree: string, path: string, device: Expected): Difference[] {
  const found: Difference[] = [];
  const pci = addressOf(path, device);
  const cards = series.all('amdgpu_info', pci === undefined ? {} : { pci_address: pci });
  if (device.is_amdgpu !== true) return cards.length === 0 ? [] : [{ what: 'card', expected: null, published: pci }];
  const card = cards[0];
  if (card === undefined || cards.length > 1) return [{ what: 'card', expected: pci, published: cards.length }];
  const gpu = card.labels.gpu as string;
  const compare = new Comparer(series, gpu, existsSync(join(tree, path, 'gpu_metrics')), found);
  for (const [key, value] of Object.entries(device)) compare.key(key, value, card.labels);
  return found;
}

class Comparer {
  readonly #series: Series;
  readonly #gpu: string;
  /** The binary table may say what the text files do not; its own decoded file stands beside it. */
  readonly #hasTable: boolean;
  readonly #found: Difference[];

  constructor(series: Series, gpu: string, hasTable: boolean, found: Difference[]) {
    this.#series = series;
    this.#gpu = gpu;
    this.#hasTable = hasTable;
    this.#found = found;
  }

  key(key: string, value: unknown, identity: Labels): void {
    const number = NUMBERS[key];
    const label = IDENTITY[key];
    const state = STATES[key];
    if (NOT_PUBLISHED.has(key)) return;
    if (number !== undefined) {
      const expected = value === null ? null : (value as number) * number[1];
      this.#number(key, number[0], number[2] ?? {}, expected);
    } else if (label !== undefined) this.#same(key, value === 'unknown' ? null : value, identity[label] ?? null);
    else if (state !== undefined) this.#same(key, value, this.#state(...state));
    else if (key === 'current_link_width') {
      this.#number(key, 'amdgpu_pcie_link_width', {}, value === null ? null : Number(value));
    } else if (key === 'current_link_speed') {
      const speed = value === null ? null : Number.parseFloat(value as string) * 1e9;
      this.#number(key, 'amdgpu_pcie_link_speed_transfers_per_second', {}, speed);
    } else if (key === 'clocks') this.#clocks(value as Record<string, Domain>);
    else if (key === 'temperatures') this.#temperatures(value as Record<string, Record<string, number | null>>);
    else if (key === 'power_w') this.#power(value as Record<string, number | null>);
    else if (key === 'power_cap_w') this.#caps(value as Record<string, number | null>);
    else if (key === 'voltage_mv') this.#voltages(value as Record<string, number | null>);
    else if (key === 'freq_hz') this.#frequencies(value as Record<string, number | null>);
    else throw new Error(`expected.json has a key that is not compared: ${key}`);
  }

  #clocks(domains: Record<string, Domain>): void {
    for (const [name, domain] of Object.entries(domains)) {
      if (name === 'pcie') this.#pcieClock(domain);
      else this.#domain(name, domain);
    }
    for (const clock of this.#labels('amdgpu_clock_level_hertz', 'clock')) {
      const known = Object.entries(CLOCKS).find(([, ours]) => ours === clock)?.[0];
      if (known === undefined || domains[known] === undefined) this.#same(`level of ${clock}`, null, 'a level');
    }
  }

  #domain(name: string, { levels = [], current_mhz, deep_sleep }: Domain): void {
    const clock = CLOCKS[name];
    if (clock === undefined) throw new Error(`expected.json has a clock that is not compared: ${name}`);
    const hertz = current_mhz === null ? null : current_mhz * 1e6;
    this.#number(`clocks.${name}.current_mhz`, 'amdgpu_clock_level_hertz', { clock }, hertz);
    const sleeps = levels.length === 0 ? null : Number(deep_sleep);
    this.#number(`clocks.${name}.deep_sleep`, 'amdgpu_clock_deep_sleep', { clock }, sleeps);
    const numbered = levels.filter(({ level }) => /^\d+$/.test(level)).map(({ mhz }) => mhz as number);
    const ends = [numbered[0], numbered.at(-1)].filter((mhz) => mhz !== undefined);
    const max = Math.max(...ends);
    const none = ends.length === 0 || max === 0;
    this.#number(`clocks.${name} max`, 'amdgpu_clock_limit_hertz', { clock, bound: 'max' }, none ? null : max * 1e6);
    // An S line without star has taken the place of the lowest line.
    if (levels.some(({ level, current }) => level === 'S' && !current)) return;
    const min = none ? null : Math.min(...ends) * 1e6;
    this.#number(`clocks.${name} min`, 'amdgpu_clock_limit_hertz', { clock, bound: 'min' }, min);
  }

  #pcieClock({ levels = [], ambiguous }: Domain): void {
    const mhz = ambiguous ? undefined : levels.find(({ current }) => current)?.lclk_mhz;
    this.#number('clocks.pcie', 'amdgpu_clock_hertz', { clock: 'pcie' }, mhz == null ? null : mhz * 1e6);
  }

  #temperatures(sensors: Record<string, Record<string, number | null>>): void {
    const expected = new Set<string>();
    for (const [name, { celsius, crit, emergency }] of Object.entries(sensors)) {
      const sensor = UNLABELLED[name] ?? name;
      expected.add(sensor);
      const limit = (value: number | null | undefined, which: string): void =>
        this.#number(`${name} ${which}`, 'amdgpu_temperature_limit_celsius', { sensor, limit: which }, value ?? null);
      this.#number(`${name}`, 'amdgpu_temperature_celsius', { sensor }, celsius ?? null);
      limit(crit, 'critical');
      limit(emergency, 'emergency');
    }
    this.#noOthers('amdgpu_temperature_celsius', 'sensor', expected);
    this.#noOthers('amdgpu_temperature_limit_celsius', 'sensor', expected, true);
  }

  #power(channels: Record<string, number | null>): void {
    const first = channels.power1_average ?? channels.power1_input ?? null;
    if (first !== null || !this.#hasTable) this.#number('power', 'amdgpu_power_watts', {}, first);
    this.#number('power2', 'amdgpu_power2_watts', {}, channels.power2_average ?? channels.power2_input ?? null);
  }

  #caps(caps: Record<string, number | null>): void {
    for (const key of Object.keys(caps)) if (!(key in CAPS)) throw new Error(`a cap that is not compared: ${key}`);
    for (const [key, metric] of Object.entries(CAPS)) {
      // Not told of this capture, though the file is there: only what is told can be compared.
      if (key.startsWith('power2_cap_') && caps[key] === undefined) continue;
      this.#number(key, metric, {}, caps[key] ?? null);
    }
  }

  #voltages(rails: Record<string, number | null>): void {
    for (const [rail, millivolts] of Object.entries(rails)) {
      this.#number(`voltage ${rail}`, 'amdgpu_voltage_volts', { rail }, millivolts === null ? null : millivolts / 1000);
    }
    this.#noOthers('amdgpu_voltage_volts', 'rail', new Set(Object.keys(rails)));
  }

  #frequencies(channels: Record<string, number | null>): void {
    for (const [name, hertz] of Object.entries(channels)) {
      const clock = CLOCKS[UNLABELLED[name] ?? name];
      if (clock === undefined) throw new Error(`expected.json has a frequency that is not compared: ${name}`);
      this.#number(`freq ${name}`, 'amdgpu_clock_hertz', { clock }, hertz);
    }
  }

  #noOthers(metric: string, label: string, expected: ReadonlySet<string>, always = false): void {
    if (this.#hasTable && !always) return;
    for (const one of new Set(this.#labels(metric, label))) {
      if (!expected.has(one)) this.#same(`${metric} ${one}`, null, 'a value');
    }
  }

  #labels(metric: string, label: string): string[] {
    return this.#series.labelValues(metric, label, { gpu: this.#gpu });
  }

  #state(metric: string, label: string): string | null {
    return this.#series.state(metric, label, { gpu: this.#gpu }) ?? null;
  }

  #number(what: string, metric: string, labels: Labels, expected: number | null): void {
    const published = this.#series.value(metric, { gpu: this.#gpu, ...labels }) ?? null;
    const close =
      expected !== null && published !== null && Math.abs(published - expected) <= Math.abs(expected) * 1e-9;
    if (!close) this.#same(what, expected, published);
  }

  #same(what: string, expected: unknown, published: unknown): void {
    if (expected !== published) this.#found.push({ what, expected, published });
  }
}
