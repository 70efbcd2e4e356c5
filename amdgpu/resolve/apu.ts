import { apu } from '../../model/quantities/apu.ts';
import { type Context, int, percent, scaled, uint } from './context.ts';

const GM = 'gpu_metrics';

export function resolveApu({ card, raw, table, out }: Context): void {
  if (card.model.family !== 'apu') return;
  for (const [field, component] of [
    ['average_ipu_activity', 'ipu'],
    ['average_core_c0_activity', 'core'],
  ] as const) {
    table?.nums(field)?.forEach((value, i) => {
      out.put(apu.activity, percent(value), GM, `${component}${i}`);
    });
  }
  for (const [field, component] of [
    ['average_cpu_power', 'cpu'],
    ['average_soc_power', 'soc'],
    ['average_gfx_power', 'gfx'],
    ['average_apu_power', 'apu'],
    ['average_ipu_power', 'ipu'],
    ['average_all_core_power', 'cores'],
    ['average_sys_power', 'system'],
    ['average_dgpu_power', 'discrete_gpu'],
  ] as const) {
    out.put(apu.power, table?.num(field), GM, component);
  }
  table?.nums('average_core_power')?.forEach((value, i) => {
    out.put(apu.power, value, GM, `core${i}`);
  });
  out.put(apu.limit, table?.num('stapm_power_limit'), GM, 'stapm');
  out.put(apu.limit, table?.num('current_stapm_power_limit'), GM, 'stapm_current');
  for (const [field, client, direction] of [
    ['average_dram_reads', 'all', 'read'],
    ['average_dram_writes', 'all', 'write'],
    ['average_ipu_reads', 'ipu', 'read'],
    ['average_ipu_writes', 'ipu', 'write'],
  ] as const) {
    out.put(apu.traffic, scaled(table?.num(field), 1e6), GM, client, direction);
  }
  out.put(apu.smartshift, percent(uint(raw, 'smartshift_apu_power')), 'smartshift_apu_power', 'apu');
  out.put(apu.smartshift, percent(uint(raw, 'smartshift_dgpu_power')), 'smartshift_dgpu_power', 'discrete_gpu');
  out.put(apu.smartshiftBias, int(raw, 'smartshift_bias'), 'smartshift_bias');
}
