import { describe, expect, it } from 'vitest';
import { COLLECTORS, CORE } from '../../exporter/collectors.ts';
import { ALL_QUANTITIES, CATALOGUE } from '../../model/quantities/catalogue.ts';
import { GROUPS, helpText, metricName, type Quantity } from '../../model/quantities/quantity.ts';
import { UNIT_SUFFIX } from '../../model/units.ts';

const byName = new Map(ALL_QUANTITIES.map((quantity) => [metricName(quantity), quantity]));

/** Labels as a scrape shows them. */
function labelsOf(q: Quantity): string[] {
  return [...(q.node === true ? [] : ['gpu']), ...q.labels, ...(q.partitioned === true ? ['partition'] : [])];
}

describe('each quantity', () => {
  it('has a metric name of its own', () => {
    expect(byName.size).toBe(ALL_QUANTITIES.length);
  });

  it('has a key of its own, but for a counter that is shown in ticks and in seconds', () => {
    const shared = new Map<string, Quantity[]>();
    for (const quantity of ALL_QUANTITIES) shared.set(quantity.key, [...(shared.get(quantity.key) ?? []), quantity]);
    for (const [key, [first, ...more]] of shared) {
      if (more.length === 0) continue;
      expect([first, ...more].map((one) => one?.unit).sort(), key).toEqual(['seconds', 'ticks']);
    }
  });

  it.each([...byName])('%s is named as Prometheus asks for it', (name, quantity) => {
    expect(name).toMatch(/^amdgpu_[a-z][a-z0-9_]*$/);
    expect(name).not.toMatch(/__/);
    expect(name.endsWith('_total')).toBe(quantity.kind === 'counter');
    expect(name.endsWith('_info')).toBe(quantity.kind === 'info');
    expect(name).not.toMatch(/_(milli|micro|mega|kilo|giga|percent|mhz|mb|gb|kb|ms|us|bits)(_|$)/);
    const unit = UNIT_SUFFIX[quantity.unit];
    expect(name.replace(/_(total|info)$/, '').endsWith(unit)).toBe(true);
    // The unit stands once.
    if (unit !== '') expect(name.split(unit.slice(1))).toHaveLength(2);
  });

  it.each([...byName])('%s says what it is and where it is read', (_name, quantity) => {
    expect(quantity.help).toMatch(/^[\dA-Z].*\.$/s);
    expect(quantity.help).not.toMatch(/\n|TODO/);
    expect(quantity.sources.length).toBeGreaterThan(0);
    for (const source of quantity.sources) expect(helpText(quantity)).toContain(source);
    expect(quantity.rows.length).toBeGreaterThan(0);
    for (const row of quantity.rows) expect(row).toMatch(/^[A-Z]\d+$/);
  });

  it.each([...byName])('%s has labels that are its own', (_name, quantity) => {
    const labels = labelsOf(quantity);
    expect(new Set(labels).size).toBe(labels.length);
    for (const label of labels) {
      expect(label).toMatch(/^[a-z][a-z0-9_]*$/);
      // What Prometheus, its rules and the targets put on every series, and what the format keeps for itself.
      expect(['job', 'instance', 'node', 'cluster', 'le', 'quantile', 'alertname']).not.toContain(label);
    }
  });

  it('that is a share lies between 0 and 1', () => {
    for (const quantity of ALL_QUANTITIES) {
      if (quantity.unit === 'ratio') expect(quantity.plausible, metricName(quantity)).toEqual([0, 1]);
      if (quantity.plausible === undefined) continue;
      expect(quantity.plausible[0], metricName(quantity)).toBeLessThan(quantity.plausible[1]);
    }
  });

  it('that a sensor measures has a window outside which it is not believed', () => {
    for (const quantity of ALL_QUANTITIES) {
      if (
        quantity.kind !== 'gauge' ||
        !['celsius', 'watts', 'volts', 'hertz', 'rpm', 'amperes'].includes(quantity.unit)
      )
        continue;
      if (quantity.cadence === 'static') continue;
      expect(quantity.plausible, metricName(quantity)).toBeDefined();
    }
  });
});

describe('names that other people build on', () => {
  const core: Record<string, string[]> = {
    amdgpu_gpus: [],
    amdgpu_up: ['gpu'],
    amdgpu_busy_ratio: ['gpu', 'engine'],
    amdgpu_activity_accumulator_total: ['gpu', 'engine'],
    amdgpu_accumulation_ticks_total: ['gpu'],
    amdgpu_vram_size_bytes: ['gpu'],
    amdgpu_vram_used_bytes: ['gpu'],
    amdgpu_gtt_size_bytes: ['gpu'],
    amdgpu_gtt_used_bytes: ['gpu'],
    amdgpu_temperature_celsius: ['gpu', 'sensor'],
    amdgpu_temperature_limit_celsius: ['gpu', 'sensor', 'limit'],
    amdgpu_power_watts: ['gpu'],
    amdgpu_power_cap_watts: ['gpu'],
    amdgpu_power_cap_min_watts: ['gpu'],
    amdgpu_power_cap_max_watts: ['gpu'],
    amdgpu_power_cap_default_watts: ['gpu'],
    amdgpu_energy_joules_total: ['gpu'],
    amdgpu_clock_hertz: ['gpu', 'clock'],
    amdgpu_clock_limit_hertz: ['gpu', 'clock', 'bound'],
    amdgpu_voltage_volts: ['gpu', 'rail'],
    amdgpu_fan_speed_rpm: ['gpu'],
    amdgpu_throttle_ticks_total: ['gpu', 'cause'],
    amdgpu_throttle_active: ['gpu', 'cause'],
    amdgpu_pcie_link_width: ['gpu'],
    amdgpu_pcie_link_speed_transfers_per_second: ['gpu'],
    amdgpu_pcie_replays_total: ['gpu'],
    amdgpu_xgmi_read_bytes_total: ['gpu', 'link'],
    amdgpu_xgmi_write_bytes_total: ['gpu', 'link'],
    amdgpu_ras_errors_total: ['gpu', 'block', 'severity'],
    amdgpu_bad_pages: ['gpu', 'state'],
    amdgpu_perf_level: ['gpu', 'state'],
  };

  it.each(Object.entries(core))('%s carries exactly %j', (name, labels) => {
    const quantity = byName.get(name);
    expect(quantity).toBeDefined();
    expect(labelsOf(quantity as Quantity)).toEqual(labels);
  });

  it('amdgpu_info carries the identity', () => {
    expect(labelsOf(byName.get('amdgpu_info') as Quantity)).toEqual(
      expect.arrayContaining([
        'gpu',
        'pci_address',
        'package',
        'unique_id',
        'serial',
        'product',
        'device_id',
        'gfx',
        'vbios',
        'driver',
      ]),
    );
  });

  it('the widest link, partitions and memory of processes have their families', () => {
    const wanted = ['amdgpu_pcie_link_width_max', 'amdgpu_pcie_link_speed_max_transfers_per_second'];
    for (const name of [...wanted, 'amdgpu_partition_info', 'amdgpu_process_vram_bytes'])
      expect(byName.has(name), name).toBe(true);
    expect(labelsOf(byName.get('amdgpu_process_vram_bytes') as Quantity)).toEqual(
      expect.arrayContaining(['gpu', 'pid', 'partition']),
    );
  });
});

describe('the catalogue', () => {
  it('holds each group under its own name, and each group has a collector or is always on', () => {
    for (const group of GROUPS) for (const quantity of CATALOGUE[group]) expect(quantity.group).toBe(group);
    const collected = COLLECTORS.flatMap((collector) => collector.groups);
    expect([...collected, ...new Set(CORE.map((quantity) => quantity.group))].sort()).toEqual([...GROUPS].sort());
  });
});
