import { Counter, Gauge, type Registry } from 'prom-client';
import type { LoopLag } from './loop-lag.ts';

/** Under the names that every Prometheus client uses. prom-client's own set probes the event loop a hundred times a second. */
export function processMetrics(registers: Registry[]): void {
  let seen = 0;
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of the main process, user and system, in seconds.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      const now = (user + system) / 1e6;
      this.inc(now - seen);
      seen = now;
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the main process in bytes.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the main process started, in seconds since the epoch.',
    registers,
  }).set(Math.round(Date.now() / 1000 - process.uptime()));
}

export function loopLagMetric(name: string, lag: LoopLag, registers: Registry[]): void {
  new Gauge({
    name,
    help: 'Lag of the event loop over the last ten seconds.',
    labelNames: ['statistic'],
    registers,
    collect() {
      const sample = lag.latest();
      for (const statistic of ['mean', 'p99', 'max'] as const) {
        if (sample !== undefined) this.set({ statistic }, sample[statistic]);
      }
    },
  });
}

export function buildInfoMetric(
  name: string,
  help: string,
  { version, revision }: { version: string; revision: string },
  registers: Registry[],
): void {
  const labelNames = ['version', 'revision', 'nodejs'];
  new Gauge({ name, help, labelNames, registers }).set({ version, revision, nodejs: process.version }, 1);
}

/** Child processes of ours, by whether they get on. */
export function lanesMetric(
  name: string,
  help: string,
  stats: () => { lanes: number; stuck: readonly string[] },
  registers: Registry[],
): void {
  new Gauge({
    name,
    help,
    labelNames: ['state'],
    registers,
    collect() {
      const { lanes, stuck } = stats();
      this.set({ state: 'stuck' }, stuck.length);
      this.set({ state: 'working' }, lanes - stuck.length);
    },
  });
}
