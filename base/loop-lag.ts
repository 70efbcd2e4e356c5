import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { type Clock, systemClock } from './clock.ts';

/** How late the event loop came to its timers over one window, in seconds. */
export interface LoopLagSample {
  mean: number;
  p50: number;
  p99: number;
  max: number;
}

export interface LoopLag {
  /** The last complete window; undefined before the first one ended. */
  latest(): LoopLagSample | undefined;
  stop(): void;
}

export interface LoopLagOptions {
  clock?: Clock;
  /** Length of a window, ms. Windows are fixed, so that two scrapers see the same. */
  windowMs?: number;
  /** How often the loop is probed, ms. Each probe wakes the process: a hundred a second alone are half a percent of a core. */
  resolutionMs?: number;
  monitor?: (options: { resolution: number }) => IntervalHistogram;
}

export function measureLoopLag(options: LoopLagOptions = {}): LoopLag {
  const { clock = systemClock, windowMs = 10_000, resolutionMs = 200, monitor = monitorEventLoopDelay } = options;
  const histogram = monitor({ resolution: resolutionMs });
  let latest: LoopLagSample | undefined;
  histogram.enable();
  const timer = clock.every(windowMs, () => {
    latest = histogram.count > 0 ? sample(histogram, resolutionMs) : undefined;
    histogram.reset();
  });
  return {
    latest: () => latest,
    stop() {
      timer.stop();
      histogram.disable();
    },
  };
}

/** The histogram holds whole intervals between probes (ns): the probe's own period is not lag. */
function sample(histogram: IntervalHistogram, resolutionMs: number): LoopLagSample {
  const lag = (ns: number) => Math.max(0, ns / 1e9 - resolutionMs / 1e3);
  return {
    mean: lag(histogram.mean),
    p50: lag(histogram.percentile(50)),
    p99: lag(histogram.percentile(99)),
    max: lag(histogram.max),
  };
}
