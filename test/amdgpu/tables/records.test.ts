import { describe, expect, it } from 'vitest';
import { decodeTable } from '../../../amdgpu/tables/decode.ts';
import { encodeTable } from '../../../amdgpu/tables/encode.ts';
import { at, decoded, present, put, type Write } from './bytes.ts';
import { REFERENCE_1_9, REFERENCE_PARTITION_1_1, type Rec, recordTable, referenceTable, tag } from './recordbytes.ts';

function expectReference(kind: 'gpu_metrics' | 'partition', writes: readonly Write[]): void {
  const bytes =
    kind === 'gpu_metrics'
      ? referenceTable('1.9', 1150, REFERENCE_1_9)
      : referenceTable('1.1', 594, REFERENCE_PARTITION_1_1);
  for (const [offset, width, raw] of writes) put(bytes, offset, width, raw);
  const table = decoded(kind, bytes);
  for (const [, , , path, expected] of writes)
    expect(at(table, path, typeof expected === 'bigint'), path).toBe(expected);
  expect(present(table)).toEqual(writes.map(([, , , p]) => (p.endsWith(']') ? p : `${p}[0]`)).sort());
}

describe('gpu_metrics 1.9 in its reference layout', () => {
  it('gives socket readings', () => {
    expectReference('gpu_metrics', [
      [16, 'u16', 61, 'temperature_hotspot', 61],
      [26, 'u16', 52, 'temperature_mem', 52],
      [36, 'u16', 255, 'temperature_vrsoc', 255],
      [46, 'u16', 742, 'curr_socket_power', 742],
      [56, 'u16', 100, 'average_gfx_activity', 100],
      [66, 'u16', 0, 'average_umc_activity', 0],
      [76, 'u64', 8000n, 'mem_max_bandwidth', 8000],
      [632, 'u16', 1300, 'current_uclk', 1300],
    ]);
  });

  it('gives energy in joules, clocks in nanoseconds and residencies in ticks', () => {
    expectReference('gpu_metrics', [
      [92, 'u64', 65536n * 7n, 'energy_accumulator', 7],
      [108, 'u64', 2n ** 60n, 'system_clock_counter', 2n ** 60n],
      [544, 'u64', 250n, 'firmware_timestamp', 2500],
      [124, 'u32', 5008, 'accumulation_counter', 5008],
      [136, 'u32', 1, 'prochot_residency_acc', 1],
      [148, 'u32', 4342, 'ppt_residency_acc', 4342],
      [160, 'u32', 2, 'socket_thm_residency_acc', 2],
      [172, 'u32', 3, 'vr_thm_residency_acc', 3],
      [184, 'u32', 4, 'hbm_thm_residency_acc', 4],
      [196, 'u32', 0xf, 'gfxclk_lock_status', 15],
      [248, 'u32', 6, 'gfx_activity_acc', 6],
      [260, 'u32', 7, 'mem_activity_acc', 7],
    ]);
  });

  it('gives links', () => {
    expectReference('gpu_metrics', [
      [208, 'u16', 16, 'pcie_link_width', 16],
      [218, 'u16', 320, 'pcie_link_speed', 32],
      [228, 'u16', 16, 'xgmi_link_width', 16],
      [238, 'u16', 36, 'xgmi_link_speed', 36],
      [272, 'u64', 5n, 'pcie_bandwidth_acc', 5],
      [288, 'u64', 41n, 'pcie_bandwidth_inst', 41],
      [304, 'u64', 1n, 'pcie_l0_to_recov_count_acc', 1],
      [320, 'u64', 2n, 'pcie_replay_count_acc', 2],
      [336, 'u64', 3n, 'pcie_replay_rover_count_acc', 3],
      [352, 'u32', 4, 'pcie_nak_sent_count_acc', 4],
      [364, 'u32', 5, 'pcie_nak_rcvd_count_acc', 5],
      [376, 'u64', 10n, 'xgmi_read_data_acc[0]', 10n],
      [504, 'u64', 17n, 'xgmi_write_data_acc[7]', 17n],
      [520, 'u16', 1, 'xgmi_link_status[0]', 1],
      [534, 'u16', 0, 'xgmi_link_status[7]', 0],
      [642, 'u32', 6, 'pcie_lc_perf_other_end_recovery', 6],
    ]);
  });

  it('gives dies and engines as flat arrays under the names that partitions had', () => {
    expectReference('gpu_metrics', [
      [560, 'u16', 2100, 'current_gfxclk[0]', 2100],
      [574, 'u16', 132, 'current_gfxclk[7]', 132],
      [584, 'u16', 35, 'current_socclk[0]', 35],
      [606, 'u16', 29, 'current_vclk0[3]', 29],
      [616, 'u16', 22, 'current_dclk0[0]', 22],
      [654, 'u32', 100, 'gfx_busy_inst[0]', 100],
      [682, 'u32', 98, 'gfx_busy_inst[7]', 98],
      [772, 'u16', 9, 'jpeg_busy[39]', 9],
      [782, 'u16', 8, 'vcn_busy[0]', 8],
      [798, 'u64', 1n, 'gfx_busy_acc[0]', 1],
      [870, 'u64', 2n, 'gfx_below_host_limit_ppt_acc[0]', 2],
      [942, 'u64', 3n, 'gfx_below_host_limit_thm_acc[0]', 3],
      [1014, 'u64', 4n, 'gfx_low_utilization_acc[0]', 4],
      [1142, 'u64', 5n, 'gfx_below_host_limit_total_acc[7]', 5],
    ]);
    expect(decoded('gpu_metrics', referenceTable('1.9', 1150, REFERENCE_1_9)).xcp()).toBe(0);
  });

  it('is what the encoder writes', () => {
    expect(encodeTable('gpu_metrics', '1.9', {})).toEqual(referenceTable('1.9', 1150, REFERENCE_1_9));
    expect(encodeTable('partition', '1.1', {})).toEqual(referenceTable('1.1', 594, REFERENCE_PARTITION_1_1));
  });
});

describe('xcp_metrics 1.1 in its reference layout', () => {
  it('gives clocks', () => {
    expectReference('partition', [
      [16, 'u16', 2100, 'current_gfxclk[0]', 2100],
      [40, 'u16', 35, 'current_socclk[0]', 35],
      [56, 'u16', 29, 'current_vclk0[0]', 29],
      [78, 'u16', 22, 'current_dclk0[3]', 22],
      [88, 'u16', 1300, 'current_uclk', 1300],
    ]);
  });

  it('gives activity', () => {
    expectReference('partition', [
      [98, 'u32', 77, 'gfx_busy_inst[0]', 77],
      [216, 'u16', 1, 'jpeg_busy[39]', 1],
      [226, 'u16', 2, 'vcn_busy[0]', 2],
    ]);
  });

  it('gives sums', () => {
    expectReference('partition', [
      [242, 'u64', 1n, 'gfx_busy_acc[0]', 1],
      [314, 'u64', 2n, 'gfx_below_host_limit_ppt_acc[0]', 2],
      [386, 'u64', 3n, 'gfx_below_host_limit_thm_acc[0]', 3],
      [458, 'u64', 4n, 'gfx_low_utilization_acc[0]', 4],
      [586, 'u64', 5n, 'gfx_below_host_limit_total_acc[7]', 5],
    ]);
  });

  it('takes the two counters that later drivers append', () => {
    const table = decoded(
      'partition',
      recordTable('1.1', [
        [40, 4, 10, [5, 6]],
        [9, 6, 0, [2n ** 40n]],
        [32, 6, 5, [3n]],
      ]),
    );
    expect(table.nums('gfx_busy_inst')).toEqual([5, 6]);
    expect(table.num('accumulation_counter')).toBe(2 ** 40);
    expect(table.num('firmware_timestamp')).toBe(30);
    expect(encodeTable('partition', '1.1', {}, { wide: true })).toHaveLength(626);
  });
});

describe('records say how they are to be read', () => {
  const one = (...rec: Rec) => decoded('gpu_metrics', recordTable('1.9', [rec]));

  it('takes a counter that was widened from 32 to 64 bits', () => {
    expect(one(9, 6, 0, [2n ** 33n]).num('accumulation_counter')).toBe(2 ** 33);
    expect(one(9, 6, 0, [0xffffffff]).num('accumulation_counter')).toBe(0xffffffff);
    expect(one(9, 4, 0, [0xffffffff]).num('accumulation_counter')).toBeUndefined();
    const wide = encodeTable(
      'gpu_metrics',
      '1.9',
      { accumulation_counter: 2n ** 40n, ppt_residency_acc: 2 ** 34 },
      { wide: true },
    );
    expect(wide).toHaveLength(1194);
    expect(decoded('gpu_metrics', wide).num('ppt_residency_acc')).toBe(2 ** 34);
    expect(decoded('gpu_metrics', wide).big('accumulation_counter')).toBe(2n ** 40n);
  });

  it('reads energy as 2^-16 J whatever its unit code', () => {
    for (const unit of [0, 1, 3, 10, 77, 255]) expect(one(7, 6, unit, [131072n]).num('energy_accumulator')).toBe(2);
  });

  it('reads the PCIe bandwidth sum as GB/s samples though its tag says percent', () => {
    const table = one(22, 6, 10, [8n]);
    expect(table.unit('pcie_bandwidth_acc')).toBe('gigabyte_per_second_sample');
    expect(table.num('pcie_bandwidth_acc')).toBe(8);
  });

  it('lets the tag choose between scales of one unit', () => {
    expect(one(32, 6, 5, [7n]).num('firmware_timestamp')).toBe(70);
    expect(one(32, 6, 4, [7n]).num('firmware_timestamp')).toBe(7);
    expect(one(17, 2, 7, [160]).num('pcie_link_speed')).toBe(16);
    expect(one(17, 2, 6, [16]).num('pcie_link_speed')).toBe(16);
    expect(one(17, 2, 0, [160]).num('pcie_link_speed')).toBe(16);
  });

  it('leaves out a quantity whose scale a later unit code decides', () => {
    expect(one(0, 2, 11, [6100]).has('temperature_hotspot')).toBe(false);
    expect(one(9, 4, 11, [61]).num('accumulation_counter')).toBe(61);
  });

  it('takes signed values and other counts than the reference has', () => {
    expect(one(0, 3, 2, [-5]).num('temperature_hotspot')).toBe(-5);
    expect(one(0, 3, 2, [-1]).num('temperature_hotspot')).toBeUndefined();
    expect(one(0, 1, 2, [0xfb]).num('temperature_hotspot')).toBe(-5);
    expect(one(0, 5, 2, [-40]).big('temperature_hotspot')).toBe(-40n);
    expect(one(0, 7, 2, [-40n]).num('temperature_hotspot')).toBe(-40);
    expect(one(37, 2, 1, [900, 901]).nums('current_uclk')).toEqual([900, 901]);
    expect(one(37, 2, 1, [900, 901]).num('current_uclk')).toBeUndefined();
    expect(one(30, 6, 9, [5n]).nums('xgmi_write_data_acc')).toEqual([5]);
  });

  it('skips unknown ids by their length', () => {
    const table = decoded(
      'gpu_metrics',
      recordTable('1.9', [
        [900, 6, 3, [1n, 2n, 3n]],
        [3, 2, 3, [500]],
        [38, 0, 0, [4]],
      ]),
    );
    expect([...table.fields()]).toEqual(['curr_socket_power', 'num_partition']);
    expect(table.num('curr_socket_power')).toBe(500);
  });

  it('keeps what stood before a record that runs past the end', () => {
    const bytes = recordTable('1.9', [
      [0, 2, 2, [60]],
      [3, 2, 3, [500]],
      [29, 6, 9, [1n, 2n]],
    ]);
    put(bytes, 28, 'u64', tag(29, 6, 3, 9));
    expect([...decoded('gpu_metrics', bytes).fields()]).toEqual(['temperature_hotspot', 'curr_socket_power']);
  });

  it('keeps what stood before a type of unknown length', () => {
    const bytes = recordTable('1.9', [
      [0, 2, 2, [60]],
      [3, 2, 3, [500]],
      [4, 2, 10, [7]],
    ]);
    put(bytes, 18, 'u64', tag(3, 8, 1, 3));
    expect([...decoded('gpu_metrics', bytes).fields()]).toEqual(['temperature_hotspot']);
  });

  it('reads no more records than the table claims, and none of a negative number', () => {
    const records: readonly Rec[] = [
      [0, 2, 2, [60]],
      [3, 2, 3, [500]],
    ];
    expect([...decoded('gpu_metrics', recordTable('1.9', records, 1)).fields()]).toEqual(['temperature_hotspot']);
    expect([...decoded('gpu_metrics', recordTable('1.9', records, -1)).fields()]).toEqual([]);
    expect([...decoded('gpu_metrics', recordTable('1.9', records, 1000)).fields()]).toHaveLength(2);
  });

  it('takes the first of two records with one id, and no record without values', () => {
    expect(
      decoded(
        'gpu_metrics',
        recordTable('1.9', [
          [3, 2, 3, [1]],
          [3, 2, 3, [2]],
        ]),
      ).num('curr_socket_power'),
    ).toBe(1);
    expect(decoded('gpu_metrics', recordTable('1.9', [[3, 2, 3, []]])).has('curr_socket_power')).toBe(false);
  });

  it('does not read a torn table', () => {
    const bytes = recordTable('1.9', [[0, 2, 2, [60]]]);
    expect(decodeTable('gpu_metrics', bytes.subarray(0, 17))).toMatchObject({ ok: false, fault: 'short' });
  });

  it('is not misled by a table of the same size read before it', () => {
    const first = recordTable('1.9', [
      [0, 2, 2, [60]],
      [3, 2, 3, [500]],
    ]);
    const second = recordTable('1.9', [
      [0, 2, 2, [61]],
      [4, 2, 10, [99]],
    ]);
    expect(decoded('gpu_metrics', first).num('curr_socket_power')).toBe(500);
    expect(decoded('gpu_metrics', second).num('average_gfx_activity')).toBe(99);
    expect(decoded('gpu_metrics', second).has('curr_socket_power')).toBe(false);
    expect(decoded('gpu_metrics', first).num('curr_socket_power')).toBe(500);
  });
});

describe('ids above 47 have two numberings', () => {
  const temps = (n: number, from: number) => Array.from({ length: n }, (_, i) => from + i);
  const names = (records: readonly Rec[]) => [...decoded('gpu_metrics', recordTable('1.9', records)).fields()];

  it('reads eight, four and eight as HBM, AID and XCD', () => {
    const records: readonly Rec[] = [
      [48, 2, 2, temps(8, 40)],
      [49, 2, 2, temps(4, 50)],
      [50, 2, 2, temps(8, 60)],
    ];
    expect(names(records)).toEqual(['temperature_hbm', 'temperature_aid', 'temperature_xcd']);
    expect(decoded('gpu_metrics', recordTable('1.9', records)).nums('temperature_xcd')).toEqual(temps(8, 60));
    expect(names(records.slice(2))).toEqual(['temperature_xcd']);
  });

  it('reads other counts as HBM, MID, AID and XCD', () => {
    const records: readonly Rec[] = [
      [48, 2, 2, temps(12, 40)],
      [49, 2, 2, temps(2, 50)],
      [50, 2, 2, temps(2, 60)],
      [51, 2, 2, temps(8, 70)],
    ];
    expect(names(records)).toEqual(['temperature_hbm', 'temperature_mid', 'temperature_aid', 'temperature_xcd']);
    expect(names(records.slice(1, 2))).toEqual(['temperature_mid']);
  });

  it('reads the newer numbering where id 51 shows it, whatever the counts', () => {
    const records: readonly Rec[] = [
      [49, 2, 2, temps(4, 50)],
      [50, 2, 2, temps(8, 60)],
      [51, 2, 2, temps(8, 70)],
    ];
    expect(names(records)).toEqual(['temperature_mid', 'temperature_aid', 'temperature_xcd']);
  });
});
