import { describe, expect, it } from 'vitest';
import { planWrites, type Ranges } from '../../../amdgpu/knobs/plan.ts';
import type { Family } from '../../../model/card.ts';
import type { Settings } from '../../../model/claim.ts';

const LEVEL = 'power_dpm_force_performance_level';
const WORDS: Record<string, string> = { 'hwmon/power1_cap': 'cap', [LEVEL]: 'level', pp_od_clk_voltage: 'od' };

const MI100: Ranges = { cap: { floor: 116, max: 290 }, gfx: { min: 300, max: 1502 }, levels: [300, 731, 1087, 1502] };
const MI210: Ranges = { cap: { floor: 120, max: 300 }, gfx: { min: 500, max: 1700 } };
const MI300X: Ranges = { cap: { floor: 300, max: 750 }, gfx: { min: 500, max: 2100 }, mem: { min: 900, max: 1300 } };
const OPEN_210: Settings = { power_cap: 300, gfx_clock: 1700, level: 'auto' };
const OPEN_300: Settings = { power_cap: 750, gfx_clock: 2100, mem_clock: 1300, level: 'auto' };

/** `cap 250000000`, `level manual`, `od c`; or the word for why not. */
function plan(family: Family, from: Settings, to: Settings, ranges: Ranges): string[] | string {
  const steps = planWrites(family, from, to, ranges);
  if ('impossible' in steps) return steps.impossible;
  return steps.map(({ file, text }) => `${WORDS[file] ?? 'mask'} ${text}`);
}

describe('a plan', () => {
  it.each<[why: string, Family, Settings, Settings, Ranges, string[]]>([
    ['a cap alone touches no level', 'mi300', OPEN_300, { power_cap: 525 }, MI300X, ['cap 525000000']],
    ['a cap that stands already is not written', 'mi300', OPEN_300, { power_cap: 750 }, MI300X, []],
    [
      'both ends are staged, the lower first, and committed',
      'mi200',
      OPEN_210,
      { gfx_clock: 1200 },
      MI210,
      ['level manual', 'od s 0 500', 'od s 1 1200', 'od c'],
    ],
    [
      'a lower end in the way is pushed down, 1 MHz below',
      'mi200',
      { ...OPEN_210, gfx_low: 1500, level: 'manual' },
      { gfx_clock: 1200 },
      MI210,
      ['od s 0 1199', 'od s 1 1200', 'od c'],
    ],
    [
      'what was pushed down comes back with the upper end',
      'mi200',
      { ...OPEN_210, gfx_clock: 1200, gfx_low: 1500, level: 'manual' },
      { gfx_clock: 1700 },
      MI210,
      ['od s 0 1500', 'od s 1 1700', 'od c'],
    ],
    [
      'also where only who asks remembers it, and the upper end is there already',
      'mi200',
      { ...OPEN_210, gfx_low: 1199, level: 'manual' },
      { gfx_clock: 1700, gfx_low: 1500 },
      MI210,
      ['od s 0 1500', 'od s 1 1700', 'od c'],
    ],
    [
      'the memory clock is staged with the graphics range that is in force',
      'mi300',
      OPEN_300,
      { mem_clock: 1100 },
      MI300X,
      ['level manual', 'od s 0 500', 'od s 1 2100', 'od m 1 1100', 'od c'],
    ],
    [
      'what is tightened comes before the cap: the draw has fallen when it arrives',
      'mi200',
      OPEN_210,
      { gfx_clock: 1200, power_cap: 200 },
      MI210,
      ['level manual', 'od s 0 500', 'od s 1 1200', 'od c', 'cap 200000000'],
    ],
    [
      'what is loosened comes after the cap: there is room when the clocks rise',
      'mi200',
      { power_cap: 200, gfx_clock: 1200, level: 'manual' },
      OPEN_210,
      MI210,
      ['cap 300000000', 'level auto'],
    ],
    [
      'all is given back by auto alone',
      'mi300',
      { ...OPEN_300, gfx_clock: 1500, mem_clock: 1100, level: 'manual' },
      { gfx_clock: 2100, mem_clock: 1300, level: 'auto' },
      MI300X,
      ['level auto'],
    ],
    [
      'auto would take the memory limit too, so the card stays in manual',
      'mi300',
      { ...OPEN_300, gfx_clock: 1500, mem_clock: 1100, level: 'manual' },
      { gfx_clock: 2100, level: 'auto' },
      MI300X,
      ['od s 0 500', 'od s 1 2100', 'od m 1 1100', 'od c'],
    ],
    [
      'auto is not held up by a range that nobody has seen',
      'mi200',
      { ...OPEN_210, gfx_clock: 1200, level: 'manual' },
      { gfx_clock: 1700, level: 'auto' },
      {},
      ['level auto'],
    ],
    [
      'a ceiling of determinism is lowered within it',
      'mi200',
      { ...OPEN_210, gfx_clock: 1400, level: 'perf_determinism' },
      { gfx_clock: 1000 },
      MI210,
      ['od s 1 1000', 'od c'],
    ],
    [
      'a memory limit needs manual, where the ceiling of determinism must be set anew',
      'mi300',
      { ...OPEN_300, gfx_clock: 1400, level: 'perf_determinism' },
      { mem_clock: 1100 },
      MI300X,
      ['level manual', 'od s 0 500', 'od s 1 1400', 'od m 1 1100', 'od c'],
    ],
    [
      'determinism is given back with its ceiling',
      'mi300',
      { ...OPEN_300, gfx_clock: 1400, mem_clock: 1100, level: 'manual' },
      { gfx_clock: 1400, mem_clock: 1300, level: 'perf_determinism' },
      MI300X,
      ['od s 0 500', 'od s 1 1400', 'od m 1 1300', 'od c', 'level perf_determinism', 'od s 1 1400', 'od c'],
    ],
    [
      'a level that pins gives back by its word',
      'mi200',
      { ...OPEN_210, gfx_clock: 1200, level: 'manual' },
      { gfx_clock: 1700, level: 'high' },
      MI210,
      ['level high'],
    ],
    [
      'the lower end of a pin is not kept',
      'mi200',
      { ...OPEN_210, gfx_low: 1700, level: 'high' },
      { gfx_clock: 1200 },
      MI210,
      ['level manual', 'od s 0 500', 'od s 1 1200', 'od c'],
    ],
    [
      'MI100 takes a mask, rounded down to a level',
      'mi100',
      { power_cap: 290, gfx_clock: 1502, level: 'auto' },
      { gfx_clock: 1200 },
      MI100,
      ['level manual', 'mask 0 1 2'],
    ],
    [
      'MI100 gives an unreadable mask back to auto',
      'mi100',
      { power_cap: 290, level: 'manual' },
      { gfx_clock: 1502, level: 'auto' },
      MI100,
      ['level auto'],
    ],
    [
      'other parts have a cap',
      'mi50',
      { power_cap: 225 },
      { power_cap: 200 },
      { cap: { floor: 90, max: 225 } },
      ['cap 200000000'],
    ],
  ])('%s', (_why, family, from, to, ranges, expected) => {
    expect(plan(family, from, to, ranges)).toEqual(expected);
  });

  it.each<[why: string, Family, Settings, Settings, Ranges, string]>([
    ['1 W, which the driver would take', 'mi300', OPEN_300, { power_cap: 1 }, MI300X, 'under_floor'],
    ['a cap under our floor', 'mi300', OPEN_300, { power_cap: 299 }, MI300X, 'under_floor'],
    ['a cap above the range', 'mi300', OPEN_300, { power_cap: 751 }, MI300X, 'over_range'],
    ['half a watt', 'mi300', OPEN_300, { power_cap: 500.5 }, MI300X, 'not_whole'],
    ['no number', 'mi300', OPEN_300, { power_cap: Number.NaN }, MI300X, 'not_whole'],
    ['a cap without a known range', 'mi300', OPEN_300, { power_cap: 500 }, {}, 'range_unknown'],
    ['a clock at the lowest end, where both would meet', 'mi200', OPEN_210, { gfx_clock: 500 }, MI210, 'under_floor'],
    ['a clock above the range', 'mi200', OPEN_210, { gfx_clock: 1701 }, MI210, 'over_range'],
    ['a memory clock at its lowest', 'mi300', OPEN_300, { mem_clock: 900 }, MI300X, 'under_floor'],
    ['a memory clock on MI200', 'mi200', OPEN_210, { mem_clock: 1200 }, MI210, 'unsupported'],
    ['a memory clock on MI100', 'mi100', { level: 'auto' }, { mem_clock: 1000 }, MI100, 'unsupported'],
    ['a clock of a part that has none', 'navi3', { level: 'auto' }, { gfx_clock: 1000 }, {}, 'unsupported'],
    [
      'a clock under the lowest level',
      'mi100',
      { level: 'auto', gfx_clock: 1502 },
      { gfx_clock: 200 },
      MI100,
      'under_floor',
    ],
    ['a level that could not be read', 'mi200', { gfx_clock: 1700 }, { gfx_clock: 1200 }, MI210, 'level_unknown'],
    [
      'a word that MI300 refuses after doing harm',
      'mi300',
      OPEN_300,
      { level: 'profile_peak' },
      MI300X,
      'level_unsupported',
    ],
    [
      'a word that leaves nothing to come back to',
      'mi200',
      OPEN_210,
      { level: 'profile_exit' },
      MI210,
      'level_unsupported',
    ],
    ['determinism on MI100', 'mi100', { level: 'auto' }, { level: 'perf_determinism' }, MI100, 'level_unsupported'],
    [
      'a limit beside a level that pins',
      'mi200',
      { ...OPEN_210, level: 'high' },
      { gfx_clock: 1200, level: 'high' },
      MI210,
      'level_fixes_clock',
    ],
  ])('does not exist for %s', (_why, family, from, to, ranges, expected) => {
    expect(plan(family, from, to, ranges)).toBe(expected);
  });
});
