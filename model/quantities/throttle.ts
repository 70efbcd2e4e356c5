/** Why the card does not run at full clock. */
import { group } from './quantity.ts';

export const throttle = group('throttle', {
  ticks: {
    key: 'throttle',
    labels: ['cause'],
    unit: 'ticks',
    kind: 'counter',
    rows: ['T38', 'T39', 'T40', 'T41', 'T42', 'T43', 'T44', 'T45', 'T46', 'T47', 'T58', 'D2'],
    cadence: 'fast',
    sources: ['gpu_metrics *_residency_acc, throttle_residency_*'],
    help: 'Firmware ticks spent throttled, by cause; rate over the rate of amdgpu_accumulation_ticks_total is the share of time. An idle card of one driver generation counted every tick: read it together with load.',
  },
  seconds: {
    key: 'throttle',
    labels: ['cause'],
    unit: 'seconds',
    kind: 'counter',
    rows: ['T38', 'T40', 'T42', 'T44', 'T46'],
    cadence: 'fast',
    sources: ['gpu_metrics *_residency_acc', 'gpu_metrics firmware_timestamp'],
    help: 'Time spent throttled, by cause, by the tick that was measured against the firmware clock on this card.',
  },
  xccTicks: {
    key: 'xcc_below_host_limit',
    labels: ['xcc', 'cause'],
    unit: 'ticks',
    kind: 'counter',
    rows: ['T48', 'T49', 'T50', 'T51', 'T52', 'T53', 'T54', 'T55', 'N6'],
    cadence: 'scrape',
    sources: ['gpu_metrics gfx_below_host_limit_*_acc, gfx_low_utilization_acc', 'xcp/xcp_metrics'],
    help: 'Firmware ticks that a compute die ran below the clock limit set by the host, by cause.',
    partitioned: true,
  },
  active: {
    key: 'throttle_active',
    labels: ['cause'],
    unit: 'state',
    kind: 'gauge',
    rows: ['T56'],
    cadence: 'scrape',
    sources: ['gpu_metrics indep_throttle_status, throttle_status'],
    help: 'Throttle bits set now. One set bit is no proof of throttling: some cards hold one at idle.',
  },
});
