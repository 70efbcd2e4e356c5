import type { Group } from '../../model/quantities/quantity.ts';
import { resolveApu } from './apu.ts';
import { resolveClocks } from './clocks.ts';
import { resolveAccumulators, resolveBusy, resolvePartitions } from './compute.ts';
import type { Context, Resolver } from './context.ts';
import { resolveMemory, resolveMemorySizes } from './memory.ts';
import { resolvePartitionInfo, resolvePartitionModes } from './partition.ts';
import { resolvePcie, resolvePcieSlow } from './pcie.ts';
import { resolvePower, resolvePowerSlow } from './power.ts';
import { resolveRas, resolveRasEvents } from './ras.ts';
import { resolveThermal, resolveThermalLimits } from './thermal.ts';
import { resolveThrottleBits } from './throttle.ts';
import { resolveXgmi, resolveXgmiSlow } from './xgmi.ts';

type Listed = readonly (readonly [group: Group, resolver: Resolver])[];

/** Raw files to readings, one resolver a subject. Which source wins is decided in these functions and nowhere else. */
export const LIVE: Listed = [
  ['compute', resolveBusy],
  ['compute', resolveAccumulators],
  ['partition', resolvePartitions],
  ['memory', resolveMemory],
  ['pcie', resolvePcie],
  ['xgmi', resolveXgmi],
  ['power', resolvePower],
  ['thermal', resolveThermal],
  ['throttle', resolveThrottleBits],
  ['clocks', resolveClocks],
  ['ras', resolveRasEvents],
  ['partition', resolvePartitionModes],
  ['apu', resolveApu],
];

/** Those whose files are read seldom: run when one of them was. */
export const SLOW: Listed = [
  ['memory', resolveMemorySizes],
  ['pcie', resolvePcieSlow],
  ['xgmi', resolveXgmiSlow],
  ['power', resolvePowerSlow],
  ['thermal', resolveThermalLimits],
  ['ras', resolveRas],
  ['partition', resolvePartitionInfo],
];

export interface ResolveReport {
  seconds: Map<Group, number>;
  /** A resolver that threw: our own bug, which must not cost the other subjects. */
  failures: Map<Group, Error>;
  /** Groups some of whose files could not be read. */
  troubled: Set<Group>;
}

/** Runs resolvers on one card; `report` collects over cards. */
export function resolve(resolvers: Listed, context: Context, now: () => number, report: ResolveReport): void {
  for (const [group, resolver] of resolvers) {
    const start = now();
    try {
      resolver(context);
    } catch (error) {
      report.failures.set(group, error instanceof Error ? error : new Error(String(error)));
    }
    report.seconds.set(group, (report.seconds.get(group) ?? 0) + (now() - start) / 1000);
  }
}
