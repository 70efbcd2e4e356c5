import { existsSync } from 'node:fs';
import type { Gpu, NodeDescription } from '../../sim/tree.ts';
import type { Labels, Series } from './series.ts';

/**
 * What rocm-smi 5.2 says and what our series say, brought to one unit. A row takes one thing out of rocm-smi's JSON, by the key
 * that it prints, and finds the same thing in a scrape.
 */

export type Value = string | number | undefined;

export interface Scope {
  node: NodeDescription;
  series: Series;
  /** Our number of the GPU that rocm-smi calls cardN. */
  gpuOf(card: number): string;
}

export interface CardScope extends Scope {
  gpu: Gpu;
  /** Its label. */
  label: string;
}

interface Known {
  why: string;
  /** Whether just this is the difference at hand. */
  holds(theirs: Value, ours: Value): boolean;
}

interface RowOf<S> {
  what: string;
  key: RegExp;
  theirs(text: string, match: RegExpExecArray): Value;
  ours(scope: S, match: RegExpExecArray): Value;
  /** Differences that are the tool's doing. */
  known?(scope: S): Known[];
}
export type CardRow = RowOf<CardScope>;
export type SystemRow = RowOf<Scope>;

/** First number in a text like `(1402Mhz)` or `63.0`; none in `N/A`. */
export function numberIn(text: string): number | undefined {
  const found = /-?\d+(?:\.\d+)?/.exec(text)?.[0];
  return found === undefined ? undefined : Number(found);
}
const asWritten = (text: string): Value => (text === 'N/A' ? undefined : text);
const lower = (text: string): string => text.toLowerCase();

const value = (metric: string, labels: Labels = {}, factor = 1) => {
  return ({ series, label }: CardScope): Value => {
    const found = series.value(`amdgpu_${metric}`, { gpu: label, ...labels });
    return found === undefined ? undefined : found * factor;
  };
};
const info =
  (name: string, change: (text: string) => string = (text) => text) =>
  ({ series, label }: CardScope): Value => {
    const found = series.all('amdgpu_info', { gpu: label })[0]?.labels[name];
    return found === undefined ? undefined : change(found);
  };

const CLOCKS: Readonly<Record<string, string>> = { sclk: 'gfx', mclk: 'mem', fclk: 'fabric', socclk: 'soc' };
const SENSORS: Readonly<Record<string, string>> = { edge: 'edge', junction: 'junction', memory: 'mem' };
const POOLS: Readonly<Record<string, string>> = { VRAM: 'vram', VIS_VRAM: 'visible_vram', GTT: 'gtt' };
const clockOf = (match: RegExpExecArray): string => CLOCKS[match[1] ?? ''] ?? `unknown ${match[1]}`;
const poolOf = (match: RegExpExecArray): string => POOLS[match[1] ?? ''] ?? `unknown_${match[1]}`;

/** Versions as rocm-smi prints them, by block: in hex, in decimal, or as bytes in decimal with points between. */
function version(text: string): number {
  if (text.startsWith('0x')) return Number.parseInt(text, 16);
  return text.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
}

const isSecondary = ({ gpu }: CardScope): boolean => gpu.die === 'secondary';
/** A secondary die has no power path of its own; the driver's 0 is not a measurement. */
const secondaryDie = (scope: CardScope): Known[] => [
  {
    why: 'a secondary die has none of its own; the tool shows the driver’s 0',
    holds: (theirs, ours) => isSecondary(scope) && theirs === 0 && ours === undefined,
  },
];
const undocumentedEnergy = ({ node }: CardScope): Known => ({
  why: 'the unit of MI100’s counter is not documented, so there is no series in joules',
  holds: (_, ours) => node.model === 'mi100' && ours === undefined,
});

/** 2^-16 J, and what rocm-smi takes for it, in microjoules. */
const TICK_UJ = 1e6 / 65536;
const TOOL_TICK_UJ = 15.3;

/** Where the tool looks names up; installed beside it or not. */
const PCI_IDS = '/usr/share/misc/pci.ids';

export const CARD_ROWS: readonly CardRow[] = [
  { what: 'PCI address', key: /^PCI Bus$/, theirs: lower, ours: info('pci_address') },
  { what: 'device id', key: /^GPU ID$/, theirs: lower, ours: info('device_id') },
  { what: 'unique id', key: /^Unique ID$/, theirs: lower, ours: info('unique_id', (id) => `0x${id}`) },
  { what: 'serial number', key: /^Serial Number$/, theirs: asWritten, ours: info('serial') },
  { what: 'VBIOS', key: /^VBIOS version$/, theirs: asWritten, ours: info('vbios') },
  { what: 'VBIOS part (SKU)', key: /^Card SKU$/, theirs: asWritten, ours: info('vbios', (text) => text.slice(4, 10)) },
  { what: 'product', key: /^Card series$/, theirs: asWritten, ours: info('product') },
  {
    // Where pci.ids is installed, the tool prints the vendor's name.
    what: 'vendor',
    key: /^Card vendor$/,
    theirs: (text) => (/^advanced micro devices/i.test(text) ? '0x1002' : lower(text)),
    ours: info('vendor'),
  },
  {
    // The tool prints what pci.ids says of the subsystem; without a name there its id, and without pci.ids its vendor.
    what: 'subsystem',
    key: /^Card model$/,
    theirs: lower,
    ours: info('subsystem', (ids) => ids.split(':')[existsSync(PCI_IDS) ? 1 : 0] ?? ''),
    known: () => [
      {
        why: 'a name that pci.ids has for the subsystem',
        holds: (theirs) => existsSync(PCI_IDS) && typeof theirs === 'string' && !theirs.startsWith('0x'),
      },
    ],
  },
  { what: 'memory vendor', key: /^GPU memory vendor$/, theirs: asWritten, ours: info('memory_vendor') },
  { what: 'NUMA node', key: /^\(Topology\) Numa (?:Node|Affinity)$/, theirs: numberIn, ours: value('numa_node') },
  {
    what: 'firmware version',
    key: /^(.+) firmware version$/,
    theirs: version,
    ours: ({ series, label }, match) => {
      const block = (match[1] ?? '').toLowerCase().replace(' ', '_');
      const text = series.labelValues('amdgpu_firmware_info', 'version', { gpu: label, block })[0];
      return text === undefined ? undefined : Number.parseInt(text, 16);
    },
    known: () => [
      {
        why: 'version 0 is a block that the chip does not have',
        holds: (theirs, ours) => theirs === 0 && ours === undefined,
      },
    ],
  },
  {
    what: 'temperature',
    key: /^Temperature \(Sensor (edge|junction|memory)\) \(C\)$/,
    theirs: numberIn,
    ours: (scope, match) => value('temperature_celsius', { sensor: SENSORS[match[1] ?? ''] ?? '' })(scope),
  },
  {
    what: 'temperature of an HBM stack',
    key: /^Temperature \(Sensor HBM (\d)\) \(C\)$/,
    theirs: numberIn,
    ours: (scope, match) => value('temperature_celsius', { sensor: `hbm${match[1]}` })(scope),
  },
  {
    what: 'clock',
    key: /^(\w+) clock speed:$/,
    theirs: numberIn,
    ours: (scope, match) => value('clock_hertz', { clock: clockOf(match) }, 1e-6)(scope),
  },
  {
    what: 'clock of the level in force',
    key: /^(\w+) clock speed:$/,
    theirs: numberIn,
    ours: (scope, match) => value('clock_level_hertz', { clock: clockOf(match) }, 1e-6)(scope),
  },
  {
    what: 'lowest clock',
    key: /^Valid (\w+) range$/,
    theirs: numberIn,
    ours: (scope, match) => value('clock_limit_hertz', { clock: clockOf(match), bound: 'min' }, 1e-6)(scope),
  },
  {
    what: 'highest clock',
    key: /^Valid (\w+) range$/,
    theirs: (text) => numberIn(text.split(' - ')[1] ?? ''),
    ours: (scope, match) => value('clock_limit_hertz', { clock: clockOf(match), bound: 'max' }, 1e-6)(scope),
  },
  {
    what: 'overdrive of the core clock',
    key: /^GPU OverDrive value \(%\)$/,
    theirs: numberIn,
    ours: value('overdrive_ratio', { clock: 'gfx' }, 100),
  },
  {
    what: 'overdrive of the memory clock',
    key: /^GPU Memory OverDrive value \(%\)$/,
    theirs: numberIn,
    ours: value('overdrive_ratio', { clock: 'mem' }, 100),
  },
  {
    what: 'PCIe speed',
    key: /^pcie clock level$/,
    theirs: (text) => Number(/([\d.]+)GT/.exec(text)?.[1]),
    ours: value('pcie_link_speed_transfers_per_second', {}, 1e-9),
  },
  {
    what: 'PCIe width',
    key: /^pcie clock level$/,
    theirs: (text) => Number(/x(\d+)/.exec(text)?.[1]),
    ours: value('pcie_link_width'),
  },
  { what: 'PCIe replays', key: /^PCIe Replay Count$/, theirs: numberIn, ours: value('pcie_replays_total') },
  {
    what: 'performance level',
    key: /^Performance Level$/,
    theirs: lower,
    ours: ({ series, label }) => series.state('amdgpu_perf_level', 'state', { gpu: label }),
  },
  {
    what: 'power',
    key: /^Average Graphics Package Power \(W\)$/,
    theirs: numberIn,
    ours: value('power_watts'),
    known: ({ node }) => [
      {
        why: 'the tool reads power1_average, which MI300 does not have (power1_input)',
        holds: (theirs) => node.model === 'mi300x' && theirs === undefined,
      },
    ],
  },
  {
    what: 'power cap',
    key: /^Max Graphics Package Power \(W\)$/,
    theirs: numberIn,
    ours: value('power_cap_watts'),
    known: secondaryDie,
  },
  {
    what: 'energy, by the counter',
    key: /^Energy counter$/,
    theirs: (text) => (Number(text) * TICK_UJ) / 1e6,
    ours: value('energy_joules_total'),
    known: (scope) => [...secondaryDie(scope), undocumentedEnergy(scope)],
  },
  {
    what: 'energy, in the tool’s unit',
    key: /^Accumulated Energy \(uJ\)$/,
    theirs: numberIn,
    ours: value('energy_joules_total', {}, 1e6),
    known: (scope) => [
      ...secondaryDie(scope),
      undocumentedEnergy(scope),
      {
        why: 'the tool rounds the step of 2^-16 J (15.259 µJ) to 15.3 µJ and so shows 0.27 % too much',
        holds: (theirs, ours) => isClose(Number(theirs) / Number(ours), TOOL_TICK_UJ / TICK_UJ, 1e-6),
      },
    ],
  },
  {
    what: 'voltage',
    key: /^Voltage \(mV\)$/,
    theirs: numberIn,
    ours: value('voltage_volts', { rail: 'vddgfx' }, 1000),
  },
  { what: 'busy', key: /^GPU use \(%\)$/, theirs: numberIn, ours: value('busy_ratio', { engine: 'gfx' }, 100) },
  {
    what: 'memory busy',
    key: /^GPU memory use \(%\)$/,
    theirs: numberIn,
    ours: value('busy_ratio', { engine: 'memory_controller' }, 100),
  },
  {
    what: 'busy percent, summed',
    key: /^GFX Activity$/,
    theirs: numberIn,
    ours: value('activity_accumulator_total', { engine: 'gfx' }),
  },
  {
    what: 'memory busy percent, summed',
    key: /^Memory Activity$/,
    theirs: numberIn,
    ours: value('activity_accumulator_total', { engine: 'memory_controller' }),
  },
  {
    what: 'memory size',
    key: /^(\w+) Total Memory \(B\)$/,
    theirs: numberIn,
    ours: (scope, match) => value(`${poolOf(match)}_size_bytes`)(scope),
  },
  {
    what: 'memory used',
    key: /^(\w+) Total Used Memory \(B\)$/,
    theirs: numberIn,
    ours: (scope, match) => value(`${poolOf(match)}_used_bytes`)(scope),
  },
];

/** `unknown, 1, 17857249280, 1270000, 21`: name, GPUs, bytes of VRAM, microseconds of copy engines, percent of compute units. */
const fieldOfProcess = (position: number) => (text: string) => Number(text.split(', ')[position]);
const PROCESS = /^PID(\d+)$/;
const sumOf = (series: Series, metric: string, match: RegExpExecArray): number =>
  series.all(`amdgpu_process_${metric}`, { pid: match[1] ?? '' }).reduce((sum, sample) => sum + sample.value, 0);

/** What rocm-smi takes for the compute units of a node: the slots of all its GPUs, those without a unit included. */
function computeUnitSlots({ series }: Scope, slotsOfArray: number): number {
  return series.all('amdgpu_shader_arrays').reduce((sum, sample) => sum + sample.value * slotsOfArray, 0);
}

const BETWEEN = /^\(Topology\) (?:Weight|Hops|Link type) between DRM devices (\d+) and (\d+)$/;
const linkBetween = ({ series, gpuOf }: Scope, match: RegExpExecArray, metric: string) =>
  series.all(`amdgpu_${metric}`, { gpu: gpuOf(Number(match[1])), peer: gpuOf(Number(match[2])) })[0];
const only = (word: string): RegExp => new RegExp(BETWEEN.source.replace('(?:Weight|Hops|Link type)', word));

export function systemRows(slotsOfArray: number): SystemRow[] {
  return [
    {
      what: 'GPUs of a process',
      key: PROCESS,
      theirs: fieldOfProcess(1),
      ours: ({ series }, match) =>
        new Set(series.labelValues('amdgpu_process_queues', 'gpu', { pid: match[1] ?? '' })).size,
    },
    {
      what: 'VRAM of a process',
      key: PROCESS,
      theirs: fieldOfProcess(2),
      ours: ({ series }, match) => sumOf(series, 'vram_bytes', match),
    },
    {
      what: 'copy-engine time of a process',
      key: PROCESS,
      theirs: fieldOfProcess(3),
      ours: ({ series }, match) => sumOf(series, 'sdma_seconds_total', match) * 1e6,
    },
    {
      what: 'compute units of a process',
      key: PROCESS,
      theirs: fieldOfProcess(4),
      ours: (scope, match) =>
        Math.floor((100 * sumOf(scope.series, 'cu_occupancy', match)) / computeUnitSlots(scope, slotsOfArray)),
    },
    {
      what: 'link between two GPUs',
      key: only('Link type'),
      theirs: lower,
      ours: (scope, match) => linkBetween(scope, match, 'io_link_weight')?.labels.link,
    },
    {
      what: 'weight of a link',
      key: only('Weight'),
      theirs: numberIn,
      ours: (scope, match) => linkBetween(scope, match, 'io_link_weight')?.value,
    },
    {
      what: 'hops between two GPUs',
      key: only('Hops'),
      theirs: numberIn,
      ours: ({ series, gpuOf, node }, match) => {
        const [from, to] = [gpuOf(Number(match[1])), gpuOf(Number(match[2]))];
        const position = String(node.gpus[Number(to)]?.hive.position);
        return series.value('amdgpu_xgmi_hops', { gpu: from, position });
      },
      known: () => [
        {
          why: 'the tool shows 1 for every pair that XGMI joins; the driver knows the hops',
          holds: (theirs, ours) => theirs === 1 && ours === 2,
        },
      ],
    },
  ];
}

/** Keys that have no counterpart, and why that is right. */
export const THEIRS_ALONE: readonly (readonly [RegExp, string])[] = [
  [/ clock level:$/, 'place in a list whose numbers shift when the clock lies between two levels; we show the clock'],
  [/^Voltage point \d$/, 'made of a curve that these cards do not have: always 0'],
  [/^Driver version$/, 'asked of the running kernel, which is not the tree’s'],
];

export function isClose(a: number, b: number, relative = 1e-9): boolean {
  return Math.abs(a - b) <= relative * Math.max(1, Math.abs(a), Math.abs(b));
}

export function same(theirs: Value, ours: Value): boolean {
  return typeof theirs === 'number' && typeof ours === 'number' ? isClose(theirs, ours) : theirs === ours;
}
