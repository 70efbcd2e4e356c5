import { CATALOGUE } from '../model/quantities/catalogue.ts';
import type { Group, Quantity } from '../model/quantities/quantity.ts';

/**
 * A collector is a switch and the quantities behind it. What a quantity is (name, unit, sources, rows) stands in
 * model/quantities/, how it is read in amdgpu/; a collector reads nothing.
 */
export interface Collector {
  name: string;
  groups: readonly Group[];
  byDefault: boolean;
  help: string;
}

/** Listed explicitly: a collector that registers itself on import is one that tests cannot see. */
export const COLLECTORS: readonly Collector[] = [
  { name: 'compute', groups: ['compute'], byDefault: true, help: 'engine activity, accumulators, firmware clocks' },
  { name: 'memory', groups: ['memory'], byDefault: true, help: 'VRAM, GTT and what else the card maps' },
  { name: 'pcie', groups: ['pcie'], byDefault: true, help: 'PCIe link, traffic and errors' },
  { name: 'xgmi', groups: ['xgmi'], byDefault: true, help: 'Infinity Fabric links and topology' },
  { name: 'power', groups: ['power'], byDefault: true, help: 'power, limits, energy, performance level' },
  { name: 'thermal', groups: ['thermal'], byDefault: true, help: 'temperatures, fans, voltages' },
  { name: 'throttle', groups: ['throttle'], byDefault: true, help: 'why the card does not run at full clock' },
  { name: 'clocks', groups: ['clocks'], byDefault: true, help: 'clocks and their limits' },
  {
    name: 'ras',
    groups: ['ras'],
    byDefault: true,
    help: 'hardware errors and bad pages (err_count files once a minute)',
  },
  { name: 'process', groups: ['process'], byDefault: true, help: 'sums over the processes on each card' },
  { name: 'partition', groups: ['partition'], byDefault: true, help: 'partitions and virtual functions' },
  { name: 'media', groups: ['media'], byDefault: true, help: 'video and JPEG engines' },
  { name: 'apu', groups: ['apu'], byDefault: true, help: 'what only APUs have, and the host side of MI300A' },
  {
    name: 'profiler',
    groups: ['profiler'],
    byDefault: false,
    help: 'counters that a profiler wrote to --collector.profiler.directory',
  },
  {
    name: 'pcie_bw',
    groups: [],
    byDefault: false,
    help: 'PCIe bytes on MI50 to MI200; each read blocks a second in the driver',
  },
];

/** Always on: without identity and state nothing else can be read right. */
export const CORE: readonly Quantity[] = CATALOGUE.info;

export function quantitiesOf(collector: Collector): readonly Quantity[] {
  return collector.groups.flatMap((group) => CATALOGUE[group]);
}
