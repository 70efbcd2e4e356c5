import { pcie } from '../../model/quantities/pcie.ts';
import type { Quantity } from '../../model/quantities/quantity.ts';
import { parseAer, parseLinkSpeed, parseLinkWidth } from '../formats/pcie.ts';
import { parseBig, parseWord } from '../formats/scalar.ts';
import { type Context, first, firstOf, rawCounter, scaled, states } from './context.ts';

const GM = 'gpu_metrics';
const POWER_STATES = ['D0', 'D1', 'D2', 'D3hot', 'D3cold'];
const RUNTIME_STATES = ['active', 'suspended', 'suspending', 'resuming', 'error', 'unsupported'];
const AER = [
  ['aer_dev_correctable', 'correctable'],
  ['aer_dev_nonfatal', 'nonfatal'],
  ['aer_dev_fatal', 'fatal'],
] as const;
/** Errors of a link that does nothing else; a torn 64-bit value is far above. */
const ERROR_RATE = 1e9;
const COUNTERS = [
  ['pcie_l0_to_recov_count_acc', pcie.recoveries],
  ['pcie_replay_rover_count_acc', pcie.replayRollovers],
  ['pcie_nak_sent_count_acc', pcie.naksSent],
  ['pcie_nak_rcvd_count_acc', pcie.naksReceived],
  ['pcie_lc_perf_other_end_recovery', pcie.otherEndRecoveries],
] as const;

export function resolvePcie(context: Context): void {
  const { raw, table, tableFirst, out } = context;
  const width = positive(first(table, 'pcie_link_width'));
  const speed = positive(scaled(first(table, 'pcie_link_speed'), 1e9));
  const fileWidth = raw.parse('current_link_width', parseLinkWidth);
  const fileSpeed = raw.parse('current_link_speed', parseLinkSpeed);
  const put = (quantity: Quantity, inTable: number | undefined, inFile: number | undefined, file: string): void => {
    const pair: [number | undefined, string][] = [
      [inTable, GM],
      [inFile, file],
    ];
    out.put(quantity, ...firstOf(...(tableFirst ? pair : pair.reverse())));
  };
  put(pcie.linkWidth, width, fileWidth, 'current_link_width');
  put(pcie.linkSpeed, speed, fileSpeed, 'current_link_speed');
  out.put(pcie.bandwidth, scaled(first(table, 'pcie_bandwidth_inst'), 1e9), GM);
  const sum = rawCounter(table, 'pcie_bandwidth_acc');
  out.count(pcie.bandwidthAccumulator, sum, GM, { width: 64, maxRate: 1e7 }, undefined);
  const errors = { width: 64, maxRate: ERROR_RATE } as const;
  const replays = rawCounter(table, 'pcie_replay_count_acc');
  if (replays !== undefined) out.count(pcie.replays, replays, GM, errors, undefined);
  else out.put(pcie.replays, raw.parse('pcie_replay_count', parseBig), 'pcie_replay_count');
  for (const [field, quantity] of COUNTERS) {
    const width = table?.width(field) === 8 ? 64 : 32;
    out.count(quantity, rawCounter(table, field), GM, { width, maxRate: ERROR_RATE }, undefined);
  }
  const runtime = raw.parse('power/runtime_status', parseWord);
  states(out, pcie.runtimeState, RUNTIME_STATES, runtime, 'power/runtime_status');
}

/** What the link could do, and its error reports: none of it changes within seconds. */
export function resolvePcieSlow({ raw, out }: Context): void {
  out.put(pcie.linkWidthMax, raw.parse('max_link_width', parseLinkWidth), 'max_link_width');
  out.put(pcie.linkSpeedMax, raw.parse('max_link_speed', parseLinkSpeed), 'max_link_speed');
  out.put(pcie.slotWidthMax, raw.parse('bridge/max_link_width', parseLinkWidth), 'max_link_width of the port above');
  out.put(pcie.slotSpeedMax, raw.parse('bridge/max_link_speed', parseLinkSpeed), 'max_link_speed of the port above');
  for (const [file, severity] of AER) {
    const errors = raw.parse(file, parseAer);
    if (errors !== undefined) for (const [error, count] of errors) out.put(pcie.aer, count, file, severity, error);
  }
  states(out, pcie.powerState, POWER_STATES, raw.parse('power_state', parseWord), 'power_state');
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}
