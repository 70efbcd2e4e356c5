import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { PoolStats } from '../amdgpu/lanes/pool.ts';
import type { LoopLag } from '../base/loop-lag.ts';
import { buildInfoMetric, lanesMetric, loopLagMetric, processMetrics } from '../base/process-metrics.ts';

export interface SelfOptions {
  version: string;
  revision: string;
  collectors: readonly string[];
  lanes: () => PoolStats;
  lag: LoopLag;
  droppedProcesses: () => number;
}

/** Metrics of our own work, created at 0. Hardware values do not pass here: see exposition.ts. */
export class SelfMetrics {
  readonly registry = new Registry();
  readonly success: Gauge<'collector'>;
  readonly duration: Gauge<'collector'>;
  readonly processScan: Gauge;
  readonly snapshot: Histogram;
  readonly scrapes: Counter<'outcome'>;

  constructor(options: SelfOptions) {
    const registers = [this.registry];
    processMetrics(registers);
    this.success = new Gauge({
      name: 'amdgpu_exporter_collector_success',
      help: '1 where the collector could read and make all that belongs to it in the last collection.',
      labelNames: ['collector'],
      registers,
    });
    this.duration = new Gauge({
      name: 'amdgpu_exporter_collector_duration_seconds',
      help: 'Time that a collector took in the last collection: making readings and writing them out.',
      labelNames: ['collector'],
      registers,
    });
    for (const collector of options.collectors) {
      this.success.set({ collector }, 0);
      this.duration.set({ collector }, 0);
    }
    this.processScan = new Gauge({
      name: 'amdgpu_exporter_process_scan_timestamp_seconds',
      help: 'When the processes (and profiler documents) were last looked at; 0 before the first time.',
      registers,
    });
    this.snapshot = new Histogram({
      name: 'amdgpu_exporter_snapshot_duration_seconds',
      help: 'Time from the start of a collection until all cards were read or given up.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers,
    });
    this.scrapes = new Counter({
      name: 'amdgpu_exporter_scrapes_total',
      help: 'Scrapes by outcome: complete, partial (some card did not answer in time), shared (served from a collection under way).',
      labelNames: ['outcome'],
      registers,
    });
    for (const outcome of ['complete', 'partial', 'shared']) this.scrapes.inc({ outcome }, 0);
    buildInfoMetric('amdgpu_exporter_build_info', 'Version of this exporter.', options, registers);
    lanesMetric(
      'amdgpu_exporter_lanes',
      'Reading processes, by state; a stuck one waits for a card that does not answer.',
      options.lanes,
      registers,
    );
    let splits = 0;
    new Counter({
      name: 'amdgpu_exporter_lane_splits_total',
      help: 'Times that a reading process was left with a card that did not answer.',
      registers,
      collect() {
        const now = options.lanes().splits;
        this.inc(now - splits);
        splits = now;
      },
    });
    let dropped = 0;
    new Counter({
      name: 'amdgpu_exporter_process_series_dropped_total',
      help: 'Per-process series left out because of --collector.process.max-series.',
      registers,
      collect() {
        const now = options.droppedProcesses();
        this.inc(now - dropped);
        dropped = now;
      },
    });
    loopLagMetric('amdgpu_exporter_event_loop_lag_seconds', options.lag, registers);
  }
}
