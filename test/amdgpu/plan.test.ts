import { describe, expect, it } from 'vitest';
import { cadenceOf, groupOf, needed } from '../../amdgpu/plan.ts';
import { GROUPS } from '../../model/quantities/quantity.ts';
import { table } from './resolve/fixture.ts';

describe('what is read when', () => {
  it.each(['gpu_metrics', 'mem_info_vram_used', 'hwmon/power1_cap', 'pp_dpm_sclk', 'ras/event_state'])(
    '%s at each pass',
    (name) => expect(cadenceOf(name)).toBe('pass'),
  );

  it.each(['ras/umc_err_count', 'ras/gfx_err_count', 'xgmi_error'])(
    '%s on a slow timer: the read clears what it tells',
    (name) => expect(cadenceOf(name)).toBe('costly'),
  );

  it.each([
    'pcie_bw',
    'reg_state',
    'pm_metrics',
    'pp_table',
    'remove',
    'rescan',
    'reset',
    'rom',
    'config',
    'resource0',
    'resource0_wc',
    'driver_override',
    'msi_irqs',
    'ip_discovery',
    'pp_features',
    'a_file_that_comes_with_a_later_driver',
  ])('%s never', (name) => expect(cadenceOf(name)).toBe('never'));

  it.each(['unique_id', 'vbios_version', 'hwmon/temp2_crit', 'fw_version/smc_fw_version', 'hwmon/temp1_label'])(
    '%s once',
    (name) => expect(cadenceOf(name)).toBe('static'),
  );

  it.each(['hwmon/temp2_input', 'gpu_busy_percent', 'xcp/xcp_metrics', 'xcp3/xcp_metrics', 'pp_dpm_mclk'])(
    '%s while the table does not tell',
    (name) => expect(cadenceOf(name)).toBe('fallback'),
  );
});

describe('a file beside the table', () => {
  const told = table('1.8', { temperature_hotspot: 42, curr_socket_power: 130, current_uclk: 900, xcp: [{}] });

  it('is not read where an Instinct\u2019s table says the same', () => {
    for (const name of ['hwmon/temp2_input', 'hwmon/power1_input', 'pp_dpm_mclk', 'xcp/xcp_metrics'])
      expect(needed(name, 'mi300', told), name).toBe(false);
  });

  it('is read where the table holds nothing for it, or there is no table', () => {
    expect(needed('hwmon/temp3_input', 'mi300', told)).toBe(true);
    expect(needed('hwmon/temp2_input', 'mi300', undefined)).toBe(true);
    expect(needed('hwmon/in1_input', 'mi300', told)).toBe(true);
  });

  it('is read on Radeon in any case: it is finer there', () => {
    expect(needed('hwmon/temp2_input', 'navi2', table('1.3', { temperature_hotspot: 42 }))).toBe(true);
  });

  it('is read where the table\u2019s 0 says nothing', () => {
    const zeros = table('1.3', { average_socket_power: 0, current_vclk0: 0, temperature_edge: 0 });
    expect(needed('hwmon/power1_average', 'mi200', zeros)).toBe(true);
    expect(needed('pp_dpm_vclk', 'mi200', zeros)).toBe(true);
    expect(needed('hwmon/temp1_input', 'mi200', zeros)).toBe(false);
  });

  it('of a partition is read where the socket\u2019s table does not list the partitions', () => {
    expect(needed('xcp2/xcp_metrics', 'mi300', table('1.9', {}))).toBe(true);
    expect(needed('xcp2/xcp_metrics', 'mi300', table('1.5', {}))).toBe(true);
  });
});

it('files of one collector alone are known as such, and tables belong to none', () => {
  const groups = ['ras/umc_err_count', 'hwmon/temp2_input', 'pp_dpm_sclk', 'kfd/used_memory', 'gpu_metrics'].map(
    groupOf,
  );
  expect(groups).toEqual(['ras', 'thermal', 'clocks', 'memory', undefined]);
  for (const group of groups) if (group !== undefined) expect(GROUPS).toContain(group);
});
