import { describe, expect, it } from 'vitest';
import { levelNumbers } from '../../../sim/driver/clock-levels.ts';
import { hasLevel, type Level } from '../../../sim/driver/performance-level.ts';
import { MODELS } from '../../../sim/models.ts';
import { idleNode, read, write } from './support.ts';

const LEVEL = 'power_dpm_force_performance_level';
const OD = 'pp_od_clk_voltage';

describe('level numbers', () => {
  it.each([
    ['0 1', [0, 1]],
    ['0x1 010\n', [1, 8]],
    ['', []],
    ['\n', []],
    ['3  5', [3]], // the list ends at the empty word
    [' 5', []],
    ['31', [31]],
    ['32', undefined],
    ['-1', undefined],
    ['1,2', undefined],
  ])('of %j are %j', (text, levels) => {
    expect(levelNumbers(text)).toEqual(levels);
  });
});

describe('MI100', () => {
  it('takes the lowest and the highest level of a mask from its list', () => {
    const node = idleNode({ model: 'mi100', cards: 1 });
    write(node, LEVEL, 'manual');
    write(node, 'pp_dpm_sclk', '5 2 3');
    expect(node.gpus[0]?.settings).toMatchObject({ gfxMin: 731, gfxMax: 1087 });
  });

  it.each(['low', 'high', 'profile_standard'] as Level[])(
    'cannot be forced to %s by firmware 54.18 to 54.26',
    (level) => {
      const chip = (smc: number) => ({ ...MODELS.mi100, firmware: { smc } });
      expect([0x361100, 0x361200, 0x361a00, 0x361b00].map((smc) => hasLevel(chip(smc), level))).toEqual([
        true,
        false,
        false,
        true,
      ]);
      expect(hasLevel(chip(0x361200), 'manual')).toBe(true);
    },
  );
});

describe('staged values', () => {
  it('persist over other levels until committed', () => {
    const node = idleNode({ model: 'mi210', cards: 1 });
    for (const [file, text] of [
      [LEVEL, 'manual'],
      [OD, 's 1 1200'],
      [LEVEL, 'perf_determinism'],
      [OD, 'c'],
    ] as const)
      expect(write(node, file, text)).toBe('ok');
    expect(node.gpus[0]?.settings).toMatchObject({ gfxMin: 500, gfxMax: 1200 });
    expect(node.gpus[0]?.settings.staged).toBeUndefined();
  });

  it.each([
    [OD, 'r'],
    [LEVEL, 'auto'],
  ])('are forgotten by %s: %s', (file, text) => {
    const node = idleNode({ model: 'mi300x', cards: 1 });
    write(node, LEVEL, 'manual');
    write(node, OD, 's 1 1200');
    write(node, OD, 'm 1 900');
    write(node, file, text);
    write(node, LEVEL, 'manual');
    expect(write(node, OD, 'c')).toBe('ok');
    expect(node.gpus[0]?.settings).toMatchObject({ gfxMin: 500, gfxMax: 2100, memMax: 1300 });
  });

  it('stay as they were when one of them is refused at the commit', () => {
    const node = idleNode({ model: 'mi300x', cards: 1 });
    write(node, LEVEL, 'manual');
    write(node, OD, 's 1 1200');
    write(node, OD, 'm 1 900');
    expect(write(node, OD, 'c')).toBe('EINVAL'); // the memory minimum is 900
    expect(read(node, OD)).toContain('1: 2100Mhz');
    expect(write(node, OD, 'm 1 1100')).toBe('ok');
    expect(write(node, OD, 'c')).toBe('ok');
    expect(node.gpus[0]?.settings).toMatchObject({ gfxMax: 1200, memMax: 1100 });
  });
});

describe('performance levels', () => {
  it.each([
    ['low', 500, 500],
    ['profile_min_sclk', 500, 500],
    ['profile_standard', 1220, 1220],
    ['high', 1700, 1700],
    ['profile_peak', 1700, 1700],
    ['profile_min_mclk', 500, 1700],
  ])('pin the graphics clock of MI200: %s', (level, gfxMin, gfxMax) => {
    const node = idleNode({ model: 'mi210', cards: 1 });
    expect(write(node, LEVEL, level)).toBe('ok');
    expect(node.gpus[0]?.settings).toMatchObject({ gfxMin, gfxMax });
    expect(write(node, LEVEL, 'auto')).toBe('ok');
    expect(node.gpus[0]?.settings).toMatchObject({ gfxMin: 500, gfxMax: 1700 });
  });

  it('keep what was set when manual follows, and remember the level before a profile', () => {
    const node = idleNode({ model: 'mi210', cards: 1 });
    write(node, LEVEL, 'profile_peak');
    write(node, LEVEL, 'profile_min_sclk');
    write(node, LEVEL, 'manual');
    expect(node.gpus[0]?.settings).toMatchObject({ level: 'manual', gfxMin: 500, gfxMax: 500 });
    write(node, LEVEL, 'profile_peak');
    write(node, LEVEL, 'profile_standard');
    expect(write(node, LEVEL, 'profile_exit')).toBe('ok');
    expect(node.gpus[0]?.settings.level).toBe('manual');
    expect(write(node, LEVEL, 'profile_exit')).toBe('EINVAL');
  });
});
