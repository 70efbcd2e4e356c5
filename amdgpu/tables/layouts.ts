import { layout, type Row } from './layout.ts';
import { scaleOf } from './scales.ts';
import type { Layout, TableKind } from './types.ts';

/**
 * Fixed layouts of the driver's tables (drivers/gpu/drm/amd/include/kgd_pp_interface.h), little endian, as laid out by 64-bit
 * kernels. The header (u16 structure_size, u8 format_revision, u8 content_revision) and padding are left out.
 * The self-describing revisions have no layout: see records.ts.
 */

const CLOCKS_AVERAGE =
  'average_gfxclk_frequency average_socclk_frequency average_uclk_frequency average_vclk0_frequency ' +
  'average_dclk0_frequency average_vclk1_frequency average_dclk1_frequency';
const CLOCKS_CURRENT =
  'current_gfxclk current_socclk current_uclk current_vclk0 current_dclk0 current_vclk1 current_dclk1';
const HEAD_1 =
  'temperature_edge temperature_hotspot temperature_mem temperature_vrgfx temperature_vrsoc temperature_vrmem ' +
  'average_gfx_activity average_umc_activity average_mm_activity average_socket_power';

/** Vega 20 (MI50, MI60). pcie_link_speed saturates at 25.4 GT/s here; energy_accumulator has 32 bits. */
const V1_0: readonly Row[] = [
  '8 u64 system_clock_counter',
  `16 u16 ${HEAD_1}`,
  '36 u32 energy_accumulator',
  `40 u16 ${CLOCKS_AVERAGE} ${CLOCKS_CURRENT}`,
  '68 u32 throttle_status',
  '72 u16 current_fan_speed',
  '74 u8 pcie_link_width pcie_link_speed',
];

const V1_1: readonly Row[] = [
  `4 u16 ${HEAD_1}`,
  '24 u64 energy_accumulator system_clock_counter',
  `40 u16 ${CLOCKS_AVERAGE} ${CLOCKS_CURRENT}`,
  '68 u32 throttle_status',
  '72 u16 current_fan_speed pcie_link_width pcie_link_speed',
  '80 u32 gfx_activity_acc mem_activity_acc',
  '88 u16 temperature_hbm[4]',
];
const V1_2: readonly Row[] = [...V1_1, '96 u64 firmware_timestamp'];

/** MI100, MI200 and Radeon RX. The energy tick is 2^-16 J on MI200 only; elsewhere it is undocumented. */
const V1_3: readonly Row[] = [...V1_2, '104 u16 voltage_soc voltage_gfx voltage_mem', '112 u64 indep_throttle_status'];

const HEAD_MI300 =
  'temperature_hotspot temperature_mem temperature_vrsoc curr_socket_power average_gfx_activity average_umc_activity';
const LINKS = 'pcie_link_width pcie_link_speed xgmi_link_width xgmi_link_speed';
const PCIE_COUNTS =
  'pcie_bandwidth_acc pcie_bandwidth_inst pcie_l0_to_recov_count_acc pcie_replay_count_acc pcie_replay_rover_count_acc';
const XGMI_DATA = 'xgmi_read_data_acc[8] xgmi_write_data_acc[8]';
const CLOCKS_MI300 = 'current_gfxclk[8] current_socclk[4] current_vclk0[4] current_dclk0[4] current_uclk';
const RESIDENCIES =
  'accumulation_counter prochot_residency_acc ppt_residency_acc socket_thm_residency_acc vr_thm_residency_acc ' +
  'hbm_thm_residency_acc gfxclk_lock_status';
const NAKS = 'pcie_nak_sent_count_acc pcie_nak_rcvd_count_acc';

/** MI300; throttle_status is constant 0 here and in 1.5. */
const V1_4: readonly Row[] = [
  `4 u16 ${HEAD_MI300} vcn_activity[4]`,
  '24 u64 energy_accumulator system_clock_counter',
  '40 u32 throttle_status gfxclk_lock_status',
  `48 u16 ${LINKS}`,
  '56 u32 gfx_activity_acc mem_activity_acc',
  `64 u64 ${PCIE_COUNTS} ${XGMI_DATA} firmware_timestamp`,
  `240 u16 ${CLOCKS_MI300}`,
];
const V1_5: readonly Row[] = [
  `4 u16 ${HEAD_MI300} vcn_activity[4] jpeg_activity[32]`,
  '88 u64 energy_accumulator system_clock_counter',
  '104 u32 throttle_status gfxclk_lock_status',
  `112 u16 ${LINKS}`,
  '120 u32 gfx_activity_acc mem_activity_acc',
  `128 u64 ${PCIE_COUNTS}`,
  `168 u32 ${NAKS}`,
  `176 u64 ${XGMI_DATA} firmware_timestamp`,
  `312 u16 ${CLOCKS_MI300}`,
];
const V1_6: readonly Row[] = [
  `4 u16 ${HEAD_MI300}`,
  '16 u64 energy_accumulator system_clock_counter',
  `32 u32 ${RESIDENCIES}`,
  `60 u16 ${LINKS}`,
  '68 u32 gfx_activity_acc mem_activity_acc',
  `80 u64 ${PCIE_COUNTS}`,
  `120 u32 ${NAKS}`,
  `128 u64 ${XGMI_DATA} firmware_timestamp`,
  `264 u16 ${CLOCKS_MI300} num_partition`,
  '1656 u32 pcie_lc_perf_other_end_recovery',
];
const V1_7_HEAD: readonly Row[] = [
  `4 u16 ${HEAD_MI300}`,
  '16 u64 mem_max_bandwidth energy_accumulator system_clock_counter',
  `40 u32 ${RESIDENCIES}`,
  `68 u16 ${LINKS}`,
  '76 u32 gfx_activity_acc mem_activity_acc',
  `88 u64 ${PCIE_COUNTS}`,
  `128 u32 ${NAKS}`,
  `136 u64 ${XGMI_DATA}`,
  '264 u16 xgmi_link_status[8]',
  '288 u64 firmware_timestamp',
  `296 u16 ${CLOCKS_MI300} num_partition`,
];
const V1_7: readonly Row[] = [...V1_7_HEAD, '2200 u32 pcie_lc_perf_other_end_recovery'];
const V1_8: readonly Row[] = [...V1_7_HEAD, '3864 u32 pcie_lc_perf_other_end_recovery'];

const XCP_1_6: readonly Row[] = [
  '0 u32 gfx_busy_inst[8]',
  '32 u16 jpeg_busy[32] vcn_busy[4]',
  '104 u64 gfx_busy_acc[8]',
];
const XCP_1_7: readonly Row[] = [...XCP_1_6, '168 u64 gfx_below_host_limit_acc[8]'];
const HOST_LIMITS =
  'gfx_busy_acc[8] gfx_below_host_limit_ppt_acc[8] gfx_below_host_limit_thm_acc[8] gfx_low_utilization_acc[8] ' +
  'gfx_below_host_limit_total_acc[8]';
const XCP_1_8: readonly Row[] = [
  '0 u32 gfx_busy_inst[8]',
  '32 u16 jpeg_busy[40] vcn_busy[4]',
  `120 u64 ${HOST_LIMITS}`,
];

const APU_THERMAL = 'temperature_gfx temperature_soc temperature_core[8] temperature_l3[2]';
const APU_ACTIVITY = 'average_gfx_activity average_mm_activity';
const APU_POWER =
  'average_socket_power average_cpu_power average_soc_power average_gfx_power average_core_power[8] ' +
  'average_gfxclk_frequency average_socclk_frequency average_uclk_frequency average_fclk_frequency ' +
  'average_vclk_frequency average_dclk_frequency current_gfxclk current_socclk current_uclk current_fclk current_vclk ' +
  'current_dclk current_coreclk[8] current_l3clk[2]';

const V2_0: readonly Row[] = [
  '8 u64 system_clock_counter',
  `16 u16 ${APU_THERMAL} ${APU_ACTIVITY} ${APU_POWER}`,
  '112 u32 throttle_status',
  '116 u16 fan_pwm',
];
const V2_1: readonly Row[] = [
  `4 u16 ${APU_THERMAL} ${APU_ACTIVITY}`,
  '32 u64 system_clock_counter',
  `40 u16 ${APU_POWER}`,
  '108 u32 throttle_status',
  '112 u16 fan_pwm',
];
const V2_2: readonly Row[] = [...V2_1, '120 u64 indep_throttle_status'];
const V2_3: readonly Row[] = [
  ...V2_2,
  '128 u16 average_temperature_gfx average_temperature_soc average_temperature_core[8] average_temperature_l3[2]',
];
const V2_4: readonly Row[] = [
  ...V2_3,
  '152 u16 average_cpu_voltage average_soc_voltage average_gfx_voltage ' +
    'average_cpu_current average_soc_current average_gfx_current',
];

/** Strix class. Whether activity is whole percent or hundredths depends on firmware: whole percent is assumed here. */
const V3_0: readonly Row[] = [
  '4 u16 temperature_gfx temperature_soc temperature_core[16] temperature_skin average_gfx_activity average_vcn_activity ' +
    'average_ipu_activity[8] average_core_c0_activity[16] average_dram_reads average_dram_writes average_ipu_reads ' +
    'average_ipu_writes',
  '104 u64 system_clock_counter',
  '112 u32 average_socket_power',
  '116 u16 average_ipu_power',
  '120 u32 average_apu_power average_gfx_power average_dgpu_power average_all_core_power',
  '136 u16 average_core_power[16] average_sys_power stapm_power_limit current_stapm_power_limit ' +
    'average_gfxclk_frequency average_socclk_frequency average_vpeclk_frequency average_ipuclk_frequency ' +
    'average_fclk_frequency average_vclk_frequency average_uclk_frequency average_mpipu_frequency current_coreclk[16] ' +
    'current_core_maxfreq current_gfx_maxfreq',
  '228 u32 throttle_residency_prochot throttle_residency_spl throttle_residency_fppt throttle_residency_sppt ' +
    'throttle_residency_thm_core throttle_residency_thm_gfx throttle_residency_thm_soc time_filter_alphavalue',
];

/** xcp/xcp_metrics of one compute partition. */
const PARTITION_1_0: readonly Row[] = [
  '4 u16 current_gfxclk[8] current_socclk[4] current_vclk0[4] current_dclk0[4] current_uclk',
  '48 u32 gfx_busy_inst[8]',
  '80 u16 jpeg_busy[40] vcn_busy[4]',
  `168 u64 ${HOST_LIMITS}`,
];

const BOARD_HEAD: readonly Row[] = ['4 u16 label_version! node_id!', '8 u64 accumulation_counter'];
/** The file is 144 bytes long though the table ends at 120: the rest is not part of it. */
const GPUBOARD_1_0: readonly Row[] = [...BOARD_HEAD, '16 u32 node_temp[12] vr_temp[13]'];
const BASEBOARD_1_0: readonly Row[] = [...BOARD_HEAD, '16 u32 system_temp[32]'];

const cards = (name: string) => scaleOf(name, 1);
const apus = (name: string) => scaleOf(name, 2);
const strix = (name: string) => scaleOf(name, 3);
const xcp = (offset: number, stride: number, rows: readonly Row[]) => ({ offset, stride, count: 8, rows });

const GPU_METRICS: readonly Layout[] = [
  layout('1.0', 80, V1_0, cards),
  layout('1.1', 96, V1_1, cards),
  layout('1.2', 104, V1_2, cards),
  layout('1.3', 120, V1_3, cards),
  layout('1.4', 288, V1_4, cards),
  layout('1.5', 360, V1_5, cards),
  layout('1.6', 1664, V1_6, cards, xcp(312, 168, XCP_1_6)),
  layout('1.7', 2208, V1_7, cards, xcp(344, 232, XCP_1_7)),
  layout('1.8', 3872, V1_8, cards, xcp(344, 440, XCP_1_8)),
  layout('2.0', 120, V2_0, apus),
  layout('2.1', 120, V2_1, apus),
  layout('2.2', 128, V2_2, apus),
  layout('2.3', 152, V2_3, apus),
  layout('2.4', 168, V2_4, apus),
  layout('3.0', 264, V3_0, strix),
];

/** Fixed layouts by file and revision pair (`1.3`). */
export const LAYOUTS: Readonly<Record<TableKind, ReadonlyMap<string, Layout>>> = {
  gpu_metrics: new Map(GPU_METRICS.map((l) => [l.version, l])),
  partition: new Map([['1.0', layout('partition-1.0', 488, PARTITION_1_0, cards)]]),
  gpuboard_temp: new Map([['1.0', layout('gpuboard_temp-1.0', 120, GPUBOARD_1_0, cards)]]),
  baseboard_temp: new Map([['1.0', layout('baseboard_temp-1.0', 144, BASEBOARD_1_0, cards)]]),
};

/** The self-describing revision of each file. */
export const RECORD_VERSION: Readonly<Record<TableKind, string>> = {
  gpu_metrics: '1.9',
  partition: '1.1',
  gpuboard_temp: '1.1',
  baseboard_temp: '1.1',
};

/** `1.3` for gpu_metrics, `partition-1.0` for the others. */
export function versionName(kind: TableKind, family: string): string {
  return kind === 'gpu_metrics' ? family : `${kind}-${family}`;
}
