import { scaleOf } from './scales.ts';
import { type FieldUnit, type Scalar, type Scale, scalarCode } from './types.ts';

/**
 * The self-describing tables: after u16 structure_size, u8 format_revision, u8 content_revision and i32 attr_count follow
 * records without padding, each a u64 tag and its values. Tag bits: 9:0 count, 19:10 attribute id, 23:20 type, 31:24 unit.
 */
export const RECORDS_START = 8;
export const TAG_BYTES = 8;

/** Unit codes 0 to 10 of a tag. Code 0 says nothing about the unit. */
export const UNIT_CODES: readonly Scale[] = [
  { unit: 'none', mul: 1, div: 1 },
  { unit: 'megahertz', mul: 1, div: 1 },
  { unit: 'celsius', mul: 1, div: 1 },
  { unit: 'watt', mul: 1, div: 1 },
  { unit: 'nanosecond', mul: 1, div: 1 },
  { unit: 'nanosecond', mul: 10, div: 1 },
  { unit: 'gigatransfer_per_second', mul: 1, div: 1 },
  { unit: 'gigatransfer_per_second', mul: 1, div: 10 },
  { unit: 'gigabyte_per_second', mul: 1, div: 1 },
  { unit: 'kilobyte', mul: 1, div: 1 },
  { unit: 'percent', mul: 1, div: 1 },
];
const TAGGED_UNITS: ReadonlySet<FieldUnit> = new Set(UNIT_CODES.slice(1).map((s) => s.unit));

/** Names of ids 0 to 47, alike in every driver. */
const NAMES: readonly string[] = [
  ...['temperature_hotspot', 'temperature_mem', 'temperature_vrsoc', 'curr_socket_power', 'average_gfx_activity'],
  ...[
    'average_umc_activity',
    'mem_max_bandwidth',
    'energy_accumulator',
    'system_clock_counter',
    'accumulation_counter',
  ],
  ...['prochot_residency_acc', 'ppt_residency_acc', 'socket_thm_residency_acc', 'vr_thm_residency_acc'],
  ...['hbm_thm_residency_acc', 'gfxclk_lock_status', 'pcie_link_width', 'pcie_link_speed', 'xgmi_link_width'],
  ...['xgmi_link_speed', 'gfx_activity_acc', 'mem_activity_acc', 'pcie_bandwidth_acc', 'pcie_bandwidth_inst'],
  ...['pcie_l0_to_recov_count_acc', 'pcie_replay_count_acc', 'pcie_replay_rover_count_acc', 'pcie_nak_sent_count_acc'],
  ...['pcie_nak_rcvd_count_acc', 'xgmi_read_data_acc', 'xgmi_write_data_acc', 'xgmi_link_status', 'firmware_timestamp'],
  ...['current_gfxclk', 'current_socclk', 'current_vclk0', 'current_dclk0', 'current_uclk', 'num_partition'],
  ...['pcie_lc_perf_other_end_recovery', 'gfx_busy_inst', 'jpeg_busy', 'vcn_busy', 'gfx_busy_acc'],
  ...['gfx_below_host_limit_ppt_acc', 'gfx_below_host_limit_thm_acc', 'gfx_low_utilization_acc'],
  ...['gfx_below_host_limit_total_acc'],
];

/** Ids from 48 on as the out-of-tree driver for MI300 and MI350 numbers them, with the counts that give it away. */
const NAMES_OUT_OF_TREE: readonly (readonly [id: number, name: string, count: number])[] = [
  [48, 'temperature_hbm', 8],
  [49, 'temperature_aid', 4],
  [50, 'temperature_xcd', 8],
];

/** Ids from 48 on in the newer header, which has media dies before the active interposer dies, and the board sensors. */
const NAMES_NEWER: readonly string[] = [
  ...['temperature_hbm', 'temperature_mid', 'temperature_aid', 'temperature_xcd', 'label_version', 'node_id'],
  ...['retimer', 'ibc', 'ibc_2', 'vdd18_vr', '04_hbm_b_vr', '04_hbm_d_vr'].map((s) => `node_temp_${s}`),
  ...[
    ...['vddcr_socio_a', 'vddcr_socio_c', 'vddcr_x0', 'vddcr_x1', 'vddio_hbm_b', 'vddio_hbm_d', 'vddio_04_hbm_b'],
    ...['vddio_04_hbm_d', 'vddcr_hbm_b', 'vddcr_hbm_d', 'vddcr_075_hbm_b', 'vddcr_075_hbm_d', 'vddio_11_gta_a'],
    ...['vddio_11_gta_c', 'vddan_075_gta_a', 'vddan_075_gta_c', 'vddcr_075_ucie', 'vddio_065_ucieaa'],
    ...['vddio_065_ucieam_a', 'vddio_065_ucieam_c', 'vddan_075'],
  ].map((s) => `vr_temp_${s}`),
  ...[
    ...['ubb_fpga', 'ubb_front', 'ubb_back', 'ubb_oam7', 'ubb_ibc', 'ubb_ufpga', 'ubb_oam1', 'oam_0_1_hsc'],
    ...['oam_2_3_hsc', 'oam_4_5_hsc', 'oam_6_7_hsc', 'ubb_fpga_0v72_vr', 'ubb_fpga_3v3_vr', 'retimer_0_1_2_3_1v2_vr'],
    ...['retimer_4_5_6_7_1v2_vr', 'retimer_0_1_0v9_vr', 'retimer_4_5_0v9_vr', 'retimer_2_3_0v9_vr'],
    ...['retimer_6_7_0v9_vr', 'oam_0_1_2_3_3v3_vr', 'oam_4_5_6_7_3v3_vr', 'ibc_hsc', 'ibc'],
  ].map((s) => `system_temp_${s}`),
];

export type Numbering = 'out_of_tree' | 'newer';

/**
 * Which numbering a table uses above id 47. Ids above 50, or a count that the out-of-tree driver does not emit, mean the newer
 * header; with neither, the table is the out-of-tree driver's.
 */
export function numberingOf(counts: ReadonlyMap<number, number>): Numbering {
  for (const id of counts.keys()) if (id > 50) return 'newer';
  const alien = NAMES_OUT_OF_TREE.some(([id, , count]) => counts.has(id) && counts.get(id) !== count);
  return alien ? 'newer' : 'out_of_tree';
}

export function attributeName(id: number, numbering: Numbering): string | undefined {
  if (id < NAMES.length) return NAMES[id];
  if (numbering === 'newer') return NAMES_NEWER[id - NAMES.length];
  return NAMES_OUT_OF_TREE.find(([i]) => i === id)?.[1];
}

/**
 * Unit and scale of an attribute. The tag decides between scales of the unit that the attribute has (1 or 10 ns, 1 or 0.1 GT/s).
 * Where the tag names another unit the attribute is believed: drivers tag energy with none and sums of GB/s with percent.
 * Undefined: a unit code from after our time on an attribute whose scale it decides.
 */
export function attributeScale(name: string, unitCode: number): Scale | undefined {
  const own = scaleOf(name, 1);
  if (!TAGGED_UNITS.has(own.unit)) return own;
  const tagged = UNIT_CODES[unitCode];
  if (!tagged) return undefined;
  return tagged.unit === own.unit ? tagged : own;
}

/** One record to be written: what its tag says. */
export interface RecordSpec {
  name: string;
  id: number;
  /** Index into SCALARS. */
  code: number;
  count: number;
  unitCode: number;
}

function group(type: Scalar, unitCode: number, ids: string): RecordSpec[] {
  return ids.split(' ').map((text) => {
    const [id = '', count = '1'] = text.split('x');
    return {
      name: NAMES[Number(id)] as string,
      id: Number(id),
      code: scalarCode(type),
      count: Number(count),
      unitCode,
    };
  });
}

const byId = (a: RecordSpec, b: RecordSpec): number => a.id - b.id;
const PARTITION_PART: readonly RecordSpec[] = [
  ...group('u16', 1, '33x8 34x4 35x4 36x4 37'),
  ...group('u16', 10, '41x40 42x4'),
  ...group('u32', 10, '40x8'),
  ...group('u64', 10, '43x8'),
  ...group('u64', 0, '44x8 45x8 46x8 47x8'),
].sort(byId);

/** Records of gpu_metrics 1.9 in the order of Linux 6.19 and 7.0 on MI300 and MI350: 47 records, 1150 bytes. */
export const RECORDS_1_9: readonly RecordSpec[] = [
  ...PARTITION_PART,
  ...group('u16', 2, '0 1 2'),
  ...group('u16', 3, '3'),
  ...group('u16', 10, '4 5'),
  ...group('u16', 0, '16 18 31x8'),
  ...group('u16', 7, '17'),
  ...group('u16', 6, '19'),
  ...group('u32', 0, '9 10 11 12 13 14 15 27 28 39'),
  ...group('u32', 10, '20 21'),
  ...group('u64', 0, '7 24 25 26'),
  ...group('u64', 4, '8'),
  ...group('u64', 5, '32'),
  ...group('u64', 8, '6 23'),
  ...group('u64', 9, '29x8 30x8'),
  ...group('u64', 10, '22'),
].sort(byId);

/** Records of xcp_metrics 1.1: 13 records, 594 bytes. */
export const RECORDS_PARTITION_1_1: readonly RecordSpec[] = PARTITION_PART;

const WIDENED: ReadonlySet<number> = new Set([9, 10, 11, 12, 13, 14, 20, 21, 27, 28, 39]);

/** The same records as later drivers emit them: counters that were u32 are u64 (1.9 then has 1194 bytes). */
export function widened(records: readonly RecordSpec[]): RecordSpec[] {
  return records.map((r) => (WIDENED.has(r.id) ? { ...r, code: scalarCode('u64') } : r));
}

/** What later drivers append to xcp_metrics 1.1. */
export const RECORDS_PARTITION_TAIL: readonly RecordSpec[] = [...group('u64', 0, '9'), ...group('u64', 5, '32')];

const boardRecord = (id: number): RecordSpec => {
  const name = attributeName(id, 'newer') as string;
  const temp = name.includes('_temp_');
  return { name, id, code: scalarCode(temp ? 'i16' : 'u16'), count: 1, unitCode: temp ? 2 : 0 };
};
const boardRecords = (first: number, last: number): RecordSpec[] => [
  ...group('u64', 0, '9'),
  ...Array.from({ length: last - first + 3 }, (_, i) => boardRecord(i < 2 ? 52 + i : first + i - 2)),
];

/** Board temperatures 1.1: accumulation_counter, label_version, node_id and one signed record a sensor. */
export const RECORDS_GPUBOARD_1_1: readonly RecordSpec[] = boardRecords(54, 80);
export const RECORDS_BASEBOARD_1_1: readonly RecordSpec[] = boardRecords(81, 103);
