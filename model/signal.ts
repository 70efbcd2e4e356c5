import type { Instant } from './instant.ts';

/**
 * What the exporter's detectors find. Stable words: in metrics, API, recordings and in `on: [{ signal: … }]` of policies.
 *
 * | kind | what was found |
 * |---|---|
 * | burst | load of a card, or of the inference on it, rose well above what it was |
 * | idle_window | no sample above a few percent for minutes, and no inference holds VRAM |
 * | trend | a value moves towards its limit |
 * | anomaly | a card departs from its own past or from its peers |
 * | busy_but_cold | load is reported, and neither power nor temperature show it |
 * | allocated_but_idle | VRAM is held and nothing computes |
 * | cooler_efficiency | more degrees per watt than before |
 * | voltage_off_nominal | voltage left its band |
 * | link_degraded | a PCIe or XGMI link is narrower or slower than it can be, or repeats itself |
 * | communication_cadence | how often a job's traffic on the fabric peaks |
 * | compute_intensity | how much a job computes for each byte that it moves |
 * | checkpoint_interval | how often a job writes its checkpoints |
 */
export const SIGNAL_KINDS = [
  'burst',
  'idle_window',
  'trend',
  'anomaly',
  'busy_but_cold',
  'allocated_but_idle',
  'cooler_efficiency',
  'voltage_off_nominal',
  'link_degraded',
  'communication_cadence',
  'compute_intensity',
  'checkpoint_interval',
] as const;
export type SignalKind = (typeof SIGNAL_KINDS)[number];

export const SIGNAL_PHASES = ['start', 'update', 'end'] as const;
export type SignalPhase = (typeof SIGNAL_PHASES)[number];

/** A live finding of the exporter. All notices of one finding carry one id. */
export interface Signal {
  id: string;
  at: Instant;
  kind: SignalKind;
  phase: SignalPhase;
  /** The card it is about, in the kernel's spelling. */
  pci?: string;
  workload?: string;
  /** In the base unit of what the kind speaks of. */
  value: number;
  /** Numbers that explain it: baseline, level, count of samples. */
  state: Record<string, number>;
}

/** Names that stand beside the state where a signal becomes a trigger's values. */
export const SIGNAL_OWN_VALUES: readonly string[] = ['value', 'workload'];
