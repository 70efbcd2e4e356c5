import { MODELS } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import type { ChipValues } from './fit.ts';
import { meanBusy } from './memory.ts';

/** gpu_metrics of MI100 and MI200 (1.0 to 1.3), in units of the table; what stays out is all ones. */
export function cardValues(node: NodeDescription, gpu: Gpu): ChipValues {
  const { family } = MODELS[node.model];
  const { live, counters } = gpu;
  const { temperature, clock } = live;
  const gfx = clock.gfx[0] ?? 0;
  const secondary = gpu.die === 'secondary';
  const shared = {
    temperature_edge: temperature.edge,
    temperature_hotspot: temperature.junction,
    temperature_mem: temperature.mem,
    temperature_vrgfx: temperature.vrGfx,
    temperature_vrsoc: temperature.vrSoc,
    temperature_vrmem: temperature.vrMem,
    average_gfx_activity: meanBusy(gpu),
    average_umc_activity: live.memBusy,
    average_mm_activity: 0,
    average_socket_power: secondary ? 0 : Math.round(live.power),
    system_clock_counter: BigInt(Math.round(node.boot.uptime * 1e9)),
    average_gfxclk_frequency: gfx,
    average_socclk_frequency: clock.soc,
    average_uclk_frequency: clock.mem,
    current_gfxclk: gfx,
    current_socclk: clock.soc,
    current_uclk: clock.mem,
    throttle_status: live.throttle.status,
    indep_throttle_status: live.throttle.independent,
    current_fan_speed: 0,
    pcie_link_width: live.link.width,
    pcie_link_speed: live.link.speed,
  };
  if (family === 'mi100')
    return { fields: { ...shared, energy_accumulator: BigInt(Math.round(counters.energy * 1000)) } };
  return {
    fields: {
      ...shared,
      energy_accumulator: secondary ? 0 : counters.energy,
      average_vclk0_frequency: 0,
      average_dclk0_frequency: 0,
      current_vclk0: clock.vclk,
      current_dclk0: clock.dclk,
      gfx_activity_acc: BigInt(counters.gfxBusy[0] ?? 0),
      mem_activity_acc: BigInt(counters.memBusy),
      temperature_hbm: temperature.hbm,
      firmware_timestamp: firmwareTime(gpu),
    },
  };
}

/** Ticks of 10 ns. The firmware samples once a millisecond, so its time moves in such steps. */
export function firmwareTime(gpu: Gpu): bigint {
  return BigInt(gpu.counters.ticks) * 100_000n;
}
