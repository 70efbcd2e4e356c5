import { compute } from '../../model/quantities/compute.ts';
import { media } from '../../model/quantities/media.ts';
import { throttle } from '../../model/quantities/throttle.ts';
import type { CounterLimits } from '../memory.ts';
import type { Table } from '../tables/decode.ts';
import { type Context, first, firstOf, indexLabel, percent, rawCounter, rawCounters, uint } from './context.ts';

/** Ticks come at about 1 kHz; ten times that is not believed. A percent sum rises a hundred times as fast. */
const TICK_RATE = 1e4;
const PERCENT_RATE = 100 * TICK_RATE;
const RESIDENCIES: readonly (readonly [field: string, cause: string])[] = [
  ['prochot_residency_acc', 'prochot'],
  ['ppt_residency_acc', 'ppt'],
  ['socket_thm_residency_acc', 'socket_thermal'],
  ['vr_thm_residency_acc', 'vr_thermal'],
  ['hbm_thm_residency_acc', 'hbm_thermal'],
  ['throttle_residency_prochot', 'prochot'],
  ['throttle_residency_spl', 'spl'],
  ['throttle_residency_fppt', 'fppt'],
  ['throttle_residency_sppt', 'sppt'],
  ['throttle_residency_thm_core', 'core_thermal'],
  ['throttle_residency_thm_gfx', 'gfx_thermal'],
  ['throttle_residency_thm_soc', 'soc_thermal'],
];
const XCC_CAUSES: readonly (readonly [field: string, cause: string])[] = [
  ['gfx_below_host_limit_ppt_acc', 'power'],
  ['gfx_below_host_limit_thm_acc', 'thermal'],
  ['gfx_low_utilization_acc', 'low_utilization'],
  ['gfx_below_host_limit_total_acc', 'any'],
  ['gfx_below_host_limit_acc', 'any'],
];
const ACTIVITIES = [
  ['gfx_activity_acc', 'gfx'],
  ['mem_activity_acc', 'memory_controller'],
] as const;
const XCC_TICKS: CounterLimits = { width: 64, maxRate: TICK_RATE };
const XCC_PERCENT: CounterLimits = { width: 64, maxRate: PERCENT_RATE };
const GM = 'gpu_metrics';

/** Engine activity. Instinct: table and file are one number. Elsewhere they average over different windows and stay apart. */
export function resolveBusy({ raw, table, tableFirst, card, out }: Context): void {
  const fromTable = {
    gfx: percent(table?.num('average_gfx_activity')),
    memory: percent(table?.num('average_umc_activity')),
    video: percent(table?.num('average_mm_activity') ?? table?.num('average_vcn_activity')),
  };
  // MI200 writes 0 to average_mm_activity whatever the engines do.
  if (card.model.family === 'mi200' && fromTable.video === 0) fromTable.video = undefined;
  const fromFile = {
    gfx: percent(uint(raw, 'gpu_busy_percent')),
    memory: percent(uint(raw, 'mem_busy_percent')),
    video: percent(uint(raw, 'vcn_busy_percent')),
  };
  const put = (engine: string, part: 'gfx' | 'memory' | 'video', file: string): void => {
    const [value, source] = tableFirst
      ? firstOf([fromTable[part], GM], [fromFile[part], file])
      : firstOf([fromFile[part], file]);
    out.put(compute.busy, value, source, engine);
    if (!tableFirst) out.put(compute.averageActivity, fromTable[part], GM, engine);
  };
  put('gfx', 'gfx', 'gpu_busy_percent');
  put('memory_controller', 'memory', 'mem_busy_percent');
  put('vcn', 'video', 'vcn_busy_percent');
}

/** Firmware clocks and the accumulators that they are the denominator of. */
export function resolveAccumulators(context: Context): void {
  const { table, memory, out } = context;
  if (table === undefined) return;
  out.put(compute.metricsVersion, 1, GM, table.family);
  out.put(compute.absentFields, table.absentCount, GM, GM);
  const firmware = table.big('firmware_timestamp');
  let doubted = false;
  if (firmware !== undefined) {
    const verdict = memory.firmwareClock(firmware, out.at);
    if (verdict === 'restarted') out.forgetCounters();
    if (verdict === 'doubted') out.drop(compute.firmwareClock, GM);
    else out.put(compute.firmwareClock, Number(firmware) / 1e8, GM);
    doubted = verdict === 'doubted';
    out.put(compute.sampleTime, memory.sampledAt === undefined ? undefined : memory.sampledAt / 1000, GM);
    out.put(compute.firmwareRestarts, memory.restarts, GM);
  }
  const boot = table.big('system_clock_counter');
  // Nothing fills this with a true 0: the driver stamps it when it makes the table.
  if (boot !== undefined && boot !== 0n) out.put(compute.tableClock, Number(boot) / 1e9, GM);
  const ticks = rawCounter(table, 'accumulation_counter');
  const total = out.count(
    compute.accumulationTicks,
    ticks,
    GM,
    limitsOf(table, 'accumulation_counter', TICK_RATE),
    undefined,
  );
  const tick = total === undefined ? undefined : memory.tick(doubted ? undefined : firmware, BigInt(total));
  if (tick !== undefined && total !== undefined) out.put(compute.accumulationSeconds, Number(total) * tick, GM);
  for (const [field, engine] of ACTIVITIES) {
    const limits = limitsOf(table, field, PERCENT_RATE);
    out.count(compute.activityAccumulator, rawCounter(table, field), GM, limits, undefined, engine);
  }
  for (const [field, cause] of RESIDENCIES) {
    const limits = limitsOf(table, field, TICK_RATE);
    const value = out.count(throttle.ticks, rawCounter(table, field), GM, limits, undefined, cause);
    if (tick !== undefined && value !== undefined) out.put(throttle.seconds, Number(value) * tick, GM, cause);
  }
}

function limitsOf(table: Table, field: string, maxRate: number): CounterLimits {
  return { width: table.width(field) === 8 ? 64 : 32, maxRate };
}

/** What belongs to one partition: compute dies and media engines. */
export function resolvePartitions(context: Context): void {
  const { table, xcpTables, card, out } = context;
  const entries = table?.xcp() ?? 0;
  if (entries === 0) {
    for (const [number, own] of xcpTables) {
      const source = 'xcp/xcp_metrics';
      partition(
        context,
        number,
        source,
        (field) => own.nums(field),
        (field) => own.bigs(field),
      );
      out.put(compute.absentFields, own.absentCount, source, `xcp_metrics_${number}`);
    }
    if (xcpTables.size > 0) return;
  }
  if (table === undefined) return;
  // Slots beyond the partitions in use are all ones; where nobody tells how many there are, all are looked at.
  const inUse = first(table, 'num_partition') || (context.kfd.length > 0 ? card.partitions.length : entries);
  for (let p = 0; p < Math.min(entries, inUse); p++) {
    partition(
      context,
      p,
      GM,
      (field) => table.xcpNums(p, field),
      (field) => table.xcpBigs(p, field),
    );
  }
  if (entries > 0) return;
  // Self-describing tables list the dies of the socket flat; the partitions share them out evenly, in order.
  const share = Math.max(1, card.partitions.length);
  for (let p = 0; p < share; p++) {
    const slice = <T>(all: readonly T[] | undefined): readonly T[] | undefined =>
      all?.slice(Math.floor((p * all.length) / share), Math.floor(((p + 1) * all.length) / share));
    partition(
      context,
      p,
      GM,
      (field) => slice(table.nums(field)),
      (field) => slice(table.bigs(field)),
    );
  }
  wholeSocketMedia(context, table);
}

function partition(
  { out }: Context,
  number: number,
  source: string,
  nums: (field: string) => readonly (number | undefined)[] | undefined,
  bigs: (field: string) => readonly (bigint | undefined)[] | undefined,
): void {
  const label = indexLabel(number);
  nums('gfx_busy_inst')?.forEach((value, xcc) => {
    out.put(compute.xccBusy, percent(value), source, indexLabel(xcc), label);
  });
  const counters = (field: string): readonly (number | bigint | undefined)[] | undefined =>
    rawCounters(nums(field), () => bigs(field));
  counters('gfx_busy_acc')?.forEach((value, xcc) => {
    out.count(compute.xccActivityAccumulator, value, source, XCC_PERCENT, undefined, indexLabel(xcc), label);
  });
  for (const [field, cause] of XCC_CAUSES) {
    counters(field)?.forEach((value, xcc) => {
      out.count(throttle.xccTicks, value, source, XCC_TICKS, undefined, indexLabel(xcc), cause, label);
    });
  }
  for (const [field, engine] of [
    ['vcn_busy', 'vcn'],
    ['jpeg_busy', 'jpeg'],
  ] as const) {
    nums(field)?.forEach((value, instance) => {
      out.put(media.busy, percent(value), source, engine, indexLabel(instance), label);
    });
  }
}

/** Tables 1.4 and 1.5 count engines over the socket; whose partition they serve is not told. */
function wholeSocketMedia({ out }: Context, table: Table): void {
  for (const [field, engine] of [
    ['vcn_activity', 'vcn'],
    ['jpeg_activity', 'jpeg'],
  ] as const) {
    table.nums(field)?.forEach((value, instance) => {
      out.put(media.busy, percent(value), GM, engine, indexLabel(instance), '');
    });
  }
}
