import { describe, expect, it } from 'vitest';
import { decodeHsmp, encodeHsmp, HSMP_BYTES } from '../../../amdgpu/tables/hsmp.ts';
import type { Table } from '../../../amdgpu/tables/types.ts';
import { put, type Width } from './bytes.ts';

function hsmp(writes: readonly (readonly [number, Width, number | bigint])[]): Table {
  const bytes = new Uint8Array(1404);
  for (const [offset, width, raw] of writes) put(bytes, offset, width, raw);
  const result = decodeHsmp(bytes);
  if (!result.ok) throw new Error(result.fault);
  return result.table;
}

describe('HSMP metrics_bin of MI300A', () => {
  it('gives activity in percent from ten fraction bits', () => {
    const table = hsmp([
      [1268, 'u32', 4433],
      [1272, 'u32', 100 * 1024],
      [1276, 'u32', 512],
      [1280, 'u64', 1024n * 311_523_106n],
      [1288, 'u64', 1024n * 84_739n + 256n],
      [1308, 'u64', 2048n],
    ]);
    expect(table.num('socket_c0_residency')).toBeCloseTo(4.329, 3);
    expect(table.num('socket_gfx_busy')).toBe(100);
    expect(table.num('dram_bandwidth_utilization')).toBe(0.5);
    expect(table.num('socket_c0_residency_acc')).toBe(311_523_106);
    expect(table.num('socket_gfx_busy_acc')).toBe(84_739.25);
    expect(table.num('dram_bandwidth_utilization_acc')).toBe(2);
    expect(table.unit('socket_c0_residency_acc')).toBe('percent_sample');
  });

  it('gives energy of each kind of die in joules and its time in nanoseconds', () => {
    const table = hsmp([
      [0, 'u32', 2_887_162_626],
      [52, 'u64', 288_731_677_361_880n],
      [60, 'u64', 65536n * 166_127_840n],
      [68, 'u64', 65536n * 3_317_837n],
      [76, 'u64', 65536n * 21_889_147n],
      [84, 'u64', 65536n * 121_932_397n],
      [92, 'u64', 65536n * 18_994_108n + 32768n],
    ]);
    expect(table.num('accumulation_counter')).toBe(2_887_162_626);
    expect(table.num('timestamp')).toBe(2_887_316_773_618_800);
    expect(table.num('socket_energy_acc')).toBe(166_127_840);
    expect(table.num('ccd_energy_acc')).toBe(3_317_837);
    expect(table.num('xcd_energy_acc')).toBe(21_889_147);
    expect(table.num('aid_energy_acc')).toBe(121_932_397);
    expect(table.num('hbm_energy_acc')).toBe(18_994_108.5);
    expect(table.big('hbm_energy_acc')).toBe(65536n * 18_994_108n + 32768n);
  });

  it('gives signed temperatures and power', () => {
    const table = hsmp([
      [4, 'i32', 41 * 1024],
      [8, 'i32', -10 * 1024 - 512],
      [12, 'i32', -1],
      [16, 'i64', -2048n],
      [40, 'u32', 550 * 1024],
      [44, 'u32', 551 * 1024],
      [48, 'u32', 105_142],
    ]);
    expect(table.num('max_socket_temperature')).toBe(41);
    expect(table.num('max_vr_temperature')).toBe(-10.5);
    expect(table.num('max_hbm_temperature')).toBe(-1 / 1024);
    expect(table.num('max_socket_temperature_acc')).toBe(-2);
    expect(table.num('socket_power_limit')).toBe(550);
    expect(table.num('max_socket_power_limit')).toBe(551);
    expect(table.num('socket_power')).toBeCloseTo(102.678, 3);
  });

  it('gives clocks, the cores in GHz', () => {
    const table = hsmp([
      [100, 'u32', 3789],
      [108, 'u32', 2000 * 1024],
      [112, 'u32', 1300 * 1024],
      [116, 'u32', 36 * 1024],
      [176, 'u32', 600 * 1024],
      [180, 'u64', 1024n],
      [1004, 'u64', 2048n],
      [1020, 'u32', 2100 * 1024],
      [1024, 'u32', 500 * 1024],
      [1124, 'u32', 2],
      [1372, 'u32', 31 * 1024],
      [1400, 'u32', 32 * 1024],
    ]);
    expect(table.num('cclk_frequency_limit')).toBeCloseTo(3.7, 3);
    expect(table.unit('cclk_frequency_limit')).toBe('gigahertz');
    expect(table.num('fclk_frequency')).toBe(2000);
    expect(table.num('uclk_frequency')).toBe(1300);
    expect(table.nums('socclk_frequency')?.[0]).toBe(36);
    expect(table.nums('lclk_frequency')?.[3]).toBe(600);
    expect(table.nums('gfxclk_frequency_acc')?.[0]).toBe(1);
    expect(table.nums('cclk_frequency_acc')?.[95]).toBe(2);
    expect(table.num('max_gfxclk_frequency')).toBe(2100);
    expect(table.num('min_gfxclk_frequency')).toBe(500);
    expect(table.num('max_lclk_dpm_range')).toBe(2);
    expect(table.nums('gfxclk_frequency')).toEqual([31, 0, 0, 0, 0, 0, 0, 32]);
  });

  it('gives memory bandwidth, links and residencies', () => {
    const table = hsmp([
      [1132, 'u32', 16 * 1024],
      [1136, 'u32', 32 * 1024],
      [1140, 'u64', 5120n],
      [1260, 'u64', 1024n],
      [1296, 'u64', 1024n * 33_231_180n],
      [1304, 'u32', 5_452_595],
      [1340, 'u64', 4096n],
      [1348, 'u32', 1],
      [1352, 'u32', 2],
      [1356, 'u32', 3],
      [1360, 'u32', 4],
      [1364, 'u32', 0xffffffff],
    ]);
    expect(table.num('xgmi_width')).toBe(16);
    expect(table.num('xgmi_bitrate')).toBe(32);
    expect(table.nums('xgmi_read_bandwidth_acc')?.[0]).toBe(5);
    expect(table.nums('xgmi_write_bandwidth_acc')?.[7]).toBe(1);
    expect(table.num('dram_bandwidth_acc')).toBe(33_231_180);
    expect(table.num('max_dram_bandwidth')).toBeCloseTo(5324.8, 2);
    expect(table.nums('pcie_bandwidth_acc')?.[3]).toBe(4);
    expect(table.num('prochot_residency_acc')).toBe(1);
    expect(table.num('ppt_residency_acc')).toBe(2);
    expect(table.num('socket_thm_residency_acc')).toBe(3);
    expect(table.num('vr_thm_residency_acc')).toBe(4);
    expect(table.num('hbm_thm_residency_acc')).toBe(0xffffffff);
    expect(table.unit('ppt_residency_acc')).toBe('tick');
  });

  it('refuses a part of the table, and an SMU region that is not mapped', () => {
    expect(decodeHsmp(new Uint8Array(HSMP_BYTES - 1))).toEqual({ ok: false, fault: 'short' });
    expect(decodeHsmp(new Uint8Array(HSMP_BYTES).fill(0xff))).toEqual({ ok: false, fault: 'bad_header' });
    expect(decodeHsmp(new Uint8Array(4096)).ok).toBe(true);
  });

  it('takes what its encoder writes', () => {
    const result = decodeHsmp(
      encodeHsmp({ socket_gfx_busy: 12.5, max_vr_temperature: -3, xcd_energy_acc: 9n, vclk_frequency: [1, 2] }),
    );
    if (!result.ok) throw new Error(result.fault);
    expect(result.table.num('socket_gfx_busy')).toBe(12.5);
    expect(result.table.num('max_vr_temperature')).toBe(-3);
    expect(result.table.big('xcd_energy_acc')).toBe(9n);
    expect(result.table.nums('vclk_frequency')).toEqual([1, 2, 0, 0]);
  });
});
