import { apu } from './apu.ts';
import { clocks } from './clocks.ts';
import { compute } from './compute.ts';
import { info } from './info.ts';
import { media } from './media.ts';
import { memory } from './memory.ts';
import { partition } from './partition.ts';
import { pcie } from './pcie.ts';
import { power } from './power.ts';
import { process } from './process.ts';
import { profiler } from './profiler.ts';
import type { Group, Quantity } from './quantity.ts';
import { ras } from './ras.ts';
import { thermal } from './thermal.ts';
import { throttle } from './throttle.ts';
import { xgmi } from './xgmi.ts';

/** Every quantity there is, by group. */
export const CATALOGUE: Readonly<Record<Group, readonly Quantity[]>> = {
  info: Object.values(info),
  compute: Object.values(compute),
  memory: Object.values(memory),
  pcie: Object.values(pcie),
  xgmi: Object.values(xgmi),
  power: Object.values(power),
  thermal: Object.values(thermal),
  throttle: Object.values(throttle),
  clocks: Object.values(clocks),
  ras: Object.values(ras),
  process: Object.values(process),
  partition: Object.values(partition),
  media: Object.values(media),
  apu: Object.values(apu),
  profiler: Object.values(profiler),
};

export const ALL_QUANTITIES: readonly Quantity[] = Object.values(CATALOGUE).flat();
