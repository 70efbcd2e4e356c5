import type { FieldUnit, Scale } from './types.ts';

/** The energy counter of MI200 and later ticks in 2^-16 J. */
const ENERGY_DIV = 65536;

type Rule = readonly [pattern: RegExp, unit: FieldUnit, mul?: number, div?: number];

/** First match wins. What differs between formats is laid over these in `scaleOf`. */
const RULES: readonly Rule[] = [
  [/^energy_accumulator$/, 'joule', 1, ENERGY_DIV],
  [/^firmware_timestamp$/, 'nanosecond', 10],
  [/^system_clock_counter$/, 'nanosecond'],
  [/^pcie_link_speed$/, 'gigatransfer_per_second', 1, 10],
  [/^xgmi_link_speed$/, 'gigatransfer_per_second'],
  [/_link_width$/, 'lane'],
  [/^xgmi_link_status$/, 'enum'],
  [/^xgmi_(read|write)_data_acc$/, 'kilobyte'],
  [/^pcie_bandwidth_acc$/, 'gigabyte_per_second_sample'],
  [/^(pcie_bandwidth_inst|mem_max_bandwidth)$/, 'gigabyte_per_second'],
  [/_count_acc$|^num_partition$|_recovery$/, 'count'],
  [/throttle_status$|_lock_status$/, 'bitmask'],
  [/_residency_|_limit_.*acc$|_low_utilization_acc$|^accumulation_counter$/, 'tick'],
  [/_(activity|busy)_acc$/, 'percent_sample'],
  [/_activity$|_busy$|^gfx_busy_inst$/, 'percent'],
  [/temperature|_temp_/, 'celsius'],
  [/_voltage$|^voltage_/, 'millivolt'],
  [/_current$/, 'milliampere'],
  [/_power$|_power_limit$/, 'watt'],
  [/_(reads|writes)$/, 'megabyte_per_second'],
  [/_frequency$|clk\d?$|_maxfreq$/, 'megahertz'],
  [/^current_fan_speed$/, 'rpm'],
  [/^fan_pwm$/, 'per_mille'],
  [/^time_filter_alphavalue$/, 'microsecond'],
  [/^(node|vr|system)_temp$/, 'packed'],
];

/** Per mille, hundredths and milliwatts of the APU formats: [format, unit] to divisor. */
const FORMAT_DIV: readonly (readonly [format: number, unit: FieldUnit, div: number])[] = [
  [2, 'celsius', 100],
  [2, 'percent', 100],
  [2, 'watt', 1000],
  [3, 'celsius', 100],
  [3, 'watt', 1000],
];

/** Unit and scale of a driver field by its name; `format` is the format_revision (1: cards, 2 and 3: APUs). */
export function scaleOf(name: string, format: number): Scale {
  const rule = RULES.find(([pattern]) => pattern.test(name));
  if (!rule) return { unit: 'none', mul: 1, div: 1 };
  const [, unit, mul = 1, div = 1] = rule;
  const override = FORMAT_DIV.find(([f, u]) => f === format && u === unit);
  return { unit, mul, div: override?.[2] ?? div };
}
