import { packTemps } from '../../amdgpu/tables/board.ts';
import { encodeTable, type TableValues } from '../../amdgpu/tables/encode.ts';
import { since } from '../driver.ts';
import { MODELS } from '../models.ts';
import type { Gpu, NodeDescription, SimPartition } from '../node.ts';
import type { Directory } from './entry.ts';
import { hiveOf, physicalId } from './fabric.ts';
import { fitTable } from './fit.ts';
import { cardValues } from './metrics-card.ts';
import { partitionValues, socketValues } from './metrics-socket.ts';

/** The binary tables. Source: drivers/gpu/drm/amd/include/kgd_pp_interface.h, swsmu/*_ppt.c. */

export function tableFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  dir.raw('gpu_metrics', gpuMetrics(node, gpu));
  const first = gpu.partitions[0];
  if (first) partitionTable(node, gpu, first, dir);
}

function gpuMetrics(node: NodeDescription, gpu: Gpu): Uint8Array {
  const { family } = MODELS[node.model];
  const values = family === 'mi100' || family === 'mi200' ? cardValues(node, gpu) : socketValues(node, gpu);
  return encodeTable('gpu_metrics', node.gpuMetrics, fitTable('gpu_metrics', node.gpuMetrics, values));
}

/** `xcp/xcp_metrics` in the device directory of a partition, from 6.16. */
export function partitionTable(node: NodeDescription, gpu: Gpu, partition: SimPartition, dir: Directory): void {
  if (!gpu.compute || !since(node.driver, 'linux-6.16')) return;
  const version = since(node.driver, 'linux-6.19') ? '1.1' : '1.0';
  const values = fitTable('partition', version, partitionValues(node, gpu, partition));
  dir.raw('xcp/xcp_metrics', encodeTable('partition', version, values));
}

/** Length of the file that the driver returns for gpuboard_temp, although its table is shorter. */
const GPUBOARD_FILE = 144;

/** Board sensors and node power of the MI350 class. The baseboard is read by the module in its first place. */
export function boardFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  const spec = MODELS[node.model];
  if (spec.family !== 'mi350' || !since(node.driver, 'linux-6.19')) return;
  const { temperature, power } = gpu.live;
  const table = (temps: Parameters<typeof packTemps>[0]): TableValues => ({
    label_version: 1,
    node_id: 0,
    accumulation_counter: BigInt(gpu.counters.ticks),
    ...packTemps(temps),
  });
  const module = [
    { sensor: 'retimer', celsius: temperature.vrSoc + 4 },
    { sensor: 'oam_ibc', celsius: temperature.vrGfx + 2 },
    { sensor: 'oam_vdd18_vr', celsius: temperature.vrSoc + 1 },
    { sensor: 'vddcr_vdd0', celsius: temperature.vrGfx },
    { sensor: 'vddcr_vdd1', celsius: temperature.vrGfx - 1 },
    { sensor: 'vddcr_soc_a', celsius: temperature.vrSoc },
    { sensor: 'vdd_085_hbm', celsius: temperature.vrMem },
  ];
  dir.raw('gpuboard_temp', encodeTable('gpuboard_temp', '1.0', table(module), { fileSize: GPUBOARD_FILE }));
  const hive = hiveOf(node, gpu);
  if (hive.length > 1 && physicalId(node, gpu) === 0) {
    const front = Math.round(
      24 + node.gpus.reduce((sum, other) => sum + other.live.power, 0) / (node.gpus.length * 120),
    );
    const baseboard = [
      { sensor: 'ubb_front', celsius: front },
      { sensor: 'ubb_back', celsius: front + 9 },
      { sensor: 'ubb_fpga', celsius: front + 17 },
      { sensor: 'oam_0_1_hsc', celsius: front + 21 },
      { sensor: 'ibc', celsius: front + 26 },
    ];
    dir.raw('baseboard_temp', encodeTable('baseboard_temp', '1.0', table(baseboard)));
  }
  const limit = spec.cap * node.gpus.length;
  dir.line('cur_node_power_limit', limit);
  dir.line('max_node_power_limit', limit);
  dir.line('node_power', Math.round(node.gpus.reduce((sum, other) => sum + other.live.power, power * 0.02)));
  dir.line('global_ppt_resid', gpu.counters.packagePower);
  dir.line('npm_status', 'enabled');
}
