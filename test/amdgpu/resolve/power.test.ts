import { describe, expect, it } from 'vitest';
import { resolvePower, resolvePowerSlow } from '../../../amdgpu/resolve/power.ts';
import { power } from '../../../model/quantities/power.ts';
import { Bench, once, table } from './fixture.ts';

describe('power', () => {
  it('comes from the table on Instinct parts, and is told to be an average or of the moment', () => {
    const mi210 = once(resolvePower, {
      family: 'mi200',
      table: table('1.3', { average_socket_power: 41 }),
      files: { 'hwmon/power1_average': '40000000\n' },
    });
    expect(mi210.value(power.power)).toBe(41);
    expect(mi210.value(power.powerSource, 'average')).toBe(1);
    const mi300 = once(resolvePower, { family: 'mi300', table: table('1.8', { curr_socket_power: 580 }) });
    expect(mi300.value(power.power)).toBe(580);
    expect(mi300.value(power.powerSource, 'instantaneous')).toBe(1);
    expect(mi300.value(power.powerSource, 'average')).toBe(0);
  });

  it('comes from the finer file on Radeon', () => {
    const bench = once(resolvePower, {
      family: 'navi2',
      table: table('1.3', { average_socket_power: 36 }),
      files: { 'hwmon/power1_average': '36250000\n' },
    });
    expect(bench.value(power.power)).toBe(36.25);
    expect(bench.source(power.power)).toBe('hwmon power1_average');
  });

  it('comes from the table of a Radeon whose files do not tell', () => {
    const bench = once(resolvePower, { family: 'navi2', table: table('1.3', { average_socket_power: 36 }) });
    expect(bench.value(power.power)).toBe(36);
  });

  it('prefers the average of two files', () => {
    const files = { 'hwmon/power1_average': '3103000\n', 'hwmon/power1_input': '3142000\n' };
    expect(once(resolvePower, { family: 'apu', files }).value(power.power)).toBe(3.103);
  });

  it('is not taken from an APU table, whose unit depends on the firmware', () => {
    const bench = once(resolvePower, { family: 'apu', table: table('2.1', { average_socket_power: 3 }) });
    expect(bench.labels(power.power)).toEqual([]);
    expect(bench.labels(power.powerSource)).toEqual([]);
  });

  it('is absent on a secondary die, whose table and file say 0, and so is all that hangs on it', () => {
    const bench = new Bench();
    const given = {
      family: 'mi200',
      table: table('1.3', { average_socket_power: 0, energy_accumulator: 0 }),
      files: {
        'hwmon/power1_average': '0\n',
        'hwmon/power1_cap': '0\n',
        'hwmon/power1_cap_min': '0\n',
        'hwmon/power1_cap_max': '0\n',
        'hwmon/power1_cap_default': '0\n',
      },
    } as const;
    bench.pass(resolvePower, given);
    for (const quantity of [power.power, power.powerSource, power.energy, power.cap])
      expect(bench.labels(quantity)).toEqual([]);
    bench.pass(resolvePowerSlow, given);
    for (const quantity of [power.capMin, power.capMax, power.capDefault]) expect(bench.labels(quantity)).toEqual([]);
  });

  it('of 0 W is a reading of a Radeon that sleeps', () => {
    const bench = once(resolvePower, { family: 'navi2', files: { 'hwmon/power1_average': '0\n' } });
    expect(bench.value(power.power)).toBe(0);
  });
});

describe('power limits', () => {
  it('may begin at 0 W', () => {
    const files = { 'hwmon/power1_cap_min': '0\n', 'hwmon/power1_cap_max': '750000000\n' };
    const bench = once(resolvePowerSlow, { family: 'mi300', files });
    expect(bench.value(power.capMin)).toBe(0);
    expect(bench.value(power.capMax)).toBe(750);
  });

  it('of the second channel are there where the channel is', () => {
    const files = { 'hwmon/power2_cap': '15000000\n', 'hwmon/power2_average': '3040000\n' };
    const bench = once(resolvePower, { family: 'apu', files });
    expect(bench.value(power.cap2)).toBe(15);
    expect(bench.value(power.power2)).toBe(3.04);
    expect(bench.labels(power.power)).toEqual([]);
  });

  it('that an empty line stands for are absent', () => {
    expect(once(resolvePower, { family: 'mi300', files: { 'hwmon/power1_cap': '\n' } }).labels(power.cap)).toEqual([]);
  });
});

describe('energy', () => {
  const first = 5_104_503_354_501n;

  it('is counted in steps of 2^-16 J on MI200 and later', () => {
    const bench = once(resolvePower, {
      family: 'mi300',
      table: table('1.8', { curr_socket_power: 133, energy_accumulator: first }),
    });
    expect(bench.value(power.energy)).toBe(5_104_503_354_501 / 65536);
  });

  it('keeps its fraction where the steps no longer fit a number', () => {
    const ticks = 2n ** 60n + 1n;
    const bench = once(resolvePower, {
      family: 'mi200',
      table: table('1.3', { average_socket_power: 133, energy_accumulator: ticks }),
    });
    expect(bench.value(power.energy)).toBe(2 ** 44 + 1 / 65536);
  });

  it('is not published where the size of a step is not documented', () => {
    for (const family of ['mi100', 'navi2', 'navi3', 'apu', 'vega'] as const) {
      const bench = once(resolvePower, {
        family,
        table: table('1.3', { average_socket_power: 36, energy_accumulator: 17_691_682n }),
        files: { 'hwmon/power1_average': '36000000\n' },
      });
      expect(bench.labels(power.energy), family).toEqual([]);
    }
  });

  it('that jumped further than a socket can draw is dropped and counted', () => {
    const bench = new Bench();
    const at = (energy: bigint) => ({
      family: 'mi300' as const,
      table: table('1.8', { curr_socket_power: 133, energy_accumulator: energy }),
    });
    bench.pass(resolvePower, at(first));
    bench.pass(resolvePower, at(first + (1n << 40n)));
    expect(bench.absent(power.energy)).toBe('implausible');
    expect(bench.dropped).toEqual(['gpu_metrics']);
    bench.pass(resolvePower, at(first + 133n * 65536n * 2n));
    expect(bench.value(power.energy)).toBe(Number(first + 133n * 65536n * 2n) / 65536);
  });
});
