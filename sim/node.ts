import type { DriverGeneration } from './driver.ts';
import type { ComputeMode, MemoryMode, SimModel } from './models.ts';
import type { ProcessOptions, SimProcess } from './process.ts';

/**
 * The state of a simulated node. It is plain data in natural units (°C, W, MHz, bytes, percent), meant to be changed in place
 * between two renderings; how the driver prints it is the business of `files/`.
 */

export interface NodeOptions {
  model: SimModel;
  /** Packages as one buys them: each MI250X has two GPUs, all others one. */
  cards: number;
  /** Compute partitioning of all GPUs; MI300 and MI350 only. Default `spx`. */
  partition?: ComputeMode;
  /** Memory partitioning of all GPUs; MI300 and MI350 only. Default `nps1`. */
  memory?: MemoryMode;
  /** Revision of gpu_metrics, `1.8`. Default: what `driver` emits for the model. */
  gpuMetrics?: string;
  /** Default: the generation that emits `gpuMetrics`. */
  driver?: DriverGeneration;
  /** Version of an out-of-tree driver, `6.16.13`: only such a driver has /sys/module/amdgpu/version. */
  outOfTree?: string;
  /**
   * Default: one training process on each GPU but the last. A GPU with a process that holds device memory is busy,
   * the others idle.
   */
  processes?: readonly ProcessOptions[];
  /** Default 1. */
  seed?: number;
}

export interface NodeDescription {
  model: SimModel;
  driver: DriverGeneration;
  gpuMetrics: string;
  outOfTree?: string;
  seed: number;
  /** `time`: seconds since the epoch at which the node started. `uptime`: seconds since then. */
  boot: { id: string; time: number; uptime: number };
  sockets: CpuSocket[];
  /** In PCI order. */
  gpus: Gpu[];
  processes: SimProcess[];
  /** KFD's topology generation: moves with every change of the node list. */
  generation: number;
}

export interface CpuSocket {
  numa: number;
  /** As in local_cpulist: `0-63,128-191`. */
  cpus: string;
  threads: number;
  memory: number;
  mhz: number;
}

/** One PCI function. */
export interface Gpu {
  index: number;
  pci: string;
  /** Host bridge directory, `pci0000:c0`, and the address of the port above the GPU. */
  root: string;
  port: string;
  package: number;
  die: 'only' | 'primary' | 'secondary';
  numa: number;
  card: number;
  render: number;
  hwmon: number;
  uniqueId: bigint;
  serial: string;
  hive: { id: bigint; index: number; position: number };
  compute?: ComputeMode;
  memory?: MemoryMode;
  /** Nodes reserved at probe for partitions 1 and up, whatever the mode. */
  reserved: ReservedNode[];
  /** The partitions now in use; one, numbered 0, where the chip cannot be partitioned. */
  partitions: SimPartition[];
  live: Live;
  counters: Counters;
  settings: Settings;
  ras: Ras;
}

export interface ReservedNode {
  partition: number;
  /** K of the platform device `amdgpu_xcp_K`. */
  platform: number;
  card: number;
  render: number;
}

export interface SimPartition {
  number: number;
  /** Compute dies of the GPU that belong to it. */
  xccs: number[];
  /** Video engines; in CPX two partitions share one. */
  vcns: number[];
  kfdNode: number;
  kfdGpuId: number;
  /** Minor of renderDM; none where the host ran out of nodes. */
  render?: number;
}

export interface Live {
  /** Percent, by compute die. */
  gfxBusy: number[];
  memBusy: number;
  /** Percent, by video engine. */
  vcnBusy: number[];
  temperature: {
    edge: number;
    junction: number;
    mem: number;
    vrGfx: number;
    vrSoc: number;
    vrMem: number;
    hbm: number[];
  };
  /** Watts of the package; the secondary die has no reading. */
  power: number;
  /** Millivolts. */
  voltage: { gfx: number; board: number };
  /** MHz; `gfx` by compute die. */
  clock: { gfx: number[]; mem: number; soc: number; fabric: number; vclk: number; dclk: number };
  /** Bits of throttle_status and indep_throttle_status. */
  throttle: { status: number; independent: bigint };
  /** Bytes. */
  vramUsed: number;
  gttUsed: number;
  runtimeStatus: 'active' | 'suspended' | 'suspending' | 'resuming';
  /** While the chip is being reset its control files refuse every write. */
  inReset?: boolean;
  link: { speed: number; width: number };
}

/** Monotonic; whoever renders them wraps them to the width of the field. */
export interface Counters {
  /** Firmware samples, about 1 kHz. */
  ticks: number;
  /** Joules of the package. */
  energy: number;
  /** Percent times ticks. */
  gfxBusy: number[];
  memBusy: number;
  /** Ticks. */
  prochot: number;
  packagePower: number;
  socketThermal: number;
  vrThermal: number;
  hbmThermal: number;
  belowPower: number[];
  belowThermal: number[];
  lowUtilization: number[];
  /** GB/s times ticks, and the last sample in GB/s. */
  pcieBandwidth: number;
  pcieSample: number;
  pcieRecovery: number;
  pcieReplay: number;
  pcieRollover: number;
  pcieNakSent: number;
  pcieNakReceived: number;
  /** KB by link. */
  xgmiRead: number[];
  xgmiWrite: number[];
}

export interface Settings {
  level: string;
  /** Watts. */
  cap: number;
  secondCap: number;
  /** MHz. */
  gfxMin: number;
  gfxMax: number;
  memMax: number;
  /** Index into the policy lists of pm_policy/. */
  socPstate: number;
  plpd: number;
  /** Index into the profile table of MI100. */
  profile: number;
  /** One value for each partition. */
  isolation: number[];
  /** Mode that compute_partition_config/ describes. */
  configView?: ComputeMode;
  /** MHz written to pp_od_clk_voltage and not committed yet. */
  staged?: { gfxMin?: number; gfxMax?: number; memMax?: number };
  /** Level to which profile_exit returns. */
  levelBefore?: string;
  /** Memory mode that holds from the next load of the driver on. */
  memoryAtReload?: MemoryMode;
  /** What the kernel log hears of thermal throttling. Default: on, every 60 s. */
  throttleLog?: { on: boolean; seconds: number };
}

export interface Ras {
  blocks: Record<string, { ue: number; ce: number; de: number }>;
  badPages: { page: number; size: number; flag: 'R' | 'P' | 'F' }[];
  events: { fatal: number; poisonCreation: number; poisonConsumption: number };
}
