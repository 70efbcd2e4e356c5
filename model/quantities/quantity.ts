import { UNIT_SUFFIX, type Unit } from '../units.ts';

/**
 * One quantity. Its metric name, JSON field, policy variable and documentation follow from this row; nothing else names it.
 * `info` is a gauge that is always 1 and carries its content in labels; `state` is one 0/1 series a state.
 */
export interface Quantity {
  /** Dotted, e.g. `temperature` or `power_cap.min`. Policy variable: `gpu.` + key + label values. */
  key: string;
  /** Label names beyond `gpu` (and `partition` where `partitioned`). */
  labels: readonly string[];
  unit: Unit;
  kind: 'gauge' | 'counter' | 'state' | 'info';
  /** Ids in the metric matrix that this quantity answers. */
  rows: readonly string[];
  cadence: 'fast' | 'scrape' | 'slow' | 'static';
  /** Kernel files and table fields, best first; shown in HELP and docs. */
  sources: readonly string[];
  /** One sentence without the sources; HELP is made of both. */
  help: string;
  /** Inclusive window in the quantity's unit; outside it a reading is dropped as implausible. */
  plausible?: readonly [number, number];
  /** Carries the label `partition`. */
  partitioned?: boolean;
  /** Per node, not per GPU: no `gpu` label. */
  node?: boolean;
  /** Which collector (switch) it belongs to. */
  group: Group;
}

export const GROUPS = [
  'info',
  'compute',
  'memory',
  'pcie',
  'xgmi',
  'power',
  'thermal',
  'throttle',
  'clocks',
  'ras',
  'process',
  'partition',
  'media',
  'apu',
  'profiler',
] as const;
export type Group = (typeof GROUPS)[number];

/** `amdgpu_temperature_celsius`: prefix, key, unit, and `_total` or `_info` where the kind asks for it. */
export function metricName(q: Quantity): string {
  if (q.key === '') return 'amdgpu_info';
  const tail = q.kind === 'counter' ? '_total' : q.kind === 'info' ? '_info' : '';
  return `amdgpu_${q.key.replaceAll('.', '_')}${UNIT_SUFFIX[q.unit]}${tail}`;
}

/** HELP text: what it is, then where it is read. */
export function helpText(q: Quantity): string {
  return `${q.help} Source: ${q.sources.join(', ')}.`;
}

type Row = Omit<Quantity, 'group'>;

/** Puts a group's name into each of its rows. */
export function group<T extends Record<string, Row>>(name: Group, rows: T): { readonly [K in keyof T]: Quantity } {
  const out = {} as Record<keyof T, Quantity>;
  for (const key of Object.keys(rows) as (keyof T)[]) out[key] = { ...(rows[key] as Row), group: name };
  return out;
}
