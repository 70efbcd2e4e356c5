import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  PERF_LEVELS,
  POWER_STATES,
  parsePerfLevel,
  parsePolicy,
  parsePowerState,
  parseProfileMode,
} from '../../../amdgpu/formats/perf.ts';
import { capturesDir } from '../../support/captures.ts';
import { skipUnless } from '../../support/skips.ts';
import { nearly, numbersIn, padding } from './arbitraries.ts';
import { capturedFiles } from './expected.ts';

describe('performance level and power state', () => {
  it('are the words the driver knows, and no others', () => {
    for (const level of PERF_LEVELS) expect(parsePerfLevel(`${level}\n`)).toBe(level);
    for (const state of POWER_STATES) expect(parsePowerState(`${state}\n\0`)).toBe(state);
    for (const text of ['', '\n', 'unknown\n', 'auto_x\n', 'AUTO\n', 'manual auto\n']) {
      expect(parsePerfLevel(text)).toBeUndefined();
      expect(parsePowerState(text)).toBeUndefined();
    }
  });

  it('stand in the text from which they are read', () => {
    fc.assert(
      fc.property(nearly('auto', 'manual', 'performance', 'battery', '\n'), (text) => {
        for (const word of [parsePerfLevel(text), parsePowerState(text)])
          if (word !== undefined) expect(text.trimStart().startsWith(word)).toBe(true);
      }),
    );
  });
});

describe('pp_power_profile_mode', () => {
  it('finds the star at the name, apart from it, and before a colon', () => {
    const shapes = [
      '  0 BOOTUP_DEFAULT :   70  60\n  1 3D_FULL_SCREEN*:   70  60\n',
      '  0   BOOTUP_DEFAULT:   -   -\n  1 3D_FULL_SCREEN *:   0  100\n',
      ' 0 BOOTUP_DEFAULT\n 1 3D_FULL_SCREEN*\n',
      ' 0 BOOTUP_DEFAULT\n 1 3D_FULL_SCREEN *\n',
    ];
    for (const text of shapes)
      expect(parseProfileMode(text), text).toEqual({
        choices: [
          { number: 0, name: 'BOOTUP_DEFAULT', current: false },
          { number: 1, name: '3D_FULL_SCREEN', current: true },
        ],
        current: '3D_FULL_SCREEN',
      });
  });

  it('reads profiles side by side in the heading', () => {
    const text =
      '                              0 BOOTUP_DEFAULT  1 3D_FULL_SCREEN* 5 COMPUTE         \n' +
      'FPS                                   0               0                0\n';
    expect(parseProfileMode(text)).toMatchObject({
      choices: [{ number: 0 }, { number: 1, current: true }, { number: 5, name: 'COMPUTE' }],
      current: '3D_FULL_SCREEN',
    });
  });

  it('takes neither headings nor parameter lines for profiles', () => {
    const text =
      'PROFILE_INDEX(NAME) CLOCK_TYPE(NAME) FPS\n 5        COMPUTE*:\n                    0(       GFXCLK)       0       5\n';
    expect(parseProfileMode(text)).toEqual({
      choices: [{ number: 5, name: 'COMPUTE', current: true }],
      current: 'COMPUTE',
    });
  });

  it('takes nothing behind the colon for a profile', () => {
    expect(parseProfileMode(' 0 BOOTUP_DEFAULT*: 70 AUTO\n')?.choices).toHaveLength(1);
    expect(parseProfileMode(' 0 BOOTUP_DEFAULT *: 70 AUTO\n')?.choices).toHaveLength(1);
  });

  it('has no current one with no star and with two', () => {
    expect(parseProfileMode(' 1 VIDEO \n 2 VR \n')).not.toHaveProperty('current');
    expect(parseProfileMode(' 1 VIDEO*:\n 2 VR*:\n')).not.toHaveProperty('current');
  });

  it('is absent when nothing can be read', () => {
    for (const text of ['', '\n', 'NUM MODE_NAME\n', '7\n', '7 70 60\n', '1 lower\n'])
      expect(parseProfileMode(text)).toBeUndefined();
  });

  it('comes back exactly from any list', () => {
    const name = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,15}$/);
    const names = fc.uniqueArray(name, { minLength: 1, maxLength: 9 });
    const mark = fc.constantFrom(['*:', ' :'], [' *:', ':'], ['*', ' '], [' *', '']);
    fc.assert(
      fc.property(names, fc.nat(8), mark, padding, (all, pick, [on, off], rest) => {
        const active = all[pick % all.length]!;
        const rows = all.map((one, index) => ` ${index} ${one.padStart(14)}${one === active ? on : off}`);
        const read = parseProfileMode(`NUM MODE_NAME\n${rows.join('\n')}\n${rest}`);
        expect(read?.choices.map((choice) => choice.name)).toEqual(all);
        expect(read?.choices.map((choice) => choice.number)).toEqual(all.map((_, index) => index));
        expect(read?.current).toBe(active);
      }),
    );
  });

  it('holds only numbers and names that stand in the text', () => {
    fc.assert(
      fc.property(nearly(' 0 BOOTUP_DEFAULT*:', '\n 1 VIDEO ', ' *', ' 70', '0(  GFXCLK)', '\n'), (text) => {
        for (const { number, name } of parseProfileMode(text)?.choices ?? []) {
          expect(numbersIn(text)).toContain(String(number));
          expect(text).toContain(name);
        }
      }),
    );
  });

  it('reads every capture', () => {
    const root = capturesDir();
    skipUnless(root, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)');
    const active: Record<string, string | undefined> = {
      'apu-vangogh-steamdeck': undefined,
      'radeon-rx5700xt': 'CUSTOM',
      'radeon-rx580': '3D_FULL_SCREEN',
      'radeon-rx6600xt-gfxoff': 'BOOTUP_DEFAULT',
      'radeon-rx6900xt': 'BOOTUP_DEFAULT',
      'radeon-rx7800xt': 'COMPUTE',
      'radeon-rx9070xt-deepsleep': 'BOOTUP_DEFAULT',
      'radeon-vega56': 'BOOTUP_DEFAULT',
      'radeon-vega56-manual': '3D_FULL_SCREEN',
    };
    for (const [capture, name] of Object.entries(active)) {
      const [file] = capturedFiles(join(root, capture), 'pp_power_profile_mode');
      const read = parseProfileMode(readFileSync(file!, 'latin1'));
      expect(read?.current, capture).toBe(name);
      expect(read?.choices.length, capture).toBeGreaterThanOrEqual(7);
      expect(read?.choices.at(-1)?.name, capture).toMatch(/^(CUSTOM|WINDOW_3D|UNCAPPED)$/);
    }
  });
});

describe('pm_policy', () => {
  it('lists numbers and names, the star marking the one in force', () => {
    expect(parsePolicy('0 : soc_pstate_default*\n1 : soc_pstate_0\n2 : soc_pstate_1\n')).toEqual([
      { number: 0, name: 'soc_pstate_default', current: true },
      { number: 1, name: 'soc_pstate_0', current: false },
      { number: 2, name: 'soc_pstate_1', current: false },
    ]);
    expect(parsePolicy('1 : plpd_default *\n\0\0')).toEqual([{ number: 1, name: 'plpd_default', current: true }]);
  });

  it('is absent when nothing can be read', () => {
    for (const text of ['', '\n', 'soc_pstate\n', ': x\n', '0 soc_pstate\n']) expect(parsePolicy(text)).toBeUndefined();
  });

  it('comes back exactly, and holds only what stands in the text', () => {
    const rows = fc.array(fc.tuple(fc.nat(99), fc.stringMatching(/^[a-z_0-9]{1,20}$/), fc.boolean()), { minLength: 1 });
    fc.assert(
      fc.property(rows, padding, (list, rest) => {
        const text = list.map(([number, name, current]) => `${number} : ${name}${current ? '*' : ''}\n`).join('');
        expect(parsePolicy(text + rest)).toEqual(list.map(([number, name, current]) => ({ number, name, current })));
      }),
    );
    fc.assert(
      fc.property(nearly('0 : plpd_default*\n', '1 : ', 'plpd', '*\n'), (text) => {
        for (const { number, name } of parsePolicy(text) ?? []) {
          expect(numbersIn(text)).toContain(String(number));
          expect(text).toContain(name);
        }
      }),
    );
  });
});
