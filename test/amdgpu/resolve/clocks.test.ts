import { describe, expect, it } from 'vitest';
import { resolveClocks } from '../../../amdgpu/resolve/clocks.ts';
import { clocks } from '../../../model/quantities/clocks.ts';
import { once, table } from './fixture.ts';

describe('clocks', () => {
  it('of an Instinct come from the table: the first die for all, and each die for itself', () => {
    const bench = once(resolveClocks, {
      family: 'mi300',
      table: table('1.8', { current_gfxclk: [1695, 1968], current_uclk: 1300, current_socclk: [1143, 30] }),
      files: { 'hwmon/freq1_input': '1700000000\n' },
    });
    expect(bench.value(clocks.clock, 'gfx')).toBe(1695e6);
    expect(bench.value(clocks.xccClock, '1')).toBe(1968e6);
    expect(bench.labels(clocks.xccClock)).toEqual(['0', '1']);
    expect(bench.value(clocks.dieClock, 'soc', '1')).toBe(30e6);
  });

  it('of a Radeon come from the measured frequency, and the starred level stays a series of its own', () => {
    const bench = once(resolveClocks, {
      family: 'other',
      files: { 'hwmon/freq1_input': '798080000\n', pp_dpm_sclk: '0: 300Mhz \n1: 900Mhz *\n2: 1366Mhz \n' },
    });
    expect(bench.value(clocks.clock, 'gfx')).toBe(798_080_000);
    expect(bench.value(clocks.level, 'gfx')).toBe(900e6);
  });

  it('come from the level where nothing measures them', () => {
    const bench = once(resolveClocks, { family: 'mi300', files: { pp_dpm_fclk: '0: 1300Mhz *\n1: 1800Mhz \n' } });
    expect(bench.value(clocks.clock, 'fabric')).toBe(1300e6);
    expect(bench.source(clocks.clock, 'fabric')).toBe('pp_dpm_fclk');
  });

  it('of a gated core are 0, which is no level when two lines are starred', () => {
    const bench = once(resolveClocks, {
      family: 'navi2',
      files: { 'hwmon/freq1_input': '0\n', pp_dpm_sclk: '0: 0Mhz *\n1: 0Mhz *\n' },
    });
    expect(bench.value(clocks.clock, 'gfx')).toBe(0);
    expect(bench.labels(clocks.level)).toEqual([]);
    expect(bench.labels(clocks.limit)).toEqual([]);
  });

  it('of MI200\u2019s video engines are not filled in where the table says 0, and real on other parts', () => {
    const given = { table: table('1.3', { current_vclk0: 0, average_vclk0_frequency: 0 }) };
    const files = { pp_dpm_vclk: '0: 33Mhz *\n1: 1363Mhz \n' };
    const mi200 = once(resolveClocks, { family: 'mi200', ...given, files });
    expect(mi200.value(clocks.clock, 'vclk')).toBe(33e6);
    expect(mi200.labels(clocks.average)).toEqual([]);
    expect(once(resolveClocks, { family: 'navi2', ...given }).value(clocks.clock, 'vclk')).toBe(0);
  });

  it('have no level without a star, and none of an empty line', () => {
    const bench = once(resolveClocks, {
      family: 'navi1',
      files: { pp_dpm_sclk: '0: 300Mhz \n1: 1900Mhz \n', pp_dpm_mclk: '\n' },
    });
    expect(bench.labels(clocks.level)).toEqual([]);
    expect(bench.labels(clocks.limit)).toEqual(['gfx.min', 'gfx.max']);
    expect(bench.labels(clocks.deepSleep)).toEqual(['gfx']);
  });

  it('in deep sleep are below every level', () => {
    const bench = once(resolveClocks, {
      family: 'mi300',
      files: { pp_dpm_sclk: 'S: 133Mhz *\n0: 500Mhz \n1: 2100Mhz \n' },
    });
    expect(bench.value(clocks.deepSleep, 'gfx')).toBe(1);
    expect(bench.value(clocks.level, 'gfx')).toBe(133e6);
    expect(bench.value(clocks.limit, 'gfx', 'min')).toBe(500e6);
    expect(bench.value(clocks.levels, 'gfx')).toBe(2);
  });

  it('between the ends of a fine-grained table are live and no level, wherever the line stands', () => {
    for (const family of ['mi200', 'mi300', 'mi350'] as const) {
      const files = { pp_dpm_sclk: '0: 500Mhz \n1: 142Mhz *\n2: 2100Mhz \n' };
      const bench = once(resolveClocks, { family, files });
      expect(bench.value(clocks.levels, 'gfx'), family).toBe(2);
      expect(bench.value(clocks.limit, 'gfx', 'min'), family).toBe(500e6);
      expect(bench.value(clocks.limit, 'gfx', 'max'), family).toBe(2100e6);
    }
    const files = { pp_dpm_sclk: '0: 300Mhz \n1: 731Mhz *\n2: 1502Mhz \n' };
    expect(once(resolveClocks, { family: 'mi100', files }).value(clocks.levels, 'gfx')).toBe(3);
  });

  it('are locked by die', () => {
    const bench = once(resolveClocks, {
      family: 'mi300',
      table: table('1.8', { current_gfxclk: [900, 1695], gfxclk_lock_status: 0b01 }),
    });
    expect(bench.value(clocks.locked, '0')).toBe(1);
    expect(bench.value(clocks.locked, '1')).toBe(0);
    expect(bench.labels(clocks.locked)).toEqual(['0', '1']);
  });

  it('of the PCIe link are told by one star and left open by two', () => {
    const at = (text: string) => once(resolveClocks, { family: 'vega', files: { pp_dpm_pcie: text } });
    const link = (star: string) => `0: 2.5GT/s, x1 310Mhz ${star}\n1: 16.0GT/s, x16 619Mhz *\n`;
    expect(at(link('')).value(clocks.clock, 'pcie')).toBe(619e6);
    expect(at(link('*')).labels(clocks.clock)).toEqual([]);
    expect(at('\n').labels(clocks.clock)).toEqual([]);
  });
});
