import { expect, it } from 'vitest';
import { resolveApu } from '../../../amdgpu/resolve/apu.ts';
import { apu } from '../../../model/quantities/apu.ts';
import { once, table } from './fixture.ts';

it('powers of an APU are milliwatts in its table, and those that are not filled in are absent', () => {
  const bench = once(resolveApu, {
    family: 'apu',
    table: table('2.1', { average_soc_power: 743n, average_gfx_power: 585n, average_core_power: [1n, 0n] }),
  });
  expect(bench.value(apu.power, 'soc')).toBe(0.743);
  expect(bench.value(apu.power, 'gfx')).toBe(0.585);
  expect(bench.labels(apu.power)).toEqual(['soc', 'gfx', 'core0', 'core1']);
});

it('other cards have none of it, whatever their table holds', () => {
  const bench = once(resolveApu, { family: 'mi300', table: table('1.8', { curr_socket_power: 130 }) });
  for (const quantity of Object.values(apu)) expect(bench.labels(quantity)).toEqual([]);
});

it('smart shift is a share, and its bias may be negative', () => {
  const files = { smartshift_apu_power: '40\n', smartshift_bias: '-100\n' };
  const bench = once(resolveApu, { family: 'apu', files });
  expect(bench.value(apu.smartshift, 'apu')).toBe(0.4);
  expect(bench.value(apu.smartshiftBias)).toBe(-100);
});
