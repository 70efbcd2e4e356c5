import type { FieldValues } from '../../amdgpu/tables/encode.ts';
import { since } from '../driver.ts';
import { MODELS, type ModelSpec } from '../models.ts';
import type { Gpu, NodeDescription, SimPartition } from '../node.ts';
import { hiveOf } from './fabric.ts';
import type { ChipValues } from './fit.ts';
import { meanBusy } from './memory.ts';
import { firmwareTime } from './metrics-card.ts';

/** gpu_metrics of MI300 and MI350 (1.4 to 1.9) and the table of one partition; what stays out is all ones. */

export function socketValues(node: NodeDescription, gpu: Gpu): ChipValues {
  const spec = MODELS[node.model];
  const { live, counters } = gpu;
  const all: SimPartition = { number: 0, xccs: indexes(spec.xccs), vcns: indexes(spec.vcns), kfdNode: 0, kfdGpuId: 0 };
  return {
    fields: {
      temperature_hotspot: live.temperature.junction,
      temperature_mem: live.temperature.mem,
      temperature_vrsoc: live.temperature.vrSoc,
      curr_socket_power: Math.round(live.power),
      average_gfx_activity: meanBusy(gpu),
      average_umc_activity: live.memBusy,
      vcn_activity: live.vcnBusy,
      jpeg_activity: indexes(spec.jpegs).map(() => 0),
      mem_max_bandwidth: spec.memoryBandwidth,
      energy_accumulator: counters.energy,
      system_clock_counter: BigInt(Math.round(node.boot.uptime * 1e9)),
      throttle_status: 0,
      gfxclk_lock_status: 0,
      accumulation_counter: BigInt(counters.ticks),
      prochot_residency_acc: BigInt(counters.prochot),
      ppt_residency_acc: BigInt(counters.packagePower),
      socket_thm_residency_acc: BigInt(counters.socketThermal),
      vr_thm_residency_acc: BigInt(counters.vrThermal),
      hbm_thm_residency_acc: BigInt(counters.hbmThermal),
      gfx_activity_acc: BigInt(Math.round(counters.gfxBusy.reduce((sum, acc) => sum + acc, 0) / spec.xccs)),
      mem_activity_acc: BigInt(counters.memBusy),
      num_partition: gpu.partitions.length,
      firmware_timestamp: firmwareTime(gpu),
      ...pcieValues(spec, gpu),
      ...xgmiValues(node, spec, gpu),
      ...clockValues(spec, gpu, all),
      ...engineValues(spec, gpu, all),
    },
    xcp: gpu.partitions.map((partition) => engineValues(spec, gpu, partition)),
  };
}

/** The dies and engines of the partition fill the arrays from the front. */
export function partitionValues(node: NodeDescription, gpu: Gpu, partition: SimPartition): ChipValues {
  const spec = MODELS[node.model];
  return { fields: { ...clockValues(spec, gpu, partition), ...engineValues(spec, gpu, partition) } };
}

const indexes = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** An APU has no PCIe link of its own to report. */
function pcieValues(spec: ModelSpec, { live, counters }: Gpu): FieldValues {
  if (spec.apu) return {};
  return {
    pcie_link_width: live.link.width,
    pcie_link_speed: live.link.speed,
    pcie_bandwidth_acc: BigInt(counters.pcieBandwidth),
    pcie_bandwidth_inst: BigInt(counters.pcieSample),
    pcie_l0_to_recov_count_acc: BigInt(counters.pcieRecovery),
    pcie_replay_count_acc: BigInt(counters.pcieReplay),
    pcie_replay_rover_count_acc: BigInt(counters.pcieRollover),
    pcie_nak_sent_count_acc: BigInt(counters.pcieNakSent),
    pcie_nak_rcvd_count_acc: BigInt(counters.pcieNakReceived),
    pcie_lc_perf_other_end_recovery: BigInt(counters.pcieRecovery),
  };
}

/** Slot, counted as on the board, in which the driver puts firmware link 0 to 7 from 6.16 on. */
const EXTERNAL_SLOT = [0, 3, 1, 2, 7, 6, 4, 5];

/**
 * The links in use come first in firmware order; older drivers leave them there. A link that leads nowhere is all ones, and from 6.16
 * so are all links of a GPU without a hive.
 */
function xgmiValues(node: NodeDescription, spec: ModelSpec, gpu: Gpu): FieldValues {
  const { counters } = gpu;
  const used = (hiveOf(node, gpu).length - 1) * spec.xgmi.links;
  const external = since(node.driver, 'linux-6.16');
  const inOrder = <T>(byFirmware: readonly T[]): (T | undefined)[] => {
    const slots: (T | undefined)[] = Array.from({ length: 8 });
    byFirmware.slice(0, used).forEach((value, link) => {
      slots[external ? (EXTERNAL_SLOT[link] as number) : link] = value;
    });
    return slots;
  };
  if (used === 0 && external) return {};
  return {
    xgmi_link_width: spec.xgmi.width,
    xgmi_link_speed: spec.xgmi.speed,
    xgmi_read_data_acc: inOrder(counters.xgmiRead.map(BigInt)),
    xgmi_write_data_acc: inOrder(counters.xgmiWrite.map(BigInt)),
    xgmi_link_status: inOrder(indexes(8).map(() => 1)),
  };
}

function clockValues(spec: ModelSpec, { live: { clock } }: Gpu, { xccs }: SimPartition): FieldValues {
  const aids = [...new Set(xccs.map((xcc) => Math.floor((xcc * spec.aids) / spec.xccs)))];
  return {
    current_gfxclk: xccs.map((xcc) => clock.gfx[xcc]),
    current_socclk: aids.map(() => clock.soc),
    current_vclk0: aids.map(() => clock.vclk),
    current_dclk0: aids.map(() => clock.dclk),
    current_uclk: clock.mem,
  };
}

function engineValues(spec: ModelSpec, { live, counters }: Gpu, { xccs, vcns }: SimPartition): FieldValues {
  const of = (counts: readonly number[]): bigint[] => xccs.map((xcc) => BigInt(counts[xcc] ?? 0));
  return {
    gfx_busy_inst: xccs.map((xcc) => live.gfxBusy[xcc]),
    vcn_busy: vcns.map((vcn) => live.vcnBusy[vcn]),
    jpeg_busy: indexes((vcns.length * spec.jpegs) / spec.vcns).map(() => 0),
    gfx_busy_acc: of(counters.gfxBusy),
    gfx_below_host_limit_ppt_acc: of(counters.belowPower),
    gfx_below_host_limit_thm_acc: of(counters.belowThermal),
    gfx_low_utilization_acc: of(counters.lowUtilization),
    gfx_below_host_limit_total_acc: xccs.map((xcc) =>
      BigInt((counters.belowPower[xcc] ?? 0) + (counters.belowThermal[xcc] ?? 0) + (counters.lowUtilization[xcc] ?? 0)),
    ),
  };
}
