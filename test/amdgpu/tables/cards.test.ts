import { describe, expect, it } from 'vitest';
import { blank, decoded, expectOnly, put, type Write } from './bytes.ts';

const HEAD: readonly Write[] = [
  [4, 'u16', 41, 'temperature_edge', 41],
  [6, 'u16', 55, 'temperature_hotspot', 55],
  [8, 'u16', 48, 'temperature_mem', 48],
  [14, 'u16', 39, 'temperature_vrmem', 39],
  [16, 'u16', 97, 'average_gfx_activity', 97],
  [18, 'u16', 0, 'average_umc_activity', 0],
  [22, 'u16', 255, 'average_socket_power', 255],
];
const CLOCKS: readonly Write[] = [
  [40, 'u16', 1700, 'average_gfxclk_frequency', 1700],
  [52, 'u16', 900, 'average_dclk1_frequency', 900],
  [54, 'u16', 1502, 'current_gfxclk', 1502],
  [58, 'u16', 1600, 'current_uclk', 1600],
  [66, 'u16', 0, 'current_dclk1', 0],
  [72, 'u16', 1234, 'current_fan_speed', 1234],
];
const COUNTERS: readonly Write[] = [
  [24, 'u64', 0x0123456789abcdefn, 'energy_accumulator', 0x0123456789abcdefn],
  [32, 'u64', 9_007_199_254_740_993n, 'system_clock_counter', 9_007_199_254_740_993n],
  [80, 'u32', 4_294_967_294, 'gfx_activity_acc', 4_294_967_294],
  [84, 'u32', 17, 'mem_activity_acc', 17],
];
const LINK_AND_HBM: readonly Write[] = [
  [68, 'u32', 0x80800, 'throttle_status', 0x80800],
  [74, 'u16', 16, 'pcie_link_width', 16],
  [76, 'u16', 160, 'pcie_link_speed', 16],
  [88, 'u16', 50, 'temperature_hbm[0]', 50],
  [94, 'u16', 53, 'temperature_hbm[3]', 53],
];

describe('gpu_metrics 1.0', () => {
  it('has its clock counter first and eight-byte aligned', () => {
    expectOnly('gpu_metrics', '1.0', 80, [
      [8, 'u64', 12_345_678_901_234n, 'system_clock_counter', 12_345_678_901_234],
      [16, 'u16', 44, 'temperature_edge', 44],
      [26, 'u16', 43, 'temperature_vrmem', 43],
      [34, 'u16', 226, 'average_socket_power', 226],
    ]);
  });

  it('has an energy counter of 32 bits and link fields of 8 bits', () => {
    expectOnly('gpu_metrics', '1.0', 80, [
      [36, 'u32', 65536, 'energy_accumulator', 1],
      [68, 'u32', 6, 'throttle_status', 6],
      [72, 'u16', 2900, 'current_fan_speed', 2900],
      [74, 'u8', 16, 'pcie_link_width', 16],
      [75, 'u8', 80, 'pcie_link_speed', 8],
    ]);
  });

  it('has fourteen clocks from offset 40 on', () => {
    expectOnly('gpu_metrics', '1.0', 80, [
      [40, 'u16', 925, 'average_gfxclk_frequency', 925],
      [52, 'u16', 30, 'average_dclk1_frequency', 30],
      [54, 'u16', 1725, 'current_gfxclk', 1725],
      [66, 'u16', 31, 'current_dclk1', 31],
    ]);
  });
});

for (const [version, size] of [
  ['1.1', 96],
  ['1.2', 104],
  ['1.3', 120],
] as const) {
  describe(`gpu_metrics ${version}`, () => {
    it('gives temperatures, activities and power in whole units', () => {
      expectOnly('gpu_metrics', version, size, HEAD);
    });

    it('gives clocks in MHz and the fan in RPM', () => {
      expectOnly('gpu_metrics', version, size, CLOCKS);
    });

    it('gives counters raw beyond 2^53', () => {
      expectOnly('gpu_metrics', version, size, COUNTERS);
    });

    it('gives the link speed in GT/s and each HBM stack', () => {
      expectOnly('gpu_metrics', version, size, LINK_AND_HBM);
    });
  });
}

describe('what later revisions append', () => {
  it('is a firmware clock of 10 ns ticks from 1.2 on', () => {
    for (const [version, size] of [
      ['1.2', 104],
      ['1.3', 120],
    ] as const) {
      expectOnly('gpu_metrics', version, size, [[96, 'u64', 1234n, 'firmware_timestamp', 12340]]);
    }
    expect(decoded('gpu_metrics', blank('1.1', 96)).has('firmware_timestamp')).toBe(false);
  });

  it('is voltages in mV and the common throttle word in 1.3', () => {
    expectOnly('gpu_metrics', '1.3', 120, [
      [104, 'u16', 812, 'voltage_soc', 812],
      [106, 'u16', 6, 'voltage_gfx', 6],
      [108, 'u16', 1356, 'voltage_mem', 1356],
      [112, 'u64', (1n << 57n) | 1n, 'indep_throttle_status', (1n << 57n) | 1n],
    ]);
    expect(decoded('gpu_metrics', blank('1.2', 104)).has('voltage_soc')).toBe(false);
  });

  it('reads energy of MI200 in units of 2^-16 J', () => {
    const bytes = blank('1.3', 120);
    put(bytes, 24, 'u64', 65536n * 1000n + 32768n);
    expect(decoded('gpu_metrics', bytes).num('energy_accumulator')).toBe(1000.5);
  });
});
