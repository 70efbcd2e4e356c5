import { describe, expect, it } from 'vitest';
import { blank, decoded, expectOnly, put } from './bytes.ts';

describe('gpu_metrics 1.4', () => {
  it('gives socket readings and four video engines', () => {
    expectOnly('gpu_metrics', '1.4', 288, [
      [4, 'u16', 57, 'temperature_hotspot', 57],
      [6, 'u16', 45, 'temperature_mem', 45],
      [8, 'u16', 52, 'temperature_vrsoc', 52],
      [10, 'u16', 746, 'curr_socket_power', 746],
      [12, 'u16', 100, 'average_gfx_activity', 100],
      [14, 'u16', 31, 'average_umc_activity', 31],
      [16, 'u16', 1, 'vcn_activity[0]', 1],
      [22, 'u16', 4, 'vcn_activity[3]', 4],
    ]);
  });

  it('gives counters, links and PCIe errors', () => {
    expectOnly('gpu_metrics', '1.4', 288, [
      [24, 'u64', 6553600n, 'energy_accumulator', 100],
      [32, 'u64', 5n, 'system_clock_counter', 5],
      [40, 'u32', 0, 'throttle_status', 0],
      [44, 'u32', 0xff, 'gfxclk_lock_status', 255],
      [48, 'u16', 16, 'pcie_link_width', 16],
      [50, 'u16', 320, 'pcie_link_speed', 32],
      [52, 'u16', 16, 'xgmi_link_width', 16],
      [54, 'u16', 32, 'xgmi_link_speed', 32],
      [56, 'u32', 100_000, 'gfx_activity_acc', 100_000],
      [64, 'u64', 77n, 'pcie_bandwidth_acc', 77n],
      [72, 'u64', 12n, 'pcie_bandwidth_inst', 12],
      [80, 'u64', 1n, 'pcie_l0_to_recov_count_acc', 1],
      [96, 'u64', 0n, 'pcie_replay_rover_count_acc', 0],
    ]);
  });

  it('gives eight links and the clocks of each die', () => {
    expectOnly('gpu_metrics', '1.4', 288, [
      [104, 'u64', 10n, 'xgmi_read_data_acc[0]', 10n],
      [160, 'u64', 17n, 'xgmi_read_data_acc[7]', 17n],
      [168, 'u64', 20n, 'xgmi_write_data_acc[0]', 20n],
      [224, 'u64', 27n, 'xgmi_write_data_acc[7]', 27n],
      [232, 'u64', 100n, 'firmware_timestamp', 1000],
      [240, 'u16', 132, 'current_gfxclk[0]', 132],
      [254, 'u16', 2100, 'current_gfxclk[7]', 2100],
      [256, 'u16', 35, 'current_socclk[0]', 35],
      [270, 'u16', 29, 'current_vclk0[3]', 29],
      [272, 'u16', 22, 'current_dclk0[0]', 22],
      [280, 'u16', 1300, 'current_uclk', 1300],
    ]);
  });
});

describe('gpu_metrics 1.5', () => {
  it('adds thirty-two JPEG engines behind the video engines', () => {
    expectOnly('gpu_metrics', '1.5', 360, [
      [22, 'u16', 3, 'vcn_activity[3]', 3],
      [24, 'u16', 5, 'jpeg_activity[0]', 5],
      [86, 'u16', 6, 'jpeg_activity[31]', 6],
    ]);
  });

  it('moves the counters behind them', () => {
    expectOnly('gpu_metrics', '1.5', 360, [
      [88, 'u64', 65536n, 'energy_accumulator', 1],
      [108, 'u32', 1, 'gfxclk_lock_status', 1],
      [114, 'u16', 160, 'pcie_link_speed', 16],
      [124, 'u32', 9, 'mem_activity_acc', 9],
      [128, 'u64', 4n, 'pcie_bandwidth_acc', 4],
      [160, 'u64', 2n, 'pcie_replay_rover_count_acc', 2],
    ]);
  });

  it('adds NAK counts and moves links and clocks', () => {
    expectOnly('gpu_metrics', '1.5', 360, [
      [168, 'u32', 7, 'pcie_nak_sent_count_acc', 7],
      [172, 'u32', 8, 'pcie_nak_rcvd_count_acc', 8],
      [176, 'u64', 1n, 'xgmi_read_data_acc[0]', 1],
      [296, 'u64', 2n, 'xgmi_write_data_acc[7]', 2],
      [304, 'u64', 3n, 'firmware_timestamp', 30],
      [312, 'u16', 133, 'current_gfxclk[0]', 133],
      [352, 'u16', 900, 'current_uclk', 900],
    ]);
  });
});

describe('gpu_metrics 1.6', () => {
  it('counts residencies in ticks from offset 32 on', () => {
    expectOnly('gpu_metrics', '1.6', 1664, [
      [16, 'u64', 65536n, 'energy_accumulator', 1],
      [32, 'u32', 5008, 'accumulation_counter', 5008],
      [36, 'u32', 1, 'prochot_residency_acc', 1],
      [40, 'u32', 4342, 'ppt_residency_acc', 4342],
      [44, 'u32', 2, 'socket_thm_residency_acc', 2],
      [48, 'u32', 3, 'vr_thm_residency_acc', 3],
      [52, 'u32', 4, 'hbm_thm_residency_acc', 4],
      [56, 'u32', 0xff, 'gfxclk_lock_status', 255],
    ]);
  });

  it('leaves a gap between the activity sums and the PCIe sums', () => {
    expectOnly('gpu_metrics', '1.6', 1664, [
      [68, 'u32', 10, 'gfx_activity_acc', 10],
      [72, 'u32', 11, 'mem_activity_acc', 11],
      [80, 'u64', 12n, 'pcie_bandwidth_acc', 12],
      [128, 'u64', 13n, 'xgmi_read_data_acc[0]', 13],
      [256, 'u64', 14n, 'firmware_timestamp', 140],
      [304, 'u16', 1300, 'current_uclk', 1300],
      [306, 'u16', 8, 'num_partition', 8],
      [1656, 'u32', 15, 'pcie_lc_perf_other_end_recovery', 15],
    ]);
  });

  it('has eight partitions of 168 bytes', () => {
    expectOnly('gpu_metrics', '1.6', 1664, [
      [312, 'u32', 100, 'xcp0.gfx_busy_inst[0]', 100],
      [312 + 32, 'u16', 20, 'xcp0.jpeg_busy[0]', 20],
      [312 + 96, 'u16', 30, 'xcp0.vcn_busy[0]', 30],
      [312 + 104, 'u64', 40n, 'xcp0.gfx_busy_acc[0]', 40],
      [312 + 7 * 168 + 28, 'u32', 1, 'xcp7.gfx_busy_inst[7]', 1],
      [312 + 7 * 168 + 94, 'u16', 2, 'xcp7.jpeg_busy[31]', 2],
      [312 + 7 * 168 + 160, 'u64', 3n, 'xcp7.gfx_busy_acc[7]', 3n],
    ]);
  });
});

describe('gpu_metrics 1.7', () => {
  it('gives the peak memory bandwidth first of its counters', () => {
    expectOnly('gpu_metrics', '1.7', 2208, [
      [16, 'u64', 5324n, 'mem_max_bandwidth', 5324],
      [24, 'u64', 65536n, 'energy_accumulator', 1],
      [32, 'u64', 8n, 'system_clock_counter', 8],
      [40, 'u32', 9, 'accumulation_counter', 9],
      [60, 'u32', 10, 'hbm_thm_residency_acc', 10],
      [64, 'u32', 11, 'gfxclk_lock_status', 11],
      [76, 'u32', 12, 'gfx_activity_acc', 12],
    ]);
  });

  it('gives the state of each link', () => {
    expectOnly('gpu_metrics', '1.7', 2208, [
      [136, 'u64', 1n, 'xgmi_read_data_acc[0]', 1],
      [256, 'u64', 2n, 'xgmi_write_data_acc[7]', 2],
      [264, 'u16', 1, 'xgmi_link_status[0]', 1],
      [278, 'u16', 0, 'xgmi_link_status[7]', 0],
      [288, 'u64', 3n, 'firmware_timestamp', 30],
      [338, 'u16', 1, 'num_partition', 1],
      [2200, 'u32', 4, 'pcie_lc_perf_other_end_recovery', 4],
    ]);
  });

  it('has eight partitions of 232 bytes with one host-limit count', () => {
    expectOnly('gpu_metrics', '1.7', 2208, [
      [344 + 232, 'u32', 99, 'xcp1.gfx_busy_inst[0]', 99],
      [344 + 232 + 104, 'u64', 5n, 'xcp1.gfx_busy_acc[0]', 5],
      [344 + 7 * 232 + 168, 'u64', 6n, 'xcp7.gfx_below_host_limit_acc[0]', 6],
      [344 + 7 * 232 + 224, 'u64', 7n, 'xcp7.gfx_below_host_limit_acc[7]', 7],
    ]);
  });
});

describe('gpu_metrics 1.8', () => {
  it('has the head of 1.7', () => {
    expectOnly('gpu_metrics', '1.8', 3872, [
      [4, 'u16', 60, 'temperature_hotspot', 60],
      [10, 'u16', 1000, 'curr_socket_power', 1000],
      [16, 'u64', 8000n, 'mem_max_bandwidth', 8000],
      [44, 'u32', 5, 'prochot_residency_acc', 5],
      [74, 'u16', 38, 'xgmi_link_speed', 38],
      [96, 'u64', 55n, 'pcie_bandwidth_inst', 55],
      [132, 'u32', 6, 'pcie_nak_rcvd_count_acc', 6],
      [310, 'u16', 2400, 'current_gfxclk[7]', 2400],
      [336, 'u16', 2000, 'current_uclk', 2000],
    ]);
  });

  it('has eight partitions of 440 bytes with forty JPEG engines', () => {
    expectOnly('gpu_metrics', '1.8', 3872, [
      [344, 'u32', 11, 'xcp0.gfx_busy_inst[0]', 11],
      [344 + 110, 'u16', 12, 'xcp0.jpeg_busy[39]', 12],
      [344 + 112, 'u16', 13, 'xcp0.vcn_busy[0]', 13],
      [344 + 3 * 440 + 120, 'u64', 14n, 'xcp3.gfx_busy_acc[0]', 14],
      [344 + 7 * 440 + 118, 'u16', 15, 'xcp7.vcn_busy[3]', 15],
    ]);
  });

  it('splits time below the host limit by its cause', () => {
    expectOnly('gpu_metrics', '1.8', 3872, [
      [344 + 184, 'u64', 1n, 'xcp0.gfx_below_host_limit_ppt_acc[0]', 1],
      [344 + 248, 'u64', 2n, 'xcp0.gfx_below_host_limit_thm_acc[0]', 2],
      [344 + 312, 'u64', 3n, 'xcp0.gfx_low_utilization_acc[0]', 3],
      [344 + 376, 'u64', 4n, 'xcp0.gfx_below_host_limit_total_acc[0]', 4],
      [344 + 7 * 440 + 432, 'u64', 5n, 'xcp7.gfx_below_host_limit_total_acc[7]', 5],
      [3864, 'u32', 6, 'pcie_lc_perf_other_end_recovery', 6],
    ]);
  });

  it('has no partition beyond the eighth, and none of a negative or broken number', () => {
    const table = decoded('gpu_metrics', blank('1.8', 3872));
    expect(table.xcp()).toBe(8);
    for (const p of [8, -1, 0.5, Number.NaN]) expect(table.xcpNums(p, 'gfx_busy_inst')).toBeUndefined();
    expect(table.xcpBigs(0, 'temperature_hotspot')).toBeUndefined();
  });

  it('reads from a buffer that does not begin at the table', () => {
    const page = new Uint8Array(5000);
    const bytes = blank('1.8', 3872);
    put(bytes, 10, 'u16', 321);
    page.set(bytes, 13);
    expect(decoded('gpu_metrics', page.subarray(13)).num('curr_socket_power')).toBe(321);
  });
});

describe('xcp_metrics 1.0', () => {
  it('gives the clocks of the partition', () => {
    expectOnly('partition', '1.0', 488, [
      [4, 'u16', 2100, 'current_gfxclk[0]', 2100],
      [18, 'u16', 132, 'current_gfxclk[7]', 132],
      [20, 'u16', 35, 'current_socclk[0]', 35],
      [28, 'u16', 29, 'current_vclk0[0]', 29],
      [42, 'u16', 22, 'current_dclk0[3]', 22],
      [44, 'u16', 1300, 'current_uclk', 1300],
    ]);
  });

  it('gives the activity of its dies and engines', () => {
    expectOnly('partition', '1.0', 488, [
      [48, 'u32', 88, 'gfx_busy_inst[0]', 88],
      [76, 'u32', 89, 'gfx_busy_inst[7]', 89],
      [80, 'u16', 1, 'jpeg_busy[0]', 1],
      [158, 'u16', 2, 'jpeg_busy[39]', 2],
      [166, 'u16', 3, 'vcn_busy[3]', 3],
    ]);
  });

  it('gives its sums, and no partitions within', () => {
    expectOnly('partition', '1.0', 488, [
      [168, 'u64', 1n, 'gfx_busy_acc[0]', 1],
      [232, 'u64', 2n, 'gfx_below_host_limit_ppt_acc[0]', 2],
      [296, 'u64', 3n, 'gfx_below_host_limit_thm_acc[0]', 3],
      [360, 'u64', 4n, 'gfx_low_utilization_acc[0]', 4],
      [480, 'u64', 5n, 'gfx_below_host_limit_total_acc[7]', 5],
    ]);
    const table = decoded('partition', blank('1.0', 488));
    expect(table.version).toBe('partition-1.0');
    expect(table.xcp()).toBe(0);
  });
});
