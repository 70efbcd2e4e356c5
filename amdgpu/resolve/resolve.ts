import type { Group } from '../../model/quantities/quantity.ts';
import { resolveApu } from './apu.ts';
import { resolveClocks } from './clocks.ts';
import { resolveAccumulators, resolveBusy, resolvePartitions } from './compute.ts';
import type { Context, Resolver } from './context.ts';
import { resolveMemory } from './memory.ts';
import { resolvePartitionInfo } from './partition.ts';
import { resolvePcie } from './pcie.ts';
import { resolvePower } from './power.ts';
import { resolveRas } from './ras.ts';
import { resolveThermal } from './thermal.ts';
import { resolveThrottleBits } from './throttle.ts';
import { resolveXgmi } from './xgmi.ts';

/** Raw files to readings, one resolver a subject. Which source wins is decided in these functions and nowhere else. */
export const RESOLVERS: readonly (readonly [group: Group, resolver: Resolver])[] = [
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
  ['ras', resolveRas],
  ['partition', resolvePartitionInfo],
  ['apu', resolveApu],
];

export interface ResolveReport {
  seconds: Map<Group, number>;
  /** A resolver that threw: our own bug, which must not cost the other subjects. */
  failures: Map<Group, Error>;
  /** Groups some of whose files could not be read. */
  troubled: Set<Group>;
}

/** Runs all resolvers on one card; `report` collects over cards. */
export function resolve(context: Context, now: () => number, report: ResolveReport): void {
  for (const [group, resolver] of RESOLVERS) {
    const start = now();
    try {
      resolver(context);
    } catch (error) {
      report.failures.set(group, error instanceof Error ? error : new Error(String(error)));
    }
    report.seconds.set(group, (report.seconds.get(group) ?? 0) + (now() - start) / 1000);
  }
}
