import { describe, expect, it } from 'vitest';
import { resolveThermal, resolveThermalLimits } from '../../../amdgpu/resolve/thermal.ts';
import { thermal } from '../../../model/quantities/thermal.ts';
import { once, table } from './fixture.ts';

describe('temperatures', () => {
  it('come from the table on Instinct parts', () => {
    const bench = once(resolveThermal, {
      family: 'mi300',
      table: table('1.8', { temperature_hotspot: 42, temperature_mem: 36 }),
      files: { 'hwmon/temp2_input': '41000\n', 'hwmon/temp2_label': 'junction\n' },
    });
    expect(bench.value(thermal.temperature, 'junction')).toBe(42);
    expect(bench.labels(thermal.temperature)).toEqual(['junction', 'mem']);
  });

  it('come from the finer file on Radeon, and what only the table has from there', () => {
    const bench = once(resolveThermal, {
      family: 'navi2',
      table: table('1.3', { temperature_edge: 56, temperature_vrgfx: 49 }),
      files: { 'hwmon/temp1_input': '56250\n', 'hwmon/temp1_label': 'edge\n' },
    });
    expect(bench.value(thermal.temperature, 'edge')).toBe(56.25);
    expect(bench.value(thermal.temperature, 'vr_gfx')).toBe(49);
  });

  it('are hundredths in an APU table', () => {
    const bench = once(resolveThermal, {
      family: 'apu',
      table: table('2.2', { temperature_gfx: 8175n, temperature_core: [8050n, 7425n] }),
    });
    expect(bench.value(thermal.temperature, 'gfx')).toBe(81.75);
    expect(bench.value(thermal.temperature, 'core1')).toBe(74.25);
    expect(bench.labels(thermal.temperature)).toEqual(['gfx', 'core0', 'core1']);
  });

  it('of 0 °C on the MI300 line are a sensor path that fills nothing in after a fatal error', () => {
    const bench = once(resolveThermal, {
      family: 'mi300',
      table: table('1.8', { temperature_hotspot: 0, temperature_mem: 0, temperature_vrsoc: 0 }),
      files: { 'hwmon/temp2_input': '0\n', 'hwmon/temp3_input': '0\n' },
    });
    expect(bench.labels(thermal.temperature)).toEqual([]);
  });

  it('of regulators without a sensor are 0 in the table and absent with us, while an edge of 0 °C is a reading', () => {
    const bench = once(resolveThermal, {
      family: 'navi3',
      table: table('1.3', { temperature_edge: 0, temperature_vrgfx: 0, temperature_vrmem: 0 }),
    });
    expect(bench.labels(thermal.temperature)).toEqual(['edge']);
  });

  it('of one channel without a label are those of the edge', () => {
    const bench = once(resolveThermal, { family: 'other', files: { 'hwmon/temp1_input': '58000\n' } });
    expect(bench.value(thermal.temperature, 'edge')).toBe(58);
  });

  it('below zero are readings', () => {
    const bench = once(resolveThermal, { family: 'navi2', files: { 'hwmon/temp1_input': '-7000\n' } });
    expect(bench.value(thermal.temperature, 'edge')).toBe(-7);
  });

  it('of all ones are dropped and counted', () => {
    const bench = once(resolveThermal, { family: 'vega', files: { 'hwmon/temp1_input': '511000\n' } });
    expect(bench.labels(thermal.temperature)).toEqual([]);
    expect(bench.absent(thermal.temperature, 'edge')).toBe('implausible');
    expect(bench.dropped).toEqual(['hwmon temp1_input']);
  });
});

describe('temperature limits', () => {
  it('of 0, as guests show them, and of absolute zero, for no hysteresis, are none', () => {
    const files = {
      'hwmon/temp2_label': 'junction\n',
      'hwmon/temp2_crit': '100000\n',
      'hwmon/temp2_crit_hyst': '-273150\n',
      'hwmon/temp2_emergency': '0\n',
    };
    const bench = once(resolveThermalLimits, { family: 'mi300', files });
    expect(bench.labels(thermal.limit)).toEqual(['junction.critical']);
    expect(bench.value(thermal.limit, 'junction', 'critical')).toBe(100);
    expect(bench.dropped).toEqual([]);
  });
});

describe('fans', () => {
  it('that stand still are at 0 rpm, and those that cannot be read have no speed', () => {
    const speed = (text: string, max: string) =>
      once(resolveThermal, { family: 'navi1', files: { 'hwmon/fan1_input': text, 'hwmon/fan1_max': max } });
    expect(speed('0\n', '3500\n').value(thermal.fan)).toBe(0);
    expect(speed('868\n', '3300\n').value(thermal.fan)).toBe(868);
    expect(speed('65535\n', '3500\n').absent(thermal.fan)).toBe('absent');
    expect(speed('65535\n', '').absent(thermal.fan)).toBe('absent');
  });

  it('far above what they can do are dropped and counted', () => {
    const files = { 'hwmon/fan1_input': '9000\n', 'hwmon/fan1_max': '3500\n' };
    const bench = once(resolveThermal, { family: 'navi1', files });
    expect(bench.absent(thermal.fan)).toBe('implausible');
    expect(bench.dropped).toEqual(['hwmon fan1_input']);
  });

  it('have a duty of the full scale, and no mode where the file is missing', () => {
    const bench = once(resolveThermal, { family: 'navi4', files: { 'hwmon/pwm1': '51\n' } });
    expect(bench.value(thermal.fanDuty)).toBe(0.2);
    expect(bench.labels(thermal.fanMode)).toEqual([]);
  });

  it('of a table that no file stands beside are absent on cards without a fan', () => {
    const bench = once(resolveThermal, { family: 'mi200', table: table('1.3', { current_fan_speed: 0 }) });
    expect(bench.labels(thermal.fan)).toEqual([]);
  });
});

describe('voltages', () => {
  it('of 0 in the table of a card without that reading are absent', () => {
    const bench = once(resolveThermal, {
      family: 'mi100',
      table: table('1.3', { voltage_gfx: 0, voltage_soc: 0 }),
      files: { 'hwmon/in0_input': '834\n', 'hwmon/in0_label': 'vddgfx\n' },
    });
    expect(bench.labels(thermal.voltage)).toEqual(['vddgfx']);
    expect(bench.value(thermal.voltage, 'vddgfx')).toBe(0.834);
  });

  it('of a gated core are small and honest', () => {
    const bench = once(resolveThermal, { family: 'navi2', files: { 'hwmon/in0_input': '6\n' } });
    expect(bench.value(thermal.voltage, 'vddgfx')).toBe(0.006);
  });

  it('of a board supplied with 54 V are believed', () => {
    const files = { 'hwmon/in2_input': '53934\n', 'hwmon/in2_label': 'vddboard\n' };
    expect(once(resolveThermal, { family: 'mi350', files }).value(thermal.voltage, 'vddboard')).toBe(53.934);
  });
});
