import { MODELS, type ModelSpec } from '../../sim/models.ts';
import type { Gpu, NodeDescription } from '../../sim/tree.ts';
import type { Labels } from './series.ts';

/** What the description of a simulated node makes a scrape show; `value` null: no such series may be there. */
export interface Fact {
  metric: string;
  labels: Labels;
  value: number | null;
}

/**
 * Facts of one GPU. They are taken from the description and from what is publicly known of each revision of the tables, and
 * not from any code of the exporter: it is what they judge.
 */
export function factsOf(node: NodeDescription, gpu: Gpu): Fact[] {
  const spec = MODELS[node.model];
  const revision = Number(node.gpuMetrics.split('.')[1]);
  const facts: Fact[] = [];
  const own = { gpu: String(gpu.index) };
  const add = (metric: string, value: number | bigint | null | undefined, labels: Labels = {}): void =>
    void facts.push({
      metric: `amdgpu_${metric}`,
      labels: { ...own, ...labels },
      value: value === null || value === undefined ? null : Number(value),
    });
  const socket = spec.family === 'mi300' || spec.family === 'mi350';
  const view: View = { node, gpu, spec, revision, socket, secondary: gpu.die === 'secondary', add };
  for (const subject of [identity, load, memory, heat, power, clocks, link, fabric, counters, partitions, errors, rest])
    subject(view);
  return facts;
}

interface View {
  node: NodeDescription;
  gpu: Gpu;
  spec: ModelSpec;
  /** Minor number of gpu_metrics. */
  revision: number;
  /** The MI300 line: tables of a socket with several dies. */
  socket: boolean;
  secondary: boolean;
  add: (metric: string, value: number | bigint | null | undefined, labels?: Labels) => void;
}

const mean = (values: readonly number[]): number => Math.round(values.reduce((a, b) => a + b, 0) / values.length);
/** Ticks and percent sums are 32 bits wide, in 1.9 as its first drivers wrote it too. */
const narrow = (value: number): number => value % 2 ** 32;

function identity({ add, gpu, spec, node }: View): void {
  add('up', 1);
  const gfx: Record<number, string> = { 90008: 'gfx908', 90010: 'gfx90a', 90402: 'gfx942', 90500: 'gfx950' };
  add('info', 1, {
    pci_address: gpu.pci,
    package: node.gpus[gpu.package * spec.dies]?.pci ?? '',
    unique_id: gpu.uniqueId.toString(16),
    device_id: `0x${spec.deviceId.toString(16)}`,
    gfx: gfx[spec.gfxTargetVersion] ?? '',
    vbios: spec.vbios,
    model: node.model.toUpperCase(),
    card: `card${gpu.card}`,
    render_node: `renderD${gpu.render}`,
    ...(spec.fru && { serial: gpu.serial, product: spec.product, product_number: spec.fru.number }),
  });
  add('numa_node', gpu.numa);
  add('firmware_info', 1, { block: 'smc', version: `0x${(spec.firmware.smc ?? 0).toString(16).padStart(8, '0')}` });
}

function load({ add, gpu }: View): void {
  add('busy_ratio', mean(gpu.live.gfxBusy) / 100, { engine: 'gfx' });
  add('busy_ratio', gpu.live.memBusy / 100, { engine: 'memory_controller' });
  // No Instinct has a figure over all video engines.
  add('average_activity_ratio', null);
}

function memory({ add, gpu, spec, node, revision, socket }: View): void {
  const hidden = spec.apu && node.driver === 'linux-6.19';
  // Where the driver shows none, the topology tells the size of the whole card, and of a divided one nothing.
  const size = hidden && gpu.partitions.length > 1 ? null : spec.vram;
  add('vram_size_bytes', size);
  add('vram_used_bytes', hidden ? null : gpu.live.vramUsed);
  add('gtt_used_bytes', gpu.live.gttUsed);
  add('vram_bandwidth_max_bytes_per_second', socket && revision >= 7 ? spec.memoryBandwidth * 1e9 : null);
}

function heat({ add, gpu, spec, node, revision, socket }: View): void {
  const { temperature: t, voltage } = gpu.live;
  const sensor = (name: string, value: number | null): void => add('temperature_celsius', value, { sensor: name });
  sensor('edge', socket ? null : t.edge);
  sensor('junction', t.junction);
  sensor('mem', t.mem);
  sensor('vr_soc', t.vrSoc);
  sensor('vr_gfx', socket ? null : t.vrGfx);
  sensor('vr_mem', socket ? null : t.vrMem);
  t.hbm.forEach((value, stack) => {
    sensor(`hbm${stack}`, spec.family === 'mi200' && revision >= 1 ? value : null);
  });
  for (const [name, limit] of Object.entries(spec.limits)) {
    add('temperature_limit_celsius', limit.crit, { sensor: name, limit: 'critical' });
    add('temperature_limit_celsius', limit.emergency, { sensor: name, limit: 'emergency' });
    add('temperature_limit_celsius', null, { sensor: name, limit: 'critical_hysteresis' });
  }
  if (socket) add('temperature_limit_celsius', null, { sensor: 'edge' });
  add('voltage_volts', socket ? null : voltage.gfx / 1000, { rail: 'vddgfx' });
  const board = spec.family === 'mi350' && ['linux-6.16', 'linux-6.19'].includes(node.driver);
  add('voltage_volts', board ? voltage.board / 1000 : null, { rail: 'vddboard' });
  add('fan_speed_rpm', null);
  add('fan_duty_ratio', null);
}

function power({ add, gpu, spec, node, secondary, socket }: View): void {
  add('power_watts', secondary ? null : Math.round(gpu.live.power));
  add('power_source', secondary ? null : 1, { source: socket ? 'instantaneous' : 'average' });
  add('power_cap_watts', secondary ? null : gpu.settings.cap);
  add('power_cap_max_watts', secondary ? null : spec.cap);
  add('power_cap_min_watts', secondary ? null : 0);
  add('power_cap_default_watts', secondary ? null : spec.cap);
  const second = spec.family === 'mi350' && node.driver === 'linux-6.19';
  add('power2_cap_watts', second ? gpu.settings.secondCap : null);
  add('power2_watts', null);
  // The step of MI100's accumulator is not documented.
  add(
    'energy_joules_total',
    secondary || spec.family === 'mi100' || node.gpuMetrics === '1.0' ? null : gpu.counters.energy,
  );
  add('perf_level', 1, { state: gpu.settings.level });
  add('board_node_power_limit_watts', second ? spec.cap * node.gpus.length : null);
}

function clocks({ add, gpu, spec, socket, revision }: View): void {
  const { clock } = gpu.live;
  const hertz = (name: string, mhz: number | null | undefined): void =>
    add('clock_hertz', mhz === null || mhz === undefined ? null : mhz * 1e6, { clock: name });
  hertz('gfx', clock.gfx[0]);
  hertz('mem', clock.mem);
  hertz('soc', clock.soc);
  hertz('fabric', clock.fabric);
  hertz('vclk', spec.video === undefined ? null : clock.vclk);
  hertz('dclk', spec.video === undefined ? null : clock.dclk);
  clock.gfx.forEach((mhz, xcc) => {
    add('xcc_clock_hertz', socket ? mhz * 1e6 : null, { xcc: String(xcc) });
    add('xcc_clock_locked', socket && revision <= 9 ? 0 : null, { xcc: String(xcc) });
  });
  const limit = (name: string, list: readonly number[]): void => {
    add('clock_limit_hertz', Math.min(...list) * 1e6, { clock: name, bound: 'min' });
    add('clock_limit_hertz', Math.max(...list) * 1e6, { clock: name, bound: 'max' });
  };
  const fine = spec.family !== 'mi100';
  limit('gfx', fine ? [gpu.settings.gfxMin, gpu.settings.gfxMax] : spec.clocks.gfx);
  limit('mem', spec.clocks.mem);
  limit('fabric', spec.clocks.fabric);
  limit('soc', spec.clocks.soc);
  add('clock_levels', fine ? 2 : spec.clocks.gfx.length, { clock: 'gfx' });
  add('clock_levels', spec.clocks.mem.length, { clock: 'mem' });
  add('average_clock_hertz', socket ? null : (clock.gfx[0] as number) * 1e6, { clock: 'gfx' });
}

function link({ add, gpu, spec, socket, revision }: View): void {
  const { speed, width } = gpu.live.link;
  add('pcie_link_width', width);
  add('pcie_link_speed_transfers_per_second', speed * 1e9);
  add('pcie_link_width_max', spec.pcie.width);
  add('pcie_link_speed_max_transfers_per_second', spec.pcie.speed * 1e9);
  add('pcie_slot_width_max', spec.pcie.width);
  add('pcie_replays_total', gpu.counters.pcieReplay);
  const table = socket && !spec.apu;
  const { counters: c } = gpu;
  add('pcie_bandwidth_bytes_per_second', table ? c.pcieSample * 1e9 : null);
  add('pcie_bandwidth_accumulator_total', table ? c.pcieBandwidth : null);
  add('pcie_recoveries_total', table ? c.pcieRecovery : null);
  add('pcie_replay_rollovers_total', table ? c.pcieRollover : null);
  add('pcie_naks_sent_total', table && revision >= 5 ? c.pcieNakSent : null);
  add('pcie_naks_received_total', table && revision >= 5 ? c.pcieNakReceived : null);
  add('pcie_other_end_recoveries_total', table && revision >= 6 ? c.pcieRecovery : null);
  add('pci_power_state', 1, { state: 'D0' });
  add('runtime_pm', 1, { state: gpu.live.runtimeStatus });
}

/** Slot on the board of each link in the firmware's order, as the driver gives them from 6.16 on. */
const SLOTS = [0, 3, 1, 2, 7, 6, 4, 5];

function fabric({ add, gpu, spec, node, socket, revision }: View): void {
  const members = node.gpus.filter((other) => other.hive.index === gpu.hive.index).length;
  const used = socket ? (members - 1) * spec.xgmi.links : 0;
  const external = ['linux-6.16', 'linux-6.19'].includes(node.driver);
  for (let firmware = 0; firmware < 8; firmware++) {
    const label = { link: String(external ? SLOTS[firmware] : firmware) };
    add('xgmi_read_bytes_total', firmware < used ? (gpu.counters.xgmiRead[firmware] as number) * 1024 : null, label);
    add('xgmi_write_bytes_total', firmware < used ? (gpu.counters.xgmiWrite[firmware] as number) * 1024 : null, label);
    add('xgmi_link_state', firmware < used && revision >= 7 ? 1 : null, { ...label, state: 'up' });
  }
  const told = socket && (used > 0 || !external);
  add('xgmi_link_width', told ? spec.xgmi.width : null);
  add('xgmi_link_speed_transfers_per_second', told ? spec.xgmi.speed * 1e9 : null);
  if (members > 1) add('xgmi_hive_info', 1, { hive: String(gpu.hive.id) });
}

function counters({ add, gpu, spec, socket, revision }: View): void {
  const { counters: c } = gpu;
  // From 1.6 the sums come with the ticks that they are to be divided by.
  const accumulates = socket && revision >= 6;
  add('accumulation_ticks_total', accumulates ? narrow(c.ticks) : null);
  const sums = spec.family === 'mi200' || socket;
  const gfx = Math.round(c.gfxBusy.reduce((a, b) => a + b, 0) / spec.xccs);
  add('activity_accumulator_total', sums ? narrow(gfx) : null, { engine: 'gfx' });
  add('activity_accumulator_total', sums ? narrow(c.memBusy) : null, { engine: 'memory_controller' });
  const cause = (name: string, value: number): void =>
    add('throttle_ticks_total', accumulates ? narrow(value) : null, { cause: name });
  cause('prochot', c.prochot);
  cause('ppt', c.packagePower);
  cause('socket_thermal', c.socketThermal);
  cause('vr_thermal', c.vrThermal);
  cause('hbm_thermal', c.hbmThermal);
  add('firmware_clock_seconds_total', revision < 2 || spec.family === 'mi100' ? null : c.ticks / 1000);
  // MI300's constant 0 says nothing. The word of all chips came with 1.3, and MI200's own names no hot spot.
  const bits = spec.family === 'mi100' || (spec.family === 'mi200' && revision >= 3);
  add('throttle_active', bits ? 0 : null, { cause: 'temp_hotspot' });
}

function partitions({ add, gpu, spec, revision, socket, node }: View): void {
  add('partitions', gpu.partitions.length);
  if (gpu.compute !== undefined) add('compute_partition', 1, { mode: gpu.compute.toUpperCase() });
  if (gpu.memory !== undefined) add('memory_partition', 1, { mode: gpu.memory.toUpperCase() });
  const files = ['linux-6.16', 'linux-6.19'].includes(node.driver);
  for (const one of gpu.partitions) {
    const partition = String(one.number);
    add('partition_info', 1, {
      partition,
      kfd_gpu_id: String(one.kfdGpuId),
      kfd_node: String(one.kfdNode),
      ...(one.render !== undefined && { render_node: `renderD${one.render}` }),
    });
    add('compute_units', one.xccs.length * spec.cusPerXcc, { partition });
    add('xccs', one.xccs.length, { partition });
    const told = socket && (revision >= 6 || files);
    const limits = socket && revision >= 8;
    one.xccs.forEach((xcc, i) => {
      const label = { partition, xcc: String(i) };
      add('xcc_busy_ratio', told ? (gpu.live.gfxBusy[xcc] as number) / 100 : null, label);
      add('xcc_activity_accumulator_total', told ? gpu.counters.gfxBusy[xcc] : null, label);
      const ticks = (cause: string, value: number | undefined): void =>
        add('xcc_below_host_limit_ticks_total', limits ? value : null, { ...label, cause });
      ticks('power', gpu.counters.belowPower[xcc]);
      ticks('thermal', gpu.counters.belowThermal[xcc]);
      ticks('low_utilization', gpu.counters.lowUtilization[xcc]);
    });
    one.vcns.forEach((vcn, i) => {
      const label = { partition, engine: 'vcn', index: String(i) };
      add('media_engine_busy_ratio', told ? (gpu.live.vcnBusy[vcn] as number) / 100 : null, label);
    });
  }
}

function errors({ add, gpu, spec }: View): void {
  for (const [block, { ue, ce, de }] of Object.entries(gpu.ras.blocks)) {
    add('ras_errors_total', ue, { block, severity: 'uncorrectable' });
    add('ras_errors_total', ce, { block, severity: 'correctable' });
    const deferred = (spec.family === 'mi300' || spec.family === 'mi350') && block === 'umc';
    add('ras_errors_total', deferred ? de : null, { block, severity: 'deferred' });
  }
  for (const state of ['retired', 'pending', 'unreservable']) add('bad_pages', 0, { state });
}

function rest({ add, gpu, node }: View): void {
  const uses = node.processes.flatMap((process) =>
    process.gpus.filter((use) => use.gpu === gpu.index).map((use) => ({ process, use })),
  );
  add('processes', new Set(uses.filter(({ use }) => use.vram > 0).map(({ process }) => process.pid)).size);
  const vram = uses.reduce((sum, { use }) => sum + use.vram, 0);
  add('processes_vram_bytes', vram);
  for (const { process, use } of uses) {
    const label = { pid: String(process.pid), partition: String(use.partition), comm: process.comm };
    add('process_vram_bytes', use.vram, label);
    add('process_sdma_seconds_total', use.sdma / 1e6, label);
    add('process_cu_occupancy', use.cuOccupancy, label);
  }
}
