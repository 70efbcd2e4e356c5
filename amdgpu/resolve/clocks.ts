import type { Family } from '../../model/card.ts';
import { clocks } from '../../model/quantities/clocks.ts';
import { type ClockLevels, parseLevels } from '../formats/levels.ts';
import { parseOverdriveClocks } from '../formats/odclk.ts';
import { parsePcieLevels } from '../formats/pcie.ts';
import { type Context, first, megahertz, percent, uint } from './context.ts';

const GM = 'gpu_metrics';

/** One clock domain: its name with us, the level table, the live and the average field, and hwmon's measured frequency. */
interface Domain {
  clock: string;
  levels?: string;
  current: readonly string[];
  average: readonly string[];
  hwmon?: string;
  /** 0 in the table says nothing on MI200. */
  zeroIsAbsent?: boolean;
}

const DOMAINS: readonly Domain[] = [
  {
    clock: 'gfx',
    levels: 'pp_dpm_sclk',
    current: ['current_gfxclk'],
    average: ['average_gfxclk_frequency'],
    hwmon: 'hwmon/freq1_input',
  },
  {
    clock: 'mem',
    levels: 'pp_dpm_mclk',
    current: ['current_uclk'],
    average: ['average_uclk_frequency'],
    hwmon: 'hwmon/freq2_input',
  },
  { clock: 'soc', levels: 'pp_dpm_socclk', current: ['current_socclk'], average: ['average_socclk_frequency'] },
  { clock: 'fabric', levels: 'pp_dpm_fclk', current: ['current_fclk'], average: ['average_fclk_frequency'] },
  {
    clock: 'vclk',
    levels: 'pp_dpm_vclk',
    current: ['current_vclk0', 'current_vclk'],
    average: ['average_vclk0_frequency', 'average_vclk_frequency'],
    zeroIsAbsent: true,
  },
  {
    clock: 'dclk',
    levels: 'pp_dpm_dclk',
    current: ['current_dclk0', 'current_dclk'],
    average: ['average_dclk0_frequency', 'average_dclk_frequency'],
    zeroIsAbsent: true,
  },
  {
    clock: 'vclk1',
    levels: 'pp_dpm_vclk1',
    current: ['current_vclk1'],
    average: ['average_vclk1_frequency'],
    zeroIsAbsent: true,
  },
  {
    clock: 'dclk1',
    levels: 'pp_dpm_dclk1',
    current: ['current_dclk1'],
    average: ['average_dclk1_frequency'],
    zeroIsAbsent: true,
  },
  { clock: 'dcef', levels: 'pp_dpm_dcefclk', current: [], average: [] },
  { clock: 'vpe', current: [], average: ['average_vpeclk_frequency'] },
  { clock: 'ipu', current: [], average: ['average_ipuclk_frequency'] },
  { clock: 'ipu_controller', current: [], average: ['average_mpipu_frequency'] },
];

/** Arrays of one clock a CPU core or cache slice, on APUs. */
const APU_ARRAYS = [
  ['current_coreclk', 'core'],
  ['current_l3clk', 'l3_'],
] as const;

export function resolveClocks(context: Context): void {
  for (const domain of DOMAINS) resolveDomain(context, domain);
  dies(context);
  requests(context);
  pcieClock(context);
}

function resolveDomain({ raw, table, tableFirst, card, out }: Context, domain: Domain): void {
  const { clock } = domain;
  const levels = domain.levels === undefined ? undefined : raw.parse(domain.levels, parseLevels);
  const silentZero = domain.zeroIsAbsent === true && card.model.family === 'mi200';
  const inTable = field(table, domain.current, silentZero);
  const measured = domain.hwmon === undefined ? undefined : uint(raw, domain.hwmon);
  const fromTable: [number | undefined, string] = [megahertz(inTable), GM];
  const fromFile: [number | undefined, string] = [measured, domain.hwmon?.replace('/', ' ') ?? ''];
  const order = tableFirst ? [fromTable, fromFile] : [fromFile, fromTable];
  const [value, source] = order.find(([hertz]) => hertz !== undefined) ?? [levels?.current?.hertz, domain.levels ?? ''];
  out.put(clocks.clock, value, source, clock);
  out.put(clocks.average, megahertz(field(table, domain.average, silentZero)), GM, clock);
  if (levels === undefined || domain.levels === undefined || levels.levels.length === 0) return;
  out.put(clocks.level, levels.current?.hertz, domain.levels, clock);
  out.put(clocks.limit, levels.min, domain.levels, clock, 'min');
  out.put(clocks.limit, levels.max, domain.levels, clock, 'max');
  out.put(clocks.deepSleep, levels.deepSleep ? 1 : 0, domain.levels, clock);
  const fine = clock === 'gfx' && FINE_GRAINED.has(card.model.family);
  out.put(clocks.levels, countLevels(levels, fine), domain.levels, clock);
}

/** Parts whose graphics clock has two ends and no levels between: a third line is the live clock. */
const FINE_GRAINED: ReadonlySet<Family> = new Set(['mi200', 'mi300', 'mi350']);

function countLevels({ levels }: ClockLevels, fine: boolean): number {
  const numbered = levels.filter((level) => /^\d+$/.test(level.label)).length;
  return fine ? Math.min(2, numbered) : numbered;
}

function field(table: Context['table'], names: readonly string[], zeroIsAbsent: boolean): number | undefined {
  for (const name of names) {
    const value = first(table, name);
    if (value !== undefined && !(value === 0 && zeroIsAbsent)) return value;
  }
  return undefined;
}

function dies({ table, out }: Context): void {
  if (table === undefined) return;
  const each = (name: string, put: (hertz: number, i: number) => void): void => {
    const values = table.nums(name);
    if (values === undefined || values.length < 2) return;
    values.forEach((value, i) => {
      if (value !== undefined) put(value * 1e6, i);
    });
  };
  each('current_gfxclk', (hertz, i) => out.put(clocks.xccClock, hertz, GM, String(i)));
  for (const [name, clock] of [
    ['current_socclk', 'soc'],
    ['current_vclk0', 'vclk'],
    ['current_dclk0', 'dclk'],
  ] as const) {
    each(name, (hertz, i) => out.put(clocks.dieClock, hertz, GM, clock, String(i)));
  }
  for (const [name, prefix] of APU_ARRAYS) {
    each(name, (hertz, i) => {
      if (hertz > 0) out.put(clocks.clock, hertz, GM, `${prefix}${i}`);
    });
  }
  const locked = table.num('gfxclk_lock_status');
  const present = table.nums('current_gfxclk') ?? [];
  if (locked === undefined) return;
  present.forEach((value, i) => {
    if (value !== undefined) out.put(clocks.locked, (locked >>> i) & 1, GM, String(i));
  });
}

function requests({ raw, out }: Context): void {
  const od = raw.parse('pp_od_clk_voltage', parseOverdriveClocks);
  for (const [clock, range] of [
    ['gfx', od?.sclk],
    ['mem', od?.mclk],
  ] as const) {
    out.put(clocks.request, range?.min, 'pp_od_clk_voltage', clock, 'min');
    out.put(clocks.request, range?.max, 'pp_od_clk_voltage', clock, 'max');
  }
  out.put(clocks.overdrive, percent(uint(raw, 'pp_sclk_od')), 'pp_sclk_od', 'gfx');
  out.put(clocks.overdrive, percent(uint(raw, 'pp_mclk_od')), 'pp_mclk_od', 'mem');
}

/** The link's own clock; two stars leave the level open. */
function pcieClock({ raw, out }: Context): void {
  const levels = raw.parse('pp_dpm_pcie', parsePcieLevels);
  out.put(clocks.clock, levels?.current?.hertz, 'pp_dpm_pcie', 'pcie');
}
