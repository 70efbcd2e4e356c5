import { power } from '../../model/quantities/power.ts';
import type { Quantity } from '../../model/quantities/quantity.ts';
import { energyDocumented } from '../chips.ts';
import { parseNpmStatus, parseWatts } from '../formats/board.ts';
import {
  PERF_LEVELS,
  POWER_STATES,
  parsePerfLevel,
  parsePolicy,
  parsePowerState,
  parseProfileMode,
} from '../formats/perf.ts';
import { parseBig } from '../formats/scalar.ts';
import { type Context, divided, states, uint } from './context.ts';

const MAX_WATTS = 5000;
const SOURCES = ['average', 'instantaneous'];

const microwatts = (value: number | undefined): number | undefined => divided(value, 1e6);

interface PowerReading {
  watts: number | undefined;
  source: string;
  kind: 'average' | 'instantaneous';
}

export function resolvePower(context: Context): void {
  const { raw, table, tableFirst, card, out } = context;
  const inTable: PowerReading[] = [
    { watts: table?.num('curr_socket_power'), source: 'gpu_metrics', kind: 'instantaneous' },
    { watts: table?.num('average_socket_power'), source: 'gpu_metrics', kind: 'average' },
  ];
  const inFiles: PowerReading[] = [
    { watts: microwatts(uint(raw, 'hwmon/power1_average')), source: 'hwmon power1_average', kind: 'average' },
    { watts: microwatts(uint(raw, 'hwmon/power1_input')), source: 'hwmon power1_input', kind: 'instantaneous' },
  ];
  // APU tables give socket power in milliwatts or watts by firmware, which the table does not tell.
  const candidates = tableFirst
    ? [...inTable, ...inFiles]
    : card.model.family === 'apu'
      ? inFiles
      : [...inFiles, ...inTable];
  // An Instinct at 0 W is a secondary die, or a sensor path that answered without filling anything in.
  const reading = candidates.find(({ watts }) => watts !== undefined && !(tableFirst && watts === 0));
  out.put(power.power, reading?.watts, reading?.source ?? '');
  states(out, power.powerSource, SOURCES, reading?.kind, reading?.source ?? '');
  if (energyDocumented(card.model.family) && reading !== undefined) {
    const ticks = rawTicks(table);
    out.count(power.energy, ticks, 'gpu_metrics', { width: 64, maxRate: MAX_WATTS * 65536 }, joules);
  }
  caps(context);
  board(context);
  modes(context);
}

/** 2^-16 J a step, in two parts so that a large accumulator keeps its fraction. */
function joules(ticks: number | bigint): number {
  if (typeof ticks === 'number') return ticks / 65536;
  return Number(ticks >> 16n) + Number(ticks & 0xffffn) / 65536;
}

/** The accumulator as it stands in the table: a number while that is exact. */
function rawTicks(table: Context['table']): number | bigint | undefined {
  const ticks = table?.big('energy_accumulator');
  return ticks !== undefined && ticks <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(ticks) : ticks;
}

function cap({ raw, out }: Context, quantity: Quantity, file: string, zeroIsValue: boolean): void {
  const watts = microwatts(uint(raw, `hwmon/${file}`));
  if (watts !== 0 || zeroIsValue) out.put(quantity, watts, `hwmon ${file}`);
}

function caps(context: Context): void {
  const { raw, tableFirst, out } = context;
  // A secondary die shows 0: it has no limit of its own. As lower end 0 is what the driver says.
  cap(context, power.cap, 'power1_cap', !tableFirst);
  cap(context, power.cap2, 'power2_cap', false);
  const power2 = microwatts(uint(raw, 'hwmon/power2_average') ?? uint(raw, 'hwmon/power2_input'));
  out.put(power.power2, power2, 'hwmon power2_average');
}

function board({ raw, out }: Context): void {
  const watts = (file: string): number | undefined => raw.parse(`board/${file}`, parseWatts);
  out.put(power.nodePower, watts('node_power'), 'board/node_power');
  out.put(power.nodeLimit, watts('cur_node_power_limit'), 'board/cur_node_power_limit');
  out.put(power.nodeLimitMax, watts('max_node_power_limit'), 'board/max_node_power_limit');
  out.put(power.baseboard, watts('baseboard_power'), 'board/baseboard_power');
  out.put(power.baseboardLimit, watts('baseboard_power_limit'), 'board/baseboard_power_limit');
  out.put(power.nodePpt, raw.parse('board/global_ppt_resid', parseBig), 'board/global_ppt_resid');
  const npm = raw.parse('board/npm_status', parseNpmStatus);
  if (npm !== undefined)
    states(out, power.npm, ['enabled', 'disabled'], npm ? 'enabled' : 'disabled', 'board/npm_status');
}

function modes({ raw, out }: Context): void {
  const level = 'power_dpm_force_performance_level';
  states(out, power.perfLevel, PERF_LEVELS, raw.parse(level, parsePerfLevel), level);
}

/** Ends of the limits and modes that nobody changes within seconds. */
export function resolvePowerSlow(context: Context): void {
  const { raw, tableFirst, out } = context;
  cap(context, power.capMax, 'power1_cap_max', !tableFirst);
  cap(context, power.capDefault, 'power1_cap_default', !tableFirst);
  // A lower end of 0 is one only where there is an upper one: a secondary die shows 0 for both.
  cap(context, power.capMin, 'power1_cap_min', !tableFirst || (uint(raw, 'hwmon/power1_cap_max') ?? 0) > 0);
  cap(context, power.cap2Max, 'power2_cap_max', false);
  cap(context, power.cap2Min, 'power2_cap_min', (uint(raw, 'hwmon/power2_cap_max') ?? 0) > 0);
  cap(context, power.cap2Default, 'power2_cap_default', false);
  states(out, power.dpmState, POWER_STATES, raw.parse('power_dpm_state', parsePowerState), 'power_dpm_state');
  const profiles = raw.parse('pp_power_profile_mode', parseProfileMode);
  const names = profiles?.choices.map((choice) => choice.name) ?? [];
  states(out, power.profile, names, profiles?.current, 'pp_power_profile_mode');
  const soc = raw.parse('pm_policy/soc_pstate', parsePolicy);
  const policy = soc?.find((choice) => choice.current)?.name;
  states(out, power.socPolicy, soc?.map((choice) => choice.name) ?? [], policy, 'pm_policy/soc_pstate');
}
