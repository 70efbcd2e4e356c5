import { describe, expect, it } from 'vitest';
import { KnobMemory } from '../../../amdgpu/knobs/memory.ts';
import type { Step } from '../../../amdgpu/knobs/plan.ts';
import { type Shown, shown } from '../../../amdgpu/knobs/shown.ts';
import type { Family } from '../../../model/card.ts';
import { Judge } from './simulated.ts';

const LEVEL = 'power_dpm_force_performance_level';
const of = (family: Family, files: Readonly<Record<string, string>>): Shown => shown(family, (name) => files[name]);
const range = (min: number, max: number, mem: number): string =>
  `OD_SCLK:\n0: ${min}Mhz\n1: ${max}Mhz\nOD_MCLK:\n0: 900Mhz\n1: ${mem}Mhz\n`;

describe('what the files show', () => {
  it.each<[why: string, Family, Record<string, string>, object]>([
    [
      'all of a card without limits, which is the hardware itself',
      'mi300',
      { 'hwmon/power1_cap': '750000000\n', [LEVEL]: 'auto\n', pp_od_clk_voltage: range(500, 2100, 1300) },
      {
        settings: { power_cap: 750, gfx_clock: 2100, mem_clock: 1300, level: 'auto' },
        low: 500,
        hardware: { gfx: { min: 500, max: 2100 }, mem: { min: 900, max: 1300 } },
      },
    ],
    [
      'of a limited card nothing about the hardware',
      'mi300',
      { [LEVEL]: 'manual\n', pp_od_clk_voltage: range(500, 1500, 1300) },
      { settings: { gfx_clock: 1500, mem_clock: 1300, level: 'manual' }, hardware: {} },
    ],
    [
      'no memory limit of MI200, which has none to set',
      'mi200',
      { [LEVEL]: 'auto\n', pp_od_clk_voltage: range(500, 1700, 1600) },
      { settings: { gfx_clock: 1700, level: 'auto' } },
    ],
    [
      'the ends in the level list where the table has none',
      'mi200',
      { [LEVEL]: 'manual\n', pp_od_clk_voltage: 'GFXCLK:\n', pp_dpm_sclk: '0: 500Mhz\n1: 800Mhz *\n2: 1200Mhz\n' },
      { settings: { gfx_clock: 1200, level: 'manual' }, low: 500, clock: 800 },
    ],
    ['no cap of a secondary die', 'mi200', { 'hwmon/power1_cap': '0\n' }, { settings: {} }],
    [
      'nothing where a hung card leaves its files empty',
      'mi300',
      { 'hwmon/power1_cap': '\n', [LEVEL]: '' },
      { settings: {} },
    ],
  ])('is %s', (_why, family, files, expected) => {
    const found = of(family, files);
    expect(found).toMatchObject(expected);
    expect(found.settings).toEqual((expected as { settings: object }).settings);
  });
});

describe('the ranges of the hardware', () => {
  const limited = of('mi300', { [LEVEL]: 'manual\n', pp_od_clk_voltage: range(600, 1500, 1100) });

  it('are those seen while nothing was limited', () => {
    const memory = new KnobMemory();
    memory.see(of('mi300', { [LEVEL]: 'auto\n', pp_od_clk_voltage: range(500, 2100, 1300) }), 0);
    memory.see(limited, 1);
    expect(memory.hardware(limited)).toEqual({ gfx: { min: 500, max: 2100 }, mem: { min: 900, max: 1300 } });
  });

  it('are those of the topology for a process that came later, and no lower end, which is what somebody set', () => {
    const memory = new KnobMemory();
    memory.seeTopology(2100, 1300);
    expect(memory.hardware(limited)).toEqual({ gfx: { max: 2100 }, mem: { min: 900, max: 1300 } });
  });

  it('are not known otherwise', () => {
    const memory = new KnobMemory();
    memory.seeTopology(0, 0);
    expect(memory.hardware(limited)).toEqual({});
  });
});

describe('the limit of MI100', () => {
  const levels = (current: number, star = true): string =>
    [300, 731, 1087, 1502].map((mhz, i) => `${i}: ${mhz}Mhz ${star && mhz === current ? '*' : ''}\n`).join('');
  const card = (level: string, current: number): Shown =>
    of('mi100', { [LEVEL]: `${level}\n`, pp_dpm_sclk: levels(current) });
  const mask: Step[] = [
    { file: LEVEL, text: 'manual' },
    { file: 'pp_dpm_sclk', text: '0 1' },
  ];

  function limited(): KnobMemory {
    const memory = new KnobMemory();
    memory.see(card('auto', 1502), 0);
    memory.wrote(mask, { gfx_clock: 1000 }, card('manual', 1502), 1000);
    return memory;
  }

  it('is the level that the driver took, as long as the level is manual and the clock not above it', () => {
    const memory = limited();
    expect(memory.see(card('manual', 1502), 1001).gfx_clock).toBe(731);
    expect(memory.see(card('manual', 731), 3000).gfx_clock).toBe(731);
  });

  it.each<[why: string, Shown, number | undefined]>([
    ['the clock runs above it later', card('manual', 1502), undefined],
    ['somebody set another level', card('profile_peak', 1502), undefined],
    ['somebody set auto, which is known to be open', card('auto', 1502), 1502],
  ])('is no longer told when %s', (_why, seen, expected) => {
    const memory = limited();
    expect(memory.see(seen, 3000).gfx_clock).toBe(expected);
    expect(memory.see(card('manual', 300), 3001).gfx_clock).toBeUndefined();
  });

  it('is not told after a reset, nor of a mask that was found', () => {
    const memory = limited();
    memory.forget();
    expect(memory.see(card('manual', 300), 3000)).toEqual({ level: 'manual' });
    expect(new KnobMemory().see(card('manual', 300), 0)).toEqual({ level: 'manual' });
  });

  it('counts levels without the line of a clock between two of them', () => {
    const memory = new KnobMemory();
    const between = '0: 300Mhz\n1: 500Mhz *\n2: 731Mhz\n3: 1087Mhz\n4: 1502Mhz\n';
    memory.see(of('mi100', { [LEVEL]: 'auto\n', pp_dpm_sclk: between }), 0);
    memory.see(of('mi100', { [LEVEL]: 'auto\n', pp_dpm_sclk: between.replace('500', '412') }), 1);
    expect(memory.hardware(card('auto', 300)).levels).toEqual([300, 731, 1087, 1502]);
  });
});

it('a lower limit that we pushed down is remembered until somebody sets another', () => {
  const judge = new Judge({ model: 'mi210', cards: 1 });
  for (const [file, text] of [
    [LEVEL, 'manual'],
    ['pp_od_clk_voltage', 's 0 1000'],
    ['pp_od_clk_voltage', 'c'],
  ] as const)
    judge.write(file, text);
  judge.carryOut({ gfx_clock: 700 });
  expect(judge.sim).toMatchObject({ gfxMin: 699, gfxMax: 700 });
  judge.carryOut({ gfx_clock: 900 });
  expect(judge.sim).toMatchObject({ gfxMin: 899 });
  expect(judge.read()).toMatchObject({ gfx_low: 1000 });
  judge.write('pp_od_clk_voltage', 's 0 600');
  judge.write('pp_od_clk_voltage', 'c');
  expect(judge.read()).toMatchObject({ gfx_low: 600 });
});

it('a lower limit that another process pushed down comes back for who remembers it', () => {
  const judge = new Judge({ model: 'mi210', cards: 1 });
  judge.write(LEVEL, 'manual');
  judge.write('pp_od_clk_voltage', 's 0 1000');
  judge.write('pp_od_clk_voltage', 'c');
  judge.carryOut({ gfx_clock: 700 });
  judge.memory.forget();
  expect(judge.read()).toMatchObject({ gfx_low: 699 });
  judge.carryOut({ gfx_clock: 900, gfx_low: 1000 });
  expect(judge.sim).toMatchObject({ gfxMin: 899, gfxMax: 900 });
  expect(judge.read()).toMatchObject({ gfx_low: 1000 });
  judge.carryOut({ gfx_clock: 1700 });
  expect(judge.sim).toMatchObject({ gfxMin: 1000, gfxMax: 1700 });
});

it('a limit can be set below a lower one that was there before we were', () => {
  const judge = new Judge({ model: 'mi210', cards: 1 });
  judge.write(LEVEL, 'manual');
  judge.write('pp_od_clk_voltage', 's 0 1200');
  judge.write('pp_od_clk_voltage', 'c');
  judge.memory.seeTopology(1700, undefined);
  judge.carryOut({ gfx_clock: 900 });
  expect(judge.sim).toMatchObject({ gfxMin: 899, gfxMax: 900 });
  judge.carryOut({ gfx_clock: 1700 });
  expect(judge.sim).toMatchObject({ gfxMin: 1200, gfxMax: 1700 });
});
