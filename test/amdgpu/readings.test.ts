import { describe, expect, it } from 'vitest';
import { Readings } from '../../amdgpu/readings.ts';
import { clocks } from '../../model/quantities/clocks.ts';
import { power } from '../../model/quantities/power.ts';
import { thermal } from '../../model/quantities/thermal.ts';
import { xgmi } from '../../model/quantities/xgmi.ts';

const begun = (onImplausible?: (source: string) => void): Readings => {
  const readings = new Readings(onImplausible);
  readings.begin(1000);
  return readings;
};

describe('readings', () => {
  it('hold the newest value with its time and source', () => {
    const readings = begun();
    readings.put(power.power, 1, 'a');
    readings.put(power.power, 2, 'b');
    expect(readings.of(power.power)).toHaveLength(1);
    expect(readings.get(power.power)).toMatchObject({ value: 2, source: 'b', at: 1000 });
  });

  it('show nothing of an earlier pass', () => {
    const readings = begun();
    readings.put(power.power, 1, 'a');
    readings.begin(2000);
    expect(readings.get(power.power)).toBeUndefined();
    expect(readings.of(power.power)).toEqual([]);
    expect(readings.toMap().size).toBe(0);
  });

  it('take 0 for a value, and nothing for none', () => {
    const readings = begun();
    readings.put(power.power, 0, 'a');
    readings.put(power.cap, undefined, 'a');
    expect(readings.get(power.power)?.value).toBe(0);
    expect(readings.get(power.cap)).toBeUndefined();
  });

  it('drop and tell of what cannot be', () => {
    const told: string[] = [];
    const readings = begun((source) => void told.push(source));
    readings.put(thermal.temperature, 511, 'temp1_input', 'edge');
    readings.put(power.power, Number.NaN, 'x');
    readings.put(power.power, Number.POSITIVE_INFINITY, 'y');
    readings.drop(power.cap, 'z');
    expect(told).toEqual(['temp1_input', 'x', 'y', 'z']);
    expect(readings.get(thermal.temperature, 'edge')).toMatchObject({ value: undefined, absent: 'implausible' });
    expect(readings.of(power.power)).toEqual([]);
  });

  it('keep the ends of the plausible window', () => {
    const readings = begun();
    readings.put(thermal.temperature, -50, 'a', 'edge');
    readings.put(thermal.temperature, 200, 'a', 'mem');
    expect(readings.of(thermal.temperature)).toHaveLength(2);
  });

  it('know reasons, which do not replace a value of the same pass', () => {
    const readings = begun();
    readings.miss(power.power, 'busy', 'a');
    expect(readings.get(power.power)).toMatchObject({ absent: 'busy' });
    readings.put(power.power, 3, 'b');
    readings.miss(power.power, 'busy', 'a');
    expect(readings.get(power.power)).toMatchObject({ value: 3, absent: undefined });
  });

  it('tell label sets apart whatever they hold', () => {
    const readings = begun();
    readings.put(clocks.limit, 1, 'a', 'gfx', 'min');
    readings.put(clocks.limit, 2, 'a', 'gfx', 'max');
    readings.put(clocks.limit, 3, 'a', 'gfxmin', '');
    expect(readings.of(clocks.limit).map(({ value }) => value)).toEqual([1, 2, 3]);
    expect(readings.get(clocks.limit, 'gfx', 'max')?.value).toBe(2);
  });

  it('are named as policies name them', () => {
    const readings = begun();
    readings.put(thermal.temperature, 60, 'a', 'junction');
    readings.miss(power.power, 'timeout', 'b');
    expect([...readings.toMap()]).toEqual([
      ['temperature.junction', { at: 1000, source: 'a', value: 60 }],
      ['power', { at: 1000, source: 'b', absent: 'timeout' }],
    ]);
  });

  it('forget series that were not written for some passes, and only those', () => {
    const readings = begun();
    readings.put(thermal.temperature, 1, 'a', 'edge');
    for (let pass = 0; pass < 3; pass++) {
      readings.begin(2000 + pass);
      readings.put(thermal.temperature, 2, 'a', 'mem');
    }
    readings.prune(1);
    readings.put(thermal.temperature, 5, 'a', 'edge');
    readings.put(thermal.temperature, 6, 'a', 'mem');
    expect(readings.of(thermal.temperature).map(({ labels, value }) => [labels[0], value])).toEqual([
      ['mem', 6],
      ['edge', 5],
    ]);
  });
});

describe('counters among readings', () => {
  const limits = { width: 64, maxRate: 100 } as const;

  it('are published in their unit and remembered as they stand', () => {
    const readings = begun();
    const total = readings.count(xgmi.read, 3, 'gm', limits, (kilobytes) => Number(kilobytes) * 1024, '0');
    expect(total).toBe(3);
    expect(readings.get(xgmi.read, '0')?.value).toBe(3072);
  });

  it('are dropped and told of when they jump, until they forget', () => {
    const told: string[] = [];
    const readings = begun((source) => void told.push(source));
    readings.count(xgmi.read, 3, 'gm', limits, undefined, '0');
    readings.begin(2000);
    expect(readings.count(xgmi.read, 1e6, 'gm', limits, undefined, '0')).toBeUndefined();
    expect(readings.get(xgmi.read, '0')?.absent).toBe('implausible');
    expect(told).toEqual(['gm']);
    readings.forgetCounters();
    readings.begin(3000);
    expect(readings.count(xgmi.read, 5e6, 'gm', limits, undefined, '0')).toBe(5e6);
  });

  it('that the table does not have are not there', () => {
    const readings = begun();
    expect(readings.count(xgmi.read, undefined, 'gm', limits, undefined, '0')).toBeUndefined();
    expect(readings.get(xgmi.read, '0')).toBeUndefined();
  });
});
