import { describe, expect, it } from 'vitest';
import { blank, decoded, expectOnly, type Write } from './bytes.ts';

/** Offset of the thermal block, of the power block, of the two words behind them. */
const PLACES = [
  ['2.0', 120, 16, 44, 112, 8],
  ['2.1', 120, 4, 40, 108, 32],
  ['2.2', 128, 4, 40, 108, 32],
  ['2.3', 152, 4, 40, 108, 32],
  ['2.4', 168, 4, 40, 108, 32],
] as const;

for (const [version, size, thermal, power, throttle, clock] of PLACES) {
  describe(`gpu_metrics ${version}`, () => {
    it('gives temperatures and activities from hundredths', () => {
      expectOnly('gpu_metrics', version, size, [
        [thermal, 'u16', 8175, 'temperature_gfx', 81.75],
        [thermal + 2, 'u16', 7100, 'temperature_soc', 71],
        [thermal + 4, 'u16', 8050, 'temperature_core[0]', 80.5],
        [thermal + 18, 'u16', 7350, 'temperature_core[7]', 73.5],
        [thermal + 20, 'u16', 7025, 'temperature_l3[0]', 70.25],
        [thermal + 24, 'u16', 79, 'average_gfx_activity', 0.79],
        [thermal + 26, 'u16', 10000, 'average_mm_activity', 100],
      ]);
    });

    it('gives power from milliwatts', () => {
      expectOnly('gpu_metrics', version, size, [
        [power, 'u16', 18844, 'average_socket_power', 18.844],
        [power + 2, 'u16', 9235, 'average_cpu_power', 9.235],
        [power + 4, 'u16', 1083, 'average_soc_power', 1.083],
        [power + 6, 'u16', 6161, 'average_gfx_power', 6.161],
        [power + 8, 'u16', 1, 'average_core_power[0]', 0.001],
        [power + 22, 'u16', 9, 'average_core_power[7]', 0.009],
      ]);
    });

    it('gives clocks, throttle word, fan and time', () => {
      expectOnly('gpu_metrics', version, size, [
        [clock, 'u64', 1_253_770_633_581_118n, 'system_clock_counter', 1_253_770_633_581_118],
        [power + 24, 'u16', 800, 'average_gfxclk_frequency', 800],
        [power + 34, 'u16', 801, 'average_dclk_frequency', 801],
        [power + 36, 'u16', 1040, 'current_gfxclk', 1040],
        [power + 46, 'u16', 400, 'current_dclk', 400],
        [power + 48, 'u16', 3475, 'current_coreclk[0]', 3475],
        [power + 64, 'u16', 3476, 'current_l3clk[0]', 3476],
        [throttle, 'u32', 6, 'throttle_status', 6],
        [throttle + 4, 'u16', 500, 'fan_pwm', 500],
      ]);
    });
  });
}

describe('what later APU revisions append', () => {
  it('is the common throttle word from 2.2 on', () => {
    for (const [version, size] of PLACES.slice(2)) {
      expectOnly('gpu_metrics', version, size, [[120, 'u64', 96n, 'indep_throttle_status', 96]]);
    }
    expect(decoded('gpu_metrics', blank('2.1', 120)).has('indep_throttle_status')).toBe(false);
  });

  it('is averaged temperatures from 2.3 on', () => {
    const averages: readonly Write[] = [
      [128, 'u16', 4000, 'average_temperature_gfx', 40],
      [130, 'u16', 4100, 'average_temperature_soc', 41],
      [132, 'u16', 4200, 'average_temperature_core[0]', 42],
      [150, 'u16', 4300, 'average_temperature_l3[1]', 43],
    ];
    expectOnly('gpu_metrics', '2.3', 152, averages);
    expectOnly('gpu_metrics', '2.4', 168, averages);
  });

  it('is voltages in mV and currents in mA in 2.4', () => {
    expectOnly('gpu_metrics', '2.4', 168, [
      [152, 'u16', 1001, 'average_cpu_voltage', 1001],
      [154, 'u16', 1002, 'average_soc_voltage', 1002],
      [156, 'u16', 1003, 'average_gfx_voltage', 1003],
      [158, 'u16', 4, 'average_cpu_current', 4],
      [160, 'u16', 5, 'average_soc_current', 5],
      [162, 'u16', 6, 'average_gfx_current', 6],
    ]);
  });
});

describe('gpu_metrics 3.0', () => {
  it('gives temperatures from hundredths and activities whole', () => {
    expectOnly('gpu_metrics', '3.0', 264, [
      [4, 'u16', 4512, 'temperature_gfx', 45.12],
      [6, 'u16', 4400, 'temperature_soc', 44],
      [8, 'u16', 5000, 'temperature_core[0]', 50],
      [38, 'u16', 5100, 'temperature_core[15]', 51],
      [40, 'u16', 3200, 'temperature_skin', 32],
      [42, 'u16', 79, 'average_gfx_activity', 79],
      [44, 'u16', 7, 'average_vcn_activity', 7],
      [46, 'u16', 1, 'average_ipu_activity[0]', 1],
      [92, 'u16', 100, 'average_core_c0_activity[15]', 100],
      [94, 'u16', 1500, 'average_dram_reads', 1500],
      [100, 'u16', 20, 'average_ipu_writes', 20],
    ]);
  });

  it('gives power of 16 and 32 bits from milliwatts', () => {
    expectOnly('gpu_metrics', '3.0', 264, [
      [112, 'u32', 120_500, 'average_socket_power', 120.5],
      [116, 'u16', 250, 'average_ipu_power', 0.25],
      [120, 'u32', 90_000, 'average_apu_power', 90],
      [124, 'u32', 60_000, 'average_gfx_power', 60],
      [128, 'u32', 0, 'average_dgpu_power', 0],
      [132, 'u32', 20_000, 'average_all_core_power', 20],
      [136, 'u16', 1000, 'average_core_power[0]', 1],
      [168, 'u16', 60_000, 'average_sys_power', 60],
      [170, 'u16', 55_000, 'stapm_power_limit', 55],
      [172, 'u16', 54_000, 'current_stapm_power_limit', 54],
    ]);
  });

  it('gives clocks, ceilings and throttle residencies', () => {
    expectOnly('gpu_metrics', '3.0', 264, [
      [104, 'u64', 99n, 'system_clock_counter', 99],
      [174, 'u16', 2900, 'average_gfxclk_frequency', 2900],
      [188, 'u16', 600, 'average_mpipu_frequency', 600],
      [190, 'u16', 5100, 'current_coreclk[0]', 5100],
      [222, 'u16', 5101, 'current_core_maxfreq', 5101],
      [224, 'u16', 2901, 'current_gfx_maxfreq', 2901],
      [228, 'u32', 1, 'throttle_residency_prochot', 1],
      [252, 'u32', 7, 'throttle_residency_thm_soc', 7],
      [256, 'u32', 1000, 'time_filter_alphavalue', 1000],
    ]);
  });
});
