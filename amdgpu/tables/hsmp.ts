import { type FieldValues, writeFields } from './encode.ts';
import { layout, type Row } from './layout.ts';
import type { DecodeResult, FieldUnit, Scale } from './types.ts';
import { TableView } from './view.ts';

/**
 * `struct hsmp_metric_table` of /sys/devices/platform/amd_hsmp/socketN/metrics_bin: the whole MI300A socket, CPU and GPU.
 * Packed to 4 bytes, no header, no marker for absent values (firmware leaves 0). Mode 0444. The driver takes only a read of
 * the whole table from offset 0; each read is a mailbox message to the SMU, some tens of microseconds to a millisecond.
 * Source: arch/x86/include/uapi/asm/amd_hsmp.h (HSMP protocol 6), drivers/platform/x86/amd/hsmp.
 */
const ROWS: readonly Row[] = [
  '0 u32 accumulation_counter!',
  '4 i32 max_socket_temperature! max_vr_temperature! max_hbm_temperature!',
  '16 i64 max_socket_temperature_acc! max_vr_temperature_acc! max_hbm_temperature_acc!',
  '40 u32 socket_power_limit! max_socket_power_limit! socket_power!',
  '52 u64 timestamp! socket_energy_acc! ccd_energy_acc! xcd_energy_acc! aid_energy_acc! hbm_energy_acc!',
  '100 u32 cclk_frequency_limit! gfxclk_frequency_limit! fclk_frequency! uclk_frequency! socclk_frequency[4]! ' +
    'vclk_frequency[4]! dclk_frequency[4]! lclk_frequency[4]!',
  '180 u64 gfxclk_frequency_acc[8]! cclk_frequency_acc[96]!',
  '1012 u32 max_cclk_frequency! min_cclk_frequency! max_gfxclk_frequency! min_gfxclk_frequency! ' +
    'fclk_frequency_table[4]! uclk_frequency_table[4]! socclk_frequency_table[4]! vclk_frequency_table[4]! ' +
    'dclk_frequency_table[4]! lclk_frequency_table[4]! max_lclk_dpm_range! min_lclk_dpm_range! xgmi_width! xgmi_bitrate!',
  '1140 u64 xgmi_read_bandwidth_acc[8]! xgmi_write_bandwidth_acc[8]!',
  '1268 u32 socket_c0_residency! socket_gfx_busy! dram_bandwidth_utilization!',
  '1280 u64 socket_c0_residency_acc! socket_gfx_busy_acc! dram_bandwidth_acc!',
  '1304 u32 max_dram_bandwidth!',
  '1308 u64 dram_bandwidth_utilization_acc! pcie_bandwidth_acc[4]!',
  '1348 u32 prochot_residency_acc! ppt_residency_acc! socket_thm_residency_acc! vr_thm_residency_acc! ' +
    'hbm_thm_residency_acc!',
  '1372 u32 gfxclk_frequency[8]!',
];

export const HSMP_BYTES = 1404;

/** Firmware numbers are fixed point with 10 fraction bits. */
const Q10 = 1024;

const UNITS: readonly (readonly [pattern: RegExp, unit: FieldUnit, mul: number, div: number])[] = [
  [/^timestamp$/, 'nanosecond', 10, 1],
  [/_energy_acc$/, 'joule', 1, 65536],
  [/^accumulation_counter$|(prochot|ppt|thm)_residency_acc$/, 'tick', 1, 1],
  [/_dpm_range$/, 'none', 1, 1],
  [/temperature_acc$/, 'celsius_sample', 1, Q10],
  [/temperature$/, 'celsius', 1, Q10],
  [/power/, 'watt', 1, Q10],
  [/cclk_frequency_acc$/, 'gigahertz_sample', 1, Q10],
  [/cclk_frequency/, 'gigahertz', 1, Q10],
  [/_frequency_acc$/, 'megahertz_sample', 1, Q10],
  [/_frequency/, 'megahertz', 1, Q10],
  [/^xgmi_width$/, 'lane', 1, Q10],
  [/^xgmi_bitrate$/, 'gigatransfer_per_second', 1, Q10],
  // Sums of bandwidth samples in a unit nobody documents; not the data sizes that gpu_metrics gives in KB.
  [/^xgmi_(read|write)_/, 'none', 1, Q10],
  [/^(socket_c0_residency|socket_gfx_busy|dram_bandwidth_utilization)_acc$/, 'percent_sample', 1, Q10],
  [/^(socket_c0_residency|socket_gfx_busy|dram_bandwidth_utilization)$/, 'percent', 1, Q10],
  [/^max_dram_bandwidth$/, 'gigabyte_per_second', 1, Q10],
  [/^(dram|pcie)_bandwidth_acc$/, 'gigabyte_per_second_sample', 1, Q10],
];

function hsmpScale(name: string): Scale {
  const row = UNITS.find(([pattern]) => pattern.test(name));
  return row ? { unit: row[1], mul: row[2], div: row[3] } : { unit: 'none', mul: 1, div: 1 };
}

const LAYOUT = layout('hsmp', HSMP_BYTES, ROWS, hsmpScale);

/**
 * Decodes metrics_bin. Sums (`*_acc`) divide by accumulation_counter as in gpu_metrics.
 * Faults: `short` below 1404 bytes; `bad_header` where the first 16 bytes are all ones, as an unmapped SMU region reads.
 */
export function decodeHsmp(bytes: Uint8Array): DecodeResult {
  if (bytes.length < HSMP_BYTES) return { ok: false, fault: 'short' };
  if (bytes.subarray(0, 16).every((b) => b === 0xff)) return { ok: false, fault: 'bad_header' };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { ok: true, table: new TableView(view, LAYOUT, 'hsmp', HSMP_BYTES) };
}

/** Bytes of metrics_bin with zeros where `values` is silent. Throws RangeError like `encodeTable`. */
export function encodeHsmp(values: FieldValues): Uint8Array {
  const bytes = new Uint8Array(HSMP_BYTES);
  writeFields(new DataView(bytes.buffer), LAYOUT.fields, values, 0, 'hsmp');
  return bytes;
}
