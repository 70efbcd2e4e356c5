import { since } from '../driver.ts';
import { MODELS, type ModelSpec } from '../models.ts';
import type { CpuSocket, Gpu, NodeDescription, SimPartition } from '../node.ts';
import { partitionMemory } from '../partitions.ts';
import { random } from '../random.ts';
import { type Directory, directory, type Files } from './entry.ts';
import { cacheCount, cacheFiles } from './kfd-caches.ts';
import { type KfdLinks, kfdLinks, writeLinks } from './kfd-links.ts';
import { KFD } from './paths.ts';

/** KFD's list of agents. Source: drivers/gpu/drm/amd/amdkfd/kfd_topology.c. */

const VENDOR = 0x1002;
/** First SIMD number of a GPU: the top bit tells them from CPU cores. */
const SIMD_BASE = 0x8000_1000;

export function topologyFiles(node: NodeDescription, files: Files): void {
  const topology = directory(files, `${KFD}/topology`);
  topology.line('generation_id', node.generation);
  topology.raw('system_properties', 'platform_oem 161172152499053\nplatform_id 251627420390803\nplatform_rev 2\n');
  directory(files, 'sys/class/kfd').link('kfd', KFD);
  const links = kfdLinks(node);
  for (const socket of node.sockets) {
    const dir = topology.within(`nodes/${socket.numa}`);
    dir.raw('gpu_id', '0\n');
    dir.raw('name', '\n');
    keyValues(dir, 'properties', cpuProperties(socket, links.get(socket.numa)));
    keyValues(dir, 'mem_banks/0/properties', bank(0, socket.memory, 72, 2400));
    writeLinks(dir, links.get(socket.numa));
  }
  for (const gpu of node.gpus)
    for (const partition of gpu.partitions)
      gpuNode(node, gpu, partition, topology.within(`nodes/${partition.kfdNode}`), links.get(partition.kfdNode));
}

function gpuNode(node: NodeDescription, gpu: Gpu, partition: SimPartition, dir: Directory, links?: KfdLinks): void {
  const spec = MODELS[node.model];
  dir.line('gpu_id', partition.kfdGpuId);
  dir.line('name', spec.kfdName);
  keyValues(dir, 'properties', gpuProperties(node, spec, gpu, partition, links));
  const memory = bank(1, partitionMemory(spec, gpu), spec.memoryWidth, spec.clocks.mem.at(-1) as number);
  keyValues(dir, 'mem_banks/0/properties', memory);
  cacheFiles(spec, partition, dir);
  writeLinks(dir, links);
}

export function keyValues(
  dir: Directory,
  name: string,
  values: Readonly<Record<string, number | bigint | string>>,
): void {
  dir.raw(
    name,
    Object.entries(values)
      .map(([key, value]) => `${key} ${value}\n`)
      .join(''),
  );
}

/** Heap 0 is system memory, 1 device memory that the CPU can reach. */
function bank(heap: 0 | 1, bytes: number, width: number, mhz: number): Record<string, number> {
  return { heap_type: heap, size_in_bytes: bytes, flags: 0, width, mem_clk_max: mhz };
}

const ZERO_HEAD = {
  max_waves_per_simd: 0,
  lds_size_in_kb: 0,
  gds_size_in_kb: 0,
  num_gws: 0,
  wave_front_size: 0,
  array_count: 0,
  simd_arrays_per_engine: 0,
  cu_per_simd_array: 0,
  simd_per_cu: 0,
  max_slots_scratch_cu: 0,
  gfx_target_version: 0,
  vendor_id: 0,
  device_id: 0,
  location_id: 0,
  domain: 0,
  drm_render_minor: 0,
  hive_id: 0,
  num_sdma_engines: 0,
  num_sdma_xgmi_engines: 0,
  num_sdma_queues_per_engine: 0,
  num_cp_queues: 0,
};

function cpuProperties(socket: CpuSocket, links?: KfdLinks): Record<string, number> {
  return {
    cpu_cores_count: socket.threads,
    simd_count: 0,
    mem_banks_count: 1,
    caches_count: 0,
    io_links_count: links?.io.length ?? 0,
    p2p_links_count: links?.p2p.length ?? 0,
    cpu_core_id_base: socket.numa * socket.threads,
    simd_id_base: 0,
    ...ZERO_HEAD,
    max_engine_clk_ccompute: socket.mhz,
  };
}

function gpuProperties(
  node: NodeDescription,
  spec: ModelSpec,
  gpu: Gpu,
  partition: SimPartition,
  links?: KfdLinks,
): Record<string, number | bigint> {
  const xccs = partition.xccs.length;
  const engines = Math.max(1, Math.floor((spec.sdma.engines * xccs) / spec.xccs));
  const hasHive = node.gpus.filter((other) => other.hive.index === gpu.hive.index).length > 1;
  return {
    cpu_cores_count: 0,
    simd_count: 4 * spec.cusPerXcc * xccs,
    mem_banks_count: 1,
    caches_count: cacheCount(spec, partition),
    io_links_count: links?.io.length ?? 0,
    p2p_links_count: links?.p2p.length ?? 0,
    cpu_core_id_base: 0,
    simd_id_base: SIMD_BASE + 0x100 * partition.kfdNode,
    max_waves_per_simd: 8,
    lds_size_in_kb: spec.family === 'mi350' ? 160 : 64,
    gds_size_in_kb: 0,
    num_gws: 64,
    wave_front_size: 64,
    array_count: spec.arraysPerXcc * xccs,
    simd_arrays_per_engine: 1,
    cu_per_simd_array: spec.cuSlotsPerArray,
    simd_per_cu: 4,
    max_slots_scratch_cu: 32,
    gfx_target_version: spec.gfxTargetVersion,
    vendor_id: VENDOR,
    device_id: spec.deviceId,
    location_id: locationId(gpu, partition),
    domain: Number.parseInt(gpu.pci.slice(0, 4), 16),
    drm_render_minor: partition.render ?? 0,
    hive_id: hasHive ? gpu.hive.id : 0,
    num_sdma_engines: engines,
    num_sdma_xgmi_engines: spec.sdma.xgmi,
    num_sdma_queues_per_engine: spec.sdma.queues,
    num_cp_queues: 24,
    max_engine_clk_fcompute: spec.clocks.gfx.at(-1) as number,
    local_mem_size: 0,
    fw_version: spec.kfd.firmware,
    capability: spec.kfd.capability,
    ...(since(node.driver, 'linux-6.19') && { capability2: 0 }),
    debug_prop: spec.kfd.debugProp,
    sdma_fw_version: spec.kfd.sdmaFirmware,
    unique_id: partitionUniqueId(node, gpu, partition),
    num_xcc: xccs,
    max_engine_clk_ccompute: node.sockets[gpu.numa]?.mhz ?? 0,
  };
}

/** Bits 15:8 bus, 7:3 device, 2:0 function; 31:28 the partition, where there is more than one. */
function locationId(gpu: Gpu, partition: SimPartition): number {
  const [, bus, device, fn] = /:(..):(..)\.(.)$/.exec(gpu.pci) as unknown as [string, string, string, string];
  const address = (Number.parseInt(bus, 16) << 8) | (Number.parseInt(device, 16) << 3) | Number(fn);
  return address + partition.number * 2 ** 28;
}

/** The newest driver gives each partition an id of its own, but for a GPU that is not divided. */
function partitionUniqueId(node: NodeDescription, gpu: Gpu, partition: SimPartition): bigint {
  if (!since(node.driver, 'linux-6.19') || gpu.partitions.length === 1) return gpu.uniqueId;
  return random(node.seed, 'partition-id', gpu.index, partition.number).bits64() | (1n << 63n);
}
