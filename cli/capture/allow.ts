import { cadenceOf } from '../../amdgpu/plan.ts';

/**
 * Which files of a card's device directory are taken. Names are allowed, not forbidden, as far as the PCI core has put them there: its
 * files map memory, take a device away or reset it. The driver's own are known by their first words.
 */

/** Reads that block, act, clear something or dump registers: never, wherever they stand. */
const NEVER = [
  /(^|\/)pcie_bw$/,
  /(^|\/)(pm_metrics|\w*reg_state)$/,
  // Reading starts the flashing of an image that was written before; the other asks a controller over a slow bus.
  /(^|\/)(psp_vbflash|usbc_pd_fw)$/,
  /(^|\/)(run_cleaner_shader|ras_ctrl|ras_eeprom_reset|amdgpu_gpu_recover)$/,
  /(^|\/)(remove|rescan|reset|resource\d*(_wc|_resize)?|rom|config|vpd)$/,
  // Text that applications chose, and may hold secrets.
  /(^|\/)(cmdline|environ)$/,
];
/** The read clears hardware state. */
const CLEARING = /^(ras\/(\w+_err_count|aca_\w+)|xgmi_error)$/;

/** PCI core: identity and state, none of which asks the GPU. */
const FROM_CORE = new Set([
  ...['uevent', 'vendor', 'device', 'class', 'revision', 'subsystem_vendor', 'subsystem_device', 'modalias'],
  ...['numa_node', 'local_cpulist', 'local_cpus', 'sriov_numvfs', 'sriov_totalvfs', 'd3cold_allowed'],
]);
/** PCI core, but the card's configuration space is asked: not of a sleeping card. */
const FROM_CORE_AWAKE = new Set([
  ...['max_link_speed', 'max_link_width', 'current_link_speed', 'current_link_width', 'reset_method', 'power_state'],
  ...['aer_dev_correctable', 'aer_dev_nonfatal', 'aer_dev_fatal'],
]);
const OF_THE_DRIVER =
  /^(pp_|power_|mem_|gpu_|vcn_|jpeg_|vbios_|xgmi_|product_|serial_|unique_|fru_|board_|smartshift_|thermal_|current_|available_|enforce_|pcie_replay|manufacturer$|df_cntr_avail$|fw_ver|\w+_reset_mask$)/;

/** Folders of the device directory whose files are the driver's, with what lies below them. */
export const FOLDERS: readonly string[] = [
  ...['hwmon', 'ras', 'fw_version', 'board', 'xcp', 'pm_policy', 'uma', 'power', 'compute_partition_config'],
  ...['xgmi_hive_info', 'gpu_od'],
];

/** `name` is relative to the device directory: `vendor`, `hwmon/hwmon3/temp1_input`. */
export function mayRead(name: string, withRasCounts: boolean): boolean {
  if (NEVER.some((pattern) => pattern.test(name))) return false;
  if (CLEARING.test(name)) return withRasCounts;
  if (FROM_CORE.has(name) || FROM_CORE_AWAKE.has(name)) return true;
  const folder = /^([^/]+)\//.exec(name)?.[1];
  if (folder !== undefined) return FOLDERS.includes(folder);
  return OF_THE_DRIVER.test(name) || cadenceOf(name) !== 'never';
}

/** Whether a read of this file could wake the card. */
export function needsAwake(name: string): boolean {
  return !FROM_CORE.has(name) && !name.startsWith('power/');
}

/** What stays out of every capture, for its manifest. */
export const LEFT_OUT: readonly string[] = [
  'pcie_bw (blocks a second)',
  'pm_metrics and register dumps',
  'debugfs',
  'resource*, rom, config, vpd, remove, rescan, reset',
  'cmdline and environ of processes',
];
