/** Base units of everything that leaves the process, and the suffix that a metric name carries for each. */
export const UNIT_SUFFIX = {
  ratio: '_ratio',
  bytes: '_bytes',
  seconds: '_seconds',
  celsius: '_celsius',
  watts: '_watts',
  joules: '_joules',
  volts: '_volts',
  amperes: '_amperes',
  hertz: '_hertz',
  rpm: '_rpm',
  bytes_per_second: '_bytes_per_second',
  transfers_per_second: '_transfers_per_second',
  timestamp_seconds: '_timestamp_seconds',
  ticks: '_ticks',
  lanes: '',
  count: '',
  state: '',
  none: '',
} as const;
export type Unit = keyof typeof UNIT_SUFFIX;
