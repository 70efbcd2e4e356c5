import type { Family } from '../model/card.ts';
import type { Group } from '../model/quantities/quantity.ts';
import { tableFirst } from './chips.ts';
import { isStatic } from './survey.ts';
import type { Table } from './tables/decode.ts';

/**
 * When a file of a card is read.
 *
 * - pass: at every collection
 * - fallback: at every collection, but only while gpu_metrics does not say the same
 * - gentle: at a collection when the last read is older than ten seconds
 * - costly: on a timer of its own, a minute or more, by one reader: the read itself has a price or a side effect
 * - never: reads that block a second, dump registers or start something
 */
export type Cadence = 'pass' | 'fallback' | 'gentle' | 'costly' | 'static' | 'never';

const PASS = new Set([
  'gpu_metrics',
  'mem_info_vram_used',
  'kfd/used_memory',
  'mem_info_vis_vram_used',
  'mem_info_gtt_used',
  'mem_info_preempt_used',
  'power_dpm_force_performance_level',
  'pp_dpm_sclk',
  'pp_dpm_fclk',
  'pp_od_clk_voltage',
  'current_compute_partition',
  'current_memory_partition',
  'vcn_busy_percent',
  'ras/event_state',
  'smartshift_apu_power',
  'smartshift_dgpu_power',
  'power/runtime_status',
]);
const PASS_PATTERNS = [
  /^hwmon\/(power\d_cap|power2_\w+|fan1_(input|target|enable)|pwm1|pwm1_enable|in[2-9]_input|temp[4-9]_input)$/,
  /^board\/(gpuboard_temp|baseboard_temp|node_power|cur_node_power_limit|baseboard_power|baseboard_power_limit|global_ppt_resid|npm_status)$/,
];
const GENTLE = new Set([
  'mem_info_vram_total',
  'mem_info_vis_vram_total',
  'mem_info_gtt_total',
  'power_dpm_state',
  'pp_power_profile_mode',
  'pp_dpm_dcefclk',
  'pp_dpm_pcie',
  'pp_sclk_od',
  'pp_mclk_od',
  'ras/gpu_vram_bad_pages',
  'aer_dev_correctable',
  'aer_dev_nonfatal',
  'aer_dev_fatal',
  'enforce_isolation',
  'power_state',
  'smartshift_bias',
  'uma/carveout',
]);
const GENTLE_PATTERNS = [/^pm_policy\//];
const COSTLY_PATTERNS = [/^ras\/(\w+_err_count|aca_\w+)$/, /^xgmi_error$/];

/**
 * Field of gpu_metrics that says what the file says, on the parts where both come from the same firmware table. On other
 * parts the single files win: they are finer (milli-degrees, microwatts, hertz), or average over another window.
 */
const SAME_AS: Readonly<Record<string, string>> = {
  'hwmon/temp1_input': 'temperature_edge',
  'hwmon/temp2_input': 'temperature_hotspot',
  'hwmon/temp3_input': 'temperature_mem',
  'hwmon/power1_average': 'average_socket_power',
  'hwmon/power1_input': 'curr_socket_power',
  'hwmon/freq1_input': 'current_gfxclk',
  'hwmon/freq2_input': 'current_uclk',
  'hwmon/in0_input': 'voltage_gfx',
  'hwmon/in1_input': '',
  gpu_busy_percent: 'average_gfx_activity',
  mem_busy_percent: 'average_umc_activity',
  current_link_speed: 'pcie_link_speed',
  current_link_width: 'pcie_link_width',
  pcie_replay_count: 'pcie_replay_count_acc',
};
/** The level tables hold the live clock and the ends; where gpu_metrics has the clock, the ends need no haste. */
const CLOCK_TABLES: Readonly<Record<string, string>> = {
  pp_dpm_mclk: 'current_uclk',
  pp_dpm_socclk: 'current_socclk',
  pp_dpm_vclk: 'current_vclk0',
  pp_dpm_dclk: 'current_dclk0',
  pp_dpm_vclk1: 'current_vclk1',
  pp_dpm_dclk1: 'current_dclk1',
};

const XCP = /^xcp\d*\/xcp_metrics$/;

export function cadenceOf(name: string): Cadence {
  if (isStatic(name)) return 'static';
  if (PASS.has(name) || PASS_PATTERNS.some((p) => p.test(name))) return 'pass';
  if (name in SAME_AS || name in CLOCK_TABLES || XCP.test(name)) return 'fallback';
  if (GENTLE.has(name) || GENTLE_PATTERNS.some((p) => p.test(name))) return 'gentle';
  if (COSTLY_PATTERNS.some((p) => p.test(name))) return 'costly';
  return 'never';
}

/** Whether a fallback file is to be read at each pass, given what the table of this pass says (undefined: no table). */
export function needed(name: string, family: Family, table: Table | undefined): boolean {
  // Tables 1.6 to 1.8 hold every partition; the others leave that to a file of each partition.
  if (XCP.test(name)) return table === undefined || table.xcp() === 0;
  if (table === undefined || !tableFirst(family)) return true;
  const field = SAME_AS[name] ?? CLOCK_TABLES[name];
  if (field === undefined || field === '') return true;
  return !answers(table, field);
}

/** Some fields hold 0 where the driver has nothing to say (MI200's video clocks; the secondary die's power). */
const ZERO_IS_ABSENT = new Set([
  'average_socket_power',
  'current_vclk0',
  'current_dclk0',
  'current_vclk1',
  'current_dclk1',
]);

function answers(table: Table, field: string): boolean {
  const value = table.nums(field)?.find((element) => element !== undefined);
  return value !== undefined && !(value === 0 && ZERO_IS_ABSENT.has(field));
}

/** Fallback files that gpu_metrics has made unnecessary are still looked at now and then where they hold more. */
export function gentleWhenNotNeeded(name: string): boolean {
  return name in CLOCK_TABLES;
}

/** Files that serve one group alone: with its collector off, they are not read. Tables and shared files belong to none. */
const BY_GROUP: readonly (readonly [pattern: RegExp, group: Group])[] = [
  [/^ras\//, 'ras'],
  [/^(xgmi_|xgmi_hive_info\/|pm_policy\/xgmi)/, 'xgmi'],
  [/^(aer_dev_|current_link_|max_link_|bridge\/|pcie_|power_state$)/, 'pcie'],
  [/^mem_info_(?!vram_vendor)|^uma\/|^kfd\/used_memory$/, 'memory'],
  [/^hwmon\/power|^board\/(?!gpuboard_temp|baseboard_temp)|^power_dpm|^pp_power_profile|^pm_policy\/soc/, 'power'],
  [/^hwmon\/(temp|fan|pwm|in\d)|^board\/(gpuboard|baseboard)_temp/, 'thermal'],
  [/^pp_dpm_|^pp_od_clk|^pp_[sm]clk_od|^hwmon\/freq/, 'clocks'],
  [/^(compute_partition_config\/|current_|available_|enforce_isolation|sriov_|xcp\d*\/)/, 'partition'],
  [/^(gpu|mem|vcn)_busy_percent$/, 'compute'],
  [/^smartshift_/, 'apu'],
];

export function groupOf(name: string): Group | undefined {
  return BY_GROUP.find(([pattern]) => pattern.test(name))?.[1];
}
