import { type ComputeMode, MODELS, type ModelSpec } from './models.ts';
import type { Counters, Gpu, Live, NodeDescription, NodeOptions, ReservedNode } from './node.ts';
import { partitionXccs } from './partitions.ts';
import { type Random, random } from './random.ts';
import { defaultSettings } from './settings.ts';

/** The driver reserves this many extra nodes on a host, and seven for each GPU that can be partitioned. */
const RESERVED_ON_HOST = 64;
const RESERVED_ON_GPU = 7;
const FIRST_RENDER = 128;
const FIRST_HWMON = 3;
/** Bytes that the driver itself takes from an idle card: page tables, firmware, reserved ranges. */
export const DRIVER_VRAM = 283 * 2 ** 20;

export function partitionable(spec: ModelSpec): boolean {
  return spec.memoryModes.length > 0;
}

/** A GPU without partitions yet: those are laid out for all GPUs together. */
export function newGpu(node: NodeDescription, index: number, total: number, options: NodeOptions): Gpu {
  const spec = MODELS[node.model];
  const draw = random(node.seed, 'gpu', index);
  const identity = random(node.seed, 'identity', index);
  const pci = spec.addresses[index] as string;
  const probe = probePosition(spec, index, total);
  const extra = partitionable(spec) ? RESERVED_ON_GPU : 0;
  const card = probe * (extra + 1);
  const hive = Math.floor(index / spec.xgmi.hive);
  const compute = partitionable(spec) ? (options.partition ?? 'spx') : undefined;
  const busy = busyDies(node, spec, index, compute);
  const live = newLive(spec, draw, busy, DRIVER_VRAM + vramOf(node, index));
  const { root, port } = upstream(spec, index, pci);
  return {
    index,
    pci,
    root,
    port,
    package: Math.floor(index / spec.dies),
    die: spec.dies === 1 ? 'only' : index % 2 === 0 ? 'primary' : 'secondary',
    numa: Math.floor((index * node.sockets.length) / spec.addresses.length),
    card,
    render: FIRST_RENDER + card,
    hwmon: FIRST_HWMON + probe,
    uniqueId: identity.bits64() | (1n << 63n),
    serial: String(692_300_000_000 + identity.int(0, 99_999_999)),
    hive: {
      // Above 2^53: such ids do not survive a round trip through a JavaScript number.
      id: random(node.seed, 'hive', hive).bits64() | (1n << 62n),
      index: hive,
      position: index % spec.xgmi.hive,
    },
    ...(compute && { compute, memory: options.memory ?? 'nps1' }),
    reserved: reservedNodes(probe, card, extra),
    partitions: [],
    live,
    counters: newCounters(spec, draw, node.boot.uptime, live, busy),
    settings: defaultSettings(spec),
    ras: newRas(spec, draw),
  };
}

function probePosition(spec: ModelSpec, index: number, total: number): number {
  const order = spec.probeOrder?.filter((position) => position < total);
  return order ? order.indexOf(index) : index;
}

function reservedNodes(probe: number, card: number, extra: number): ReservedNode[] {
  const nodes: ReservedNode[] = [];
  for (let partition = 1; partition <= extra; partition++) {
    const platform = probe * extra + partition - 1;
    if (platform >= RESERVED_ON_HOST) break;
    nodes.push({ partition, platform, card: card + partition, render: FIRST_RENDER + card + partition });
  }
  return nodes;
}

/** Host bridge and root port above a GPU: buses that share their upper digit hang on one host bridge. */
function upstream(spec: ModelSpec, index: number, pci: string): { root: string; port: string } {
  const [domain, bus] = pci.split(':') as [string, string];
  const rootBus = `${domain}:${bus[0]}0`;
  const before = spec.addresses.slice(0, index).filter((other) => other.startsWith(rootBus.slice(0, -1))).length;
  return { root: `pci${rootBus}`, port: `${rootBus}:01.${before + 1}` };
}

function vramOf(node: NodeDescription, gpu: number): number {
  return node.processes.flatMap((p) => p.gpus).reduce((sum, use) => sum + (use.gpu === gpu ? use.vram : 0), 0);
}

/** For each compute die, whether a process holds memory of the partition that it belongs to. */
function busyDies(node: NodeDescription, spec: ModelSpec, gpu: number, mode: ComputeMode | undefined): boolean[] {
  const busy = Array.from({ length: spec.xccs }, () => false);
  for (const use of node.processes.flatMap((process) => process.gpus))
    if (use.gpu === gpu && use.vram > 0) for (const xcc of partitionXccs(spec, mode, use.partition)) busy[xcc] = true;
  return busy;
}

function newLive(spec: ModelSpec, draw: Random, dies: readonly boolean[], vramUsed: number): Live {
  const busy = dies.includes(true);
  const share = dies.filter(Boolean).length / dies.length;
  const intensity = draw.real(0.7, 0.99);
  const load = intensity * share;
  const power = Math.round(spec.idle + draw.int(-3, 6) + (spec.cap - spec.idle) * load * 0.85);
  const junction = Math.round(34 + draw.int(0, 6) + 38 * load);
  const mem = Math.round(31 + draw.int(0, 5) + 34 * load);
  const { gfx } = spec.clocks;
  const top = gfx.at(-1) as number;
  const sleeps = spec.family === 'mi300' || spec.family === 'mi350';
  const clock = (active: boolean): number => {
    if (active) return gfx.length > 2 ? top : Math.round(top * draw.real(0.8, 0.97));
    return sleeps ? 132 + draw.int(0, 5) : (gfx[0] as number);
  };
  return {
    gfxBusy: dies.map((active) => (active ? Math.round(intensity * 100 * draw.real(0.93, 1)) : 0)),
    memBusy: Math.round(load * draw.int(25, 60)),
    vcnBusy: Array.from({ length: spec.vcns }, () => 0),
    temperature: {
      edge: junction - draw.int(3, 7),
      junction,
      mem,
      vrGfx: junction - draw.int(1, 5),
      vrSoc: junction - draw.int(4, 9),
      vrMem: mem - draw.int(0, 4),
      // The hottest stack is what the driver gives as memory temperature.
      hbm: Array.from({ length: spec.hbmStacks }, (_, stack) => (stack === 0 ? mem : mem - draw.int(0, 4))),
    },
    power,
    voltage: { gfx: busy ? draw.int(820, 950) : draw.int(650, 700), board: draw.int(53_600, 54_300) },
    clock: {
      gfx: dies.map(clock),
      mem: (busy ? spec.clocks.mem.at(-1) : spec.clocks.mem[0]) as number,
      soc: busy ? (spec.clocks.soc.at(-1) as number) : sleeps ? 30 : (spec.clocks.soc[0] as number),
      fabric: (busy ? spec.clocks.fabric.at(-1) : spec.clocks.fabric[0]) as number,
      vclk: spec.video?.vclk[0] ?? 0,
      dclk: spec.video?.dclk[0] ?? 0,
    },
    throttle: { status: 0, independent: 0n },
    vramUsed,
    gttUsed: (busy ? 40 : 11) * 2 ** 20 + 4096 * draw.int(0, 400),
    runtimeStatus: 'active',
    link: { ...spec.pcie },
  };
}

/** Counters of a card that has worked in this way for half of the time since the node started. */
function newCounters(spec: ModelSpec, draw: Random, uptime: number, live: Live, dies: readonly boolean[]): Counters {
  const ticks = Math.round(uptime * 1000);
  const duty = dies.includes(true) ? draw.real(0.4, 0.6) : draw.real(0.02, 0.1);
  const perXcc = (share: number): number[] => dies.map(() => Math.round(ticks * duty * share * draw.real(0.9, 1)));
  const links = Array.from({ length: 8 }, () => Math.round(uptime * duty * draw.real(4e6, 9e6)));
  return {
    ticks,
    energy: Math.round(uptime * (spec.idle + (spec.cap - spec.idle) * duty * 0.8)),
    gfxBusy: perXcc(90),
    memBusy: Math.round(ticks * duty * 35),
    prochot: 0,
    packagePower: Math.round(ticks * duty * 0.06),
    socketThermal: Math.round(ticks * duty * 0.002),
    vrThermal: 0,
    hbmThermal: Math.round(ticks * duty * 0.0004),
    belowPower: perXcc(0.05),
    belowThermal: perXcc(0.002),
    lowUtilization: perXcc(0.2),
    pcieBandwidth: Math.round(ticks * duty * 3),
    pcieSample: live.memBusy > 0 ? draw.int(2, 12) : 0,
    pcieRecovery: draw.int(0, 4),
    pcieReplay: draw.int(0, 2),
    pcieRollover: 0,
    pcieNakSent: draw.int(0, 2),
    pcieNakReceived: draw.int(0, 2),
    xgmiRead: links,
    xgmiWrite: links.map((kilobytes) => Math.round(kilobytes * draw.real(0.9, 1.1))),
  };
}

/** A healthy card: now and then a corrected memory error, nothing else. */
function newRas(spec: ModelSpec, draw: Random): Gpu['ras'] {
  const blocks = Object.fromEntries(spec.ras.map((block) => [block, { ue: 0, ce: 0, de: 0 }]));
  if (blocks.umc) blocks.umc.ce = draw.int(0, 3);
  return { blocks, badPages: [], events: { fatal: 0, poisonCreation: 0, poisonConsumption: 0 } };
}
