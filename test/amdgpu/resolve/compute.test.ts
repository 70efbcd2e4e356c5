import { describe, expect, it } from 'vitest';
import { resolveAccumulators, resolveBusy, resolvePartitions } from '../../../amdgpu/resolve/compute.ts';
import { compute } from '../../../model/quantities/compute.ts';
import { media } from '../../../model/quantities/media.ts';
import { throttle } from '../../../model/quantities/throttle.ts';
import { Bench, once, table } from './fixture.ts';

describe('engine activity', () => {
  it('of an Instinct is one number, from the table', () => {
    const bench = once(resolveBusy, {
      family: 'mi300',
      table: table('1.8', { average_gfx_activity: 82, average_umc_activity: 51 }),
      files: { gpu_busy_percent: '80\n', mem_busy_percent: '50\n' },
    });
    expect(bench.value(compute.busy, 'gfx')).toBe(0.82);
    expect(bench.value(compute.busy, 'memory_controller')).toBe(0.51);
    expect(bench.labels(compute.averageActivity)).toEqual([]);
  });

  it('of an Instinct comes from the files where the table does not tell', () => {
    const bench = once(resolveBusy, { family: 'mi300', table: table('1.8', {}), files: { gpu_busy_percent: '80\n' } });
    expect(bench.value(compute.busy, 'gfx')).toBe(0.8);
    expect(bench.labels(compute.busy)).toEqual(['gfx']);
  });

  it('of a Radeon averages over two windows, which stay two series', () => {
    const bench = once(resolveBusy, {
      family: 'navi3',
      table: table('1.3', { average_gfx_activity: 24 }),
      files: { gpu_busy_percent: '2\n' },
    });
    expect(bench.value(compute.busy, 'gfx')).toBe(0.02);
    expect(bench.value(compute.averageActivity, 'gfx')).toBe(0.24);
  });

  it('of an APU is in hundredths of a percent in its table', () => {
    const bench = once(resolveBusy, { family: 'apu', table: table('2.1', { average_gfx_activity: 79n }) });
    expect(bench.value(compute.averageActivity, 'gfx')).toBeCloseTo(0.0079, 12);
    expect(bench.labels(compute.busy)).toEqual([]);
  });

  it('of MI200\u2019s video engines is never filled in, and its 0 says nothing', () => {
    const given = { table: table('1.3', { average_gfx_activity: 0, average_mm_activity: 0 }) };
    expect(once(resolveBusy, { family: 'mi200', ...given }).labels(compute.busy)).toEqual(['gfx']);
    expect(once(resolveBusy, { family: 'mi100', ...given }).labels(compute.busy)).toEqual(['gfx', 'vcn']);
  });

  it('above the whole is dropped', () => {
    const bench = once(resolveBusy, { family: 'navi3', files: { gpu_busy_percent: '101\n' } });
    expect(bench.absent(compute.busy, 'gfx')).toBe('implausible');
  });
});

/** A table of an MI300 that many firmware ticks of one millisecond after its start. */
function mi300(ticks: number, more: Record<string, bigint> = {}) {
  return {
    family: 'mi300' as const,
    table: table('1.8', {
      accumulation_counter: BigInt.asUintN(32, BigInt(ticks)),
      firmware_timestamp: BigInt(ticks) * 100_000n,
      ppt_residency_acc: BigInt.asUintN(32, BigInt(ticks) / 4n),
      ...more,
    }),
  };
}

describe('firmware ticks', () => {
  it('of 32 bits go on rising when the field wraps', () => {
    const bench = new Bench();
    bench.pass(resolveAccumulators, mi300(2 ** 32 - 500));
    expect(bench.value(compute.accumulationTicks)).toBe(2 ** 32 - 500);
    bench.pass(resolveAccumulators, mi300(2 ** 32 + 500));
    expect(bench.value(compute.accumulationTicks)).toBe(2 ** 32 + 500);
    bench.pass(resolveAccumulators, mi300(2 ** 32 + 1500));
    expect(bench.value(compute.accumulationTicks)).toBe(2 ** 32 + 1500);
    expect(bench.dropped).toEqual([]);
  });

  it('that begin anew with the firmware clock are a restart, shown when it is confirmed', () => {
    const bench = new Bench();
    bench.pass(resolveAccumulators, mi300(3_000_000_000));
    bench.pass(resolveAccumulators, mi300(5_000));
    expect(bench.value(compute.accumulationTicks)).toBeUndefined();
    expect(bench.value(compute.firmwareRestarts)).toBe(0);
    bench.pass(resolveAccumulators, mi300(6_000));
    expect(bench.value(compute.accumulationTicks)).toBe(6_000);
    expect(bench.value(compute.firmwareClock)).toBe(6);
    expect(bench.value(compute.firmwareRestarts)).toBe(1);
  });

  it('survive one torn firmware clock without a restart', () => {
    const bench = new Bench();
    bench.pass(resolveAccumulators, mi300(100_000));
    bench.pass(resolveAccumulators, mi300(101_000, { firmware_timestamp: 101_000n * 100_000n - 2n ** 32n }));
    expect(bench.absent(compute.firmwareClock)).toBe('implausible');
    expect(bench.value(compute.accumulationTicks)).toBe(101_000);
    bench.pass(resolveAccumulators, mi300(102_000));
    expect(bench.value(compute.firmwareClock)).toBe(102);
    expect(bench.value(compute.firmwareRestarts)).toBe(0);
  });

  it('are given in seconds once their length was measured for ten seconds, and not before', () => {
    const bench = new Bench();
    bench.pass(resolveAccumulators, mi300(100_000));
    bench.pass(resolveAccumulators, mi300(105_000), 5000);
    expect(bench.labels(compute.accumulationSeconds)).toEqual([]);
    expect(bench.labels(throttle.seconds)).toEqual([]);
    bench.pass(resolveAccumulators, mi300(110_000), 5000);
    expect(bench.value(compute.accumulationSeconds)).toBeCloseTo(110, 9);
    expect(bench.value(throttle.seconds, 'ppt')).toBeCloseTo(27.5, 9);
    // Another length from here on would make the seconds fall.
    bench.pass(resolveAccumulators, mi300(111_000, { firmware_timestamp: 111_500n * 100_000n }));
    expect(bench.value(compute.accumulationSeconds)).toBeCloseTo(111, 9);
  });

  it('tell when the sample last changed', () => {
    const bench = new Bench();
    bench.pass(resolveAccumulators, mi300(1000));
    const first = bench.at;
    bench.pass(resolveAccumulators, mi300(1000));
    expect(bench.value(compute.sampleTime)).toBe(first / 1000);
  });

  it('keep every bit of a counter that does not fit a number', () => {
    const bench = once(resolveAccumulators, {
      family: 'mi300',
      table: table('1.9', { accumulation_counter: 2n ** 60n + 1n }, { wide: true }),
    });
    expect(bench.value(compute.accumulationTicks)).toBe(2n ** 60n + 1n);
  });

  it('are absent where the table marks them so', () => {
    const bench = once(resolveAccumulators, { family: 'mi300', table: table('1.8', {}) });
    for (const quantity of [compute.accumulationTicks, compute.firmwareClock, compute.firmwareRestarts, throttle.ticks])
      expect(bench.labels(quantity)).toEqual([]);
    expect(bench.value(compute.absentFields, 'gpu_metrics')).toBeGreaterThan(50);
    expect(bench.value(compute.metricsVersion, '1.8')).toBe(1);
  });
});

describe('compute dies and video engines', () => {
  it('are told by partition in tables 1.6 to 1.8', () => {
    const bench = once(resolvePartitions, {
      family: 'mi300',
      partitions: 2,
      table: table('1.8', { xcp: [{ gfx_busy_inst: [10, 20] }, { gfx_busy_inst: [30], vcn_busy: [5] }] }),
      xcpTables: new Map([[0, table('1.0', { gfx_busy_inst: [99] }, {}, 'partition')]]),
    });
    expect(bench.labels(compute.xccBusy)).toEqual(['0.0', '1.0', '0.1']);
    expect(bench.value(compute.xccBusy, '0', '1')).toBe(0.3);
    expect(bench.value(media.busy, 'vcn', '0', '1')).toBe(0.05);
  });

  it('come from the file of each partition where the socket\u2019s table has no entries for them', () => {
    const own = (busy: number) => table('1.1', { gfx_busy_inst: [busy] }, {}, 'partition');
    const bench = once(resolvePartitions, {
      family: 'mi300',
      partitions: 2,
      table: table('1.9', { gfx_busy_inst: [1, 2] }),
      xcpTables: new Map([
        [0, own(40)],
        [1, own(60)],
      ]),
    });
    expect(bench.value(compute.xccBusy, '0', '0')).toBe(0.4);
    expect(bench.value(compute.xccBusy, '0', '1')).toBe(0.6);
    expect(bench.labels(compute.xccBusy)).toEqual(['0.0', '0.1']);
  });

  it('stand flat in 1.9, and its partitions share them out in order', () => {
    const bench = once(resolvePartitions, {
      family: 'mi300',
      partitions: 8,
      table: table('1.9', { gfx_busy_inst: [10, 11, 12, 13, 14, 15, 16, 17] }),
    });
    expect(bench.labels(compute.xccBusy)).toEqual(Array.from({ length: 8 }, (_, p) => `0.${p}`));
    expect(bench.value(compute.xccBusy, '0', '5')).toBe(0.15);
  });

  it('are counted over the socket in 1.4 and 1.5, which tell of no partition', () => {
    const bench = once(resolvePartitions, {
      family: 'mi300',
      partitions: 8,
      table: table('1.5', { vcn_activity: [7] }),
    });
    expect(bench.value(media.busy, 'vcn', '0', '')).toBe(0.07);
    expect(bench.labels(compute.xccBusy)).toEqual([]);
  });

  it('tell a torn 64-bit sum apart, and count it', () => {
    const bench = new Bench();
    const at = (sum: bigint) => ({
      family: 'mi300' as const,
      table: table('1.8', { xcp: [{ gfx_busy_acc: [sum] }] }),
    });
    bench.pass(resolvePartitions, at(2n ** 33n + 10n));
    bench.pass(resolvePartitions, at(2n ** 32n + 60n));
    expect(bench.absent(compute.xccActivityAccumulator, '0', '0')).toBe('implausible');
    bench.pass(resolvePartitions, at(2n ** 33n + 210n));
    expect(bench.value(compute.xccActivityAccumulator, '0', '0')).toBe(2 ** 33 + 210);
    expect(bench.dropped).toEqual(['gpu_metrics']);
  });
});
