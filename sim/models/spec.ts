/** What a simulated product is described by. */

export const SIM_MODELS = ['mi100', 'mi210', 'mi250x', 'mi300x', 'mi300a', 'mi325x', 'mi355x'] as const;
export type SimModel = (typeof SIM_MODELS)[number];
export type SimFamily = 'mi100' | 'mi200' | 'mi300' | 'mi350';
export type ComputeMode = 'spx' | 'dpx' | 'tpx' | 'qpx' | 'cpx';
export type MemoryMode = 'nps1' | 'nps2' | 'nps4' | 'nps8';

/** Throttling and shut-down temperature in °C. */
export interface TemperatureLimit {
  crit: number;
  emergency: number;
}

export interface ModelSpec {
  product: string;
  family: SimFamily;
  deviceId: number;
  subsystemDevice: number;
  revision: number;
  /** PCI class code, e.g. 0x120000 (processing accelerator). */
  pciClass: number;
  gfxTargetVersion: number;
  /** What KFD's `name` file says: the driver's name of the chip. */
  kfdName: string;
  /** GPU shares the package with CPU cores and has no VRAM of its own. */
  apu: boolean;
  /** PCI functions in one package. */
  dies: 1 | 2;
  xccs: number;
  cusPerXcc: number;
  arraysPerXcc: number;
  cuSlotsPerArray: number;
  aids: number;
  vcns: number;
  jpegs: number;
  hbmStacks: number;
  /** Bytes for each PCI function. */
  vram: number;
  vramVendor?: string;
  /** Memory bus width in bits and peak bandwidth in GB/s, each PCI function. */
  memoryWidth: number;
  memoryBandwidth: number;
  /** Watts of the package: default and highest cap, and idle draw. */
  cap: number;
  idle: number;
  /** MHz. `gfx` holds every level where the list is real, or minimum and maximum where it is fine-grained. */
  clocks: { gfx: readonly number[]; mem: readonly number[]; soc: readonly number[]; fabric: readonly number[] };
  /** MHz idle and busy of the video engines; none on MI100. */
  video?: { vclk: readonly [number, number]; dclk: readonly [number, number] };
  limits: { edge?: TemperatureLimit; junction: TemperatureLimit; mem: TemperatureLimit };
  /** GT/s and lanes of the PCIe link. */
  pcie: { speed: number; width: number };
  /** GT/s and lanes of one xGMI link, links between two neighbours, and the GPUs of one hive. */
  xgmi: { speed: number; width: number; links: number; hive: number };
  sdma: { engines: number; xgmi: number; queues: number };
  /** KFD `properties` that no other fact gives. */
  kfd: { firmware: number; sdmaFirmware: number; capability: number; debugProp: number };
  addresses: readonly string[];
  /** Order in which the driver finds them, where that is not PCI order. It decides cardN, renderDM and KFD node. */
  probeOrder?: readonly number[];
  cpu: { sockets: number; cores: number; memory: number; mhz: number };
  memoryModes: readonly MemoryMode[];
  vbios: string;
  fru?: { number: string; manufacturer: string };
  firmware: Readonly<Record<string, number>>;
  ras: readonly string[];
}

export const GIB = 2 ** 30;

/** PCI addresses of the first PCI domain, function 0, from bus numbers in hex. */
export const bdfs = (...buses: string[]): string[] => buses.map((bus) => `0000:${bus}:00.0`);
