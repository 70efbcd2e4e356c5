/**
 * What becomes of the rows of the matrix that do not follow from a quantity's own `rows`: values that a query makes of exported
 * series, rows that no file of the kernel answers, and rows that wait for another part of this program. A verdict here goes
 * before what quantities claim.
 */
export type Verdict =
  /** PromQL over exported series. */
  | { kind: 'derived'; expression: string; note?: string }
  /** No file that an ordinary user may read, without device node and debugfs, holds it. */
  | { kind: 'impossible'; reason: string }
  | { kind: 'later'; needs: 'sampler' | 'owners' | 'detectors'; note: string }
  /** Exported, with something to be said about it. */
  | { kind: 'exported'; note: string };

const derived = (expression: string, note?: string): Verdict =>
  note === undefined ? { kind: 'derived', expression } : { kind: 'derived', expression, note };
const impossible = (reason: string): Verdict => ({ kind: 'impossible', reason });
const later = (needs: 'sampler' | 'owners' | 'detectors', note: string): Verdict => ({ kind: 'later', needs, note });
const exported = (note: string): Verdict => ({ kind: 'exported', note });

const DF_PMU = impossible('perf events of the data fabric: perf_event_open with CAP_PERFMON, no file');
const VENDOR_LIBRARY = impossible('only a vendor library tells it, no file');
const TRACER = impossible('needs a tool library loaded into the application');
const NVIDIA_ONLY = impossible('exists on NVIDIA parts only');

const share = (cause: string): Verdict =>
  derived(
    `rate(amdgpu_throttle_ticks_total{cause="${cause}"}[5m]) / on (instance, gpu) rate(amdgpu_accumulation_ticks_total[5m])`,
  );
const xccShare = (cause: string): Verdict =>
  derived(
    `rate(amdgpu_xcc_below_host_limit_ticks_total{cause="${cause}"}[5m]) / on (instance, gpu) group_left rate(amdgpu_accumulation_ticks_total[5m])`,
  );
const allBlocks = (severity: string): Verdict =>
  derived(`sum by (instance, gpu) (amdgpu_ras_errors_total{severity="${severity}"})`);

export const COVERAGE: Readonly<Record<string, Verdict>> = {
  C6: impossible('register samples through an ioctl on the device node; reading them keeps the card from idling'),
  C7: impossible('debugfs; Instinct has no GFXOFF'),
  C8: TRACER,
  C9: TRACER,
  C10: TRACER,

  M3: derived('amdgpu_vram_size_bytes - amdgpu_vram_used_bytes'),
  M4: derived('amdgpu_vram_used_bytes / amdgpu_vram_size_bytes'),
  M7: derived('amdgpu_visible_vram_size_bytes - amdgpu_visible_vram_used_bytes'),
  M10: derived('amdgpu_gtt_size_bytes - amdgpu_gtt_used_bytes'),
  M14: derived(
    'amdgpu_busy_ratio{engine="memory_controller"} * on (instance, gpu) amdgpu_vram_bandwidth_max_bytes_per_second',
    'MI300A sockets: amdgpu_socket_memory_bandwidth_used_ratio, amdgpu_socket_bandwidth_accumulator_total',
  ),
  M15: impossible('the driver shows no such figure'),
  M20: exported('collector profiler, off by default: counters FETCH_SIZE and WRITE_SIZE'),

  P7: exported(
    'collector pcie_bw, off by default: the read blocks a second; not on MI300 and later, where P5 and P6 serve',
  ),
  P8: exported('collector pcie_bw, off by default, as P7'),
  P19: exported('label board_type, where the driver has board_info'),

  X7: DF_PMU,
  X8: DF_PMU,
  X9: DF_PMU,
  X10: DF_PMU,
  X11: DF_PMU,
  X12: DF_PMU,
  X13: DF_PMU,
  X14: DF_PMU,
  X15: DF_PMU,
  X16: DF_PMU,
  X17: DF_PMU,
  X18: DF_PMU,
  X19: DF_PMU,
  X20: DF_PMU,
  X24: impossible('no file tells the state of a fabric manager'),
  X25: impossible(
    'no AMD part has such a link; the nearest is the memory side of MI300A, amdgpu_socket_memory_bandwidth_used_ratio',
  ),
  X26: VENDOR_LIBRARY,
  X27: VENDOR_LIBRARY,
  X28: VENDOR_LIBRARY,
  X29: VENDOR_LIBRARY,
  X30: VENDOR_LIBRARY,
  X31: VENDOR_LIBRARY,
  X32: VENDOR_LIBRARY,
  X33: VENDOR_LIBRARY,
  X34: impossible(
    'the driver has no error counters by link; nearest: amdgpu_xgmi_errors_seen_total and amdgpu_ras_errors_total{block="xgmi_wafl"}',
  ),

  T7: exported('MI350 files; the folder board/npm of later parts is not documented yet'),
  T15: impossible('no file; the management library asks the device node'),
  T16: NVIDIA_ONLY,
  T29: derived(
    'amdgpu_temperature_limit_celsius{limit="critical"} - on (instance, gpu, sensor) amdgpu_temperature_celsius',
    'absent where the driver states no limit',
  ),
  T31: exported('the PWM range 0–255 as a ratio'),
  T39: share('prochot'),
  T41: share('ppt'),
  T43: share('socket_thermal'),
  T45: share('vr_thermal'),
  T47: share('hbm_thermal'),
  T49: xccShare('power'),
  T51: xccShare('thermal'),
  T53: xccShare('low_utilization'),
  T55: xccShare('any'),
  T57: impossible(
    'events of KFD (an ioctl on /dev/kfd) or lines of the kernel log; nearest: amdgpu_throttle_ticks_total, amdgpu_throttle_active',
  ),
  T59: NVIDIA_ONLY,

  R1: allBlocks('correctable'),
  R2: allBlocks('uncorrectable'),
  R3: allBlocks('deferred'),
  R26: impossible('AMD parts retire pages instead: R23 to R25'),
  R27: impossible('debugfs'),
  R29: impossible('CPER records in debugfs'),
  R30: impossible('CPER records in debugfs, or the kernel log; nearest: amdgpu_ras_events_total'),
  R31: derived(
    'sum by (instance, gpu) (amdgpu_ras_errors_total{severity="uncorrectable"}) == bool 0',
    'one verdict of several: thresholds are the alert rules’ business',
  ),
  R32: impossible('no file; the management library derives a reboot flag from its own policy'),
  R33: exported('a reset seen; that one is about to happen is told by events of KFD alone'),
  R34: impossible('events of KFD (an ioctl on /dev/kfd)'),
  R35: exported('counts by process, off by default; start and end of each are events of KFD'),
  R36: impossible(
    'events of KFD (an ioctl on /dev/kfd); nearest: the time spent evicted, amdgpu_processes_evicted_seconds_total',
  ),
  R37: impossible('the kernel log: /dev/kmsg is a device node and needs CAP_SYSLOG'),
  R38: derived(
    'amdgpu_up == 0',
    'a card that was there when the exporter started; against an expected number: amdgpu_gpus',
  ),
  R39: impossible('results of test programs, no file of the kernel'),
  R40: impossible('debugfs; for tests of the driver'),

  J1: exported('PIDs by the per-process series, off by default'),
  J3: exported('what is resident, and of VRAM what is shared; total and purgeable sizes are left out'),
  J9: exported('name and start; the user comes with owners, CPU shares are for exporters of host processes'),
  J10: later('owners', 'starts and ends are seen there; as events only KFD tells them'),
  J11: later('owners', 'Kubernetes'),
  J12: later('owners', 'Slurm, PBS, Flux'),
  J13: later('owners', 'labels of a job'),
  J14: impossible('the application knows it: its own metrics, joined by job'),
  J15: later('owners', 'sums over the life of a job'),
  J16: later('owners', 'allocation against amdgpu_activity_accumulator_total'),
  J17: later('owners', 'device plugin'),
  J18: later('owners', 'several owners of one card'),

  N9: NVIDIA_ONLY,
  E6: NVIDIA_ONLY,

  I4: exported('label vendor'),
  I9: exported('out-of-tree driver version, else the kernel release'),
  I20: derived('amdgpu_visible_vram_size_bytes >= bool amdgpu_vram_size_bytes'),
  I21: impossible('an ioctl on the device node'),
  I22: derived(
    'sum by (instance, gpu) (amdgpu_compute_units * amdgpu_compute_clock_max_hertz) * 256',
    'FP32 vector operations a second of MI200 and MI300 (MI100: times 128); peak bandwidth: amdgpu_vram_bandwidth_max_bytes_per_second',
  ),
  I23: exported('the cluster is an external label of Prometheus'),

  D1: derived(
    'rate(amdgpu_activity_accumulator_total{engine="gfx"}[1m]) / on (instance, gpu) rate(amdgpu_accumulation_ticks_total[1m]) / 100',
  ),
  D2: derived(
    'rate(amdgpu_throttle_ticks_total[5m]) / on (instance, gpu) group_left rate(amdgpu_accumulation_ticks_total[5m])',
  ),
  D3: derived(
    'amdgpu_temperature_limit_celsius{limit="critical"} - on (instance, gpu, sensor) amdgpu_temperature_celsius',
  ),
  D4: derived(
    '(amdgpu_temperature_celsius{sensor="junction"} - on (instance, gpu) amdgpu_baseboard_temperature_celsius{sensor="ubb_front"}) / on (instance, gpu) amdgpu_power_watts',
    'over steady minutes; where there is no baseboard sensor, an inlet sensor of the host stands in its place',
  ),
  D5: derived(
    'deriv(amdgpu_temperature_celsius{sensor="junction"}[1m])',
    'faster than a scrape: later, by the sampler',
  ),
  D6: derived(
    '((amdgpu_pcie_link_width < amdgpu_pcie_link_width_max) or (amdgpu_pcie_link_speed_transfers_per_second < amdgpu_pcie_link_speed_max_transfers_per_second)) and on (instance, gpu) amdgpu_busy_ratio{engine="gfx"} > 0.5',
    'the slot’s own limits: amdgpu_pcie_slot_width_max, amdgpu_pcie_slot_speed_max_transfers_per_second',
  ),
  D7: derived(
    'rate(amdgpu_xgmi_read_bytes_total[1m]) * 8 / on (instance, gpu) group_left () (amdgpu_xgmi_link_width * amdgpu_xgmi_link_speed_transfers_per_second)',
    'and the same of amdgpu_xgmi_write_bytes_total',
  ),
  D8: derived(
    'amdgpu_pcie_bandwidth_bytes_per_second * 8 / (amdgpu_pcie_link_width * amdgpu_pcie_link_speed_transfers_per_second)',
  ),
  D9: derived(
    '(amdgpu_vram_size_bytes - amdgpu_vram_used_bytes) / (deriv(amdgpu_vram_used_bytes[15m]) > 0)',
    'seconds until full, while it grows',
  ),
  D10: derived('rate(amdgpu_processes_evicted_seconds_total[5m])'),
  D11: derived(
    'sum by (instance, gpu) (amdgpu_profiler_counter{counter=~"TOTAL_(16|32|64)_OPS"}) / sum by (instance, gpu) (amdgpu_profiler_counter{counter=~"FETCH_SIZE|WRITE_SIZE"}) / 1024',
    'collector profiler, counters of one pass',
  ),
  D12: derived(
    'sum by (instance, gpu) (amdgpu_profiler_counter{counter="FETCH_SIZE"}) / sum by (instance, gpu) (amdgpu_profiler_counter{counter=~"FETCH_SIZE|WRITE_SIZE"})',
    'collector profiler',
  ),
  D13: later('owners', 'shares of amdgpu_energy_joules_total by owner'),
  D14: later('owners', 'what a job counts as work, over amdgpu_energy_joules_total'),
  D15: later('sampler', 'time since amdgpu_activity_accumulator_total last rose, finer than a scrape'),
  D16: later('owners', 'D15 of cards that have an owner'),
  D17: later('detectors', 'peaks of XGMI traffic'),
  D18: later('detectors', 'bursts of writes while the card idles'),
  D19: derived('amdgpu_voltage_volts / quantile_over_time(0.5, amdgpu_voltage_volts[1h])', 'within one clock band'),
  D20: derived(
    'sum by (instance, gpu) (amdgpu_profiler_counter{counter="TCC_EA0_RDREQ_LEVEL_sum"}) / sum by (instance, gpu) (amdgpu_profiler_counter{counter="TCC_EA0_RDREQ_sum"})',
    'collector profiler: a mean in cycles; no file of the kernel tells a latency',
  ),
  D21: derived('time() - amdgpu_sample_change_timestamp_seconds'),
  D23: derived(
    'count(count by (version) (amdgpu_driver_info))',
    'and the same by vbios of amdgpu_info and of amdgpu_firmware_info',
  ),
  D24: derived(
    'max by (instance) (amdgpu_temperature_celsius{sensor="junction"}) - min by (instance) (amdgpu_temperature_celsius{sensor="junction"})',
    'the same of D1 and of amdgpu_power_watts',
  ),
  D25: derived(
    'max by (instance, gpu) (rate(amdgpu_xcc_activity_accumulator_total[1m])) - min by (instance, gpu) (rate(amdgpu_xcc_activity_accumulator_total[1m]))',
    'percent times ticks a second; over the rate of amdgpu_accumulation_ticks_total it is percent',
  ),
};
