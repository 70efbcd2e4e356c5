import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseLevels } from '../../../amdgpu/formats/levels.ts';
import { capturesDir } from '../../support/captures.ts';
import { skipUnless } from '../../support/skips.ts';
import { nearly, numbersIn, padding } from './arbitraries.ts';
import { expectedClocks } from './expected.ts';

const MHZ = 1e6;
const nothing = { levels: [], ambiguous: false, deepSleep: false };

describe('pp_dpm clock levels', () => {
  it('have their current one where the star is', () => {
    const read = parseLevels('0: 500Mhz *\n1: 2660Mhz \n');
    expect(read).toEqual({
      levels: [
        { label: '0', hertz: 500 * MHZ, current: true },
        { label: '1', hertz: 2660 * MHZ, current: false },
      ],
      current: { hertz: 500 * MHZ, label: '0' },
      ambiguous: false,
      deepSleep: false,
      min: 500 * MHZ,
      max: 2660 * MHZ,
    });
  });

  it('take no end from the live clock between them, even when it is below the lower one', () => {
    const read = parseLevels('0: 500Mhz\n1: 142Mhz *\n2: 2100Mhz\n');
    expect(read).toMatchObject({ current: { hertz: 142 * MHZ, label: '1' }, min: 500 * MHZ, max: 2100 * MHZ });
  });

  it('take no end from the deep-sleep line, which is the current one', () => {
    const read = parseLevels('S: 133Mhz *\n0: 500Mhz\n1: 2100Mhz\n');
    expect(read).toMatchObject({ current: { hertz: 133 * MHZ, label: 'S' }, deepSleep: true });
    expect(read).toMatchObject({ min: 500 * MHZ, max: 2100 * MHZ });
  });

  it('are read where the deep-sleep line shifts the numbers by one', () => {
    const read = parseLevels('S: 19Mhz *\n1: 500Mhz\n2: 2070Mhz\n');
    expect(read).toMatchObject({ deepSleep: true, min: 500 * MHZ, max: 2070 * MHZ });
  });

  it('do not sleep, and have no known lower end, where another line than S is starred', () => {
    const read = parseLevels('S: 500Mhz\n1: 789Mhz *\n2: 2070Mhz\n');
    expect(read).toMatchObject({ current: { hertz: 789 * MHZ, label: '1' }, deepSleep: false, max: 2070 * MHZ });
    expect(read).not.toHaveProperty('min');
    expect(parseLevels('S: 500Mhz\n1: 789Mhz *\n')).not.toHaveProperty('max');
  });

  it('take no end from a line with another letter', () => {
    const read = parseLevels('0: 500Mhz\nF: 900Mhz *\n1: 2100Mhz\n');
    expect(read).toMatchObject({ current: { hertz: 900 * MHZ, label: 'F' }, min: 500 * MHZ, max: 2100 * MHZ });
    expect(read.deepSleep).toBe(false);
  });

  it('have no current one without a star', () => {
    const read = parseLevels('0: 300Mhz \n1: 1900Mhz \n');
    expect(read).not.toHaveProperty('current');
    expect(read.ambiguous).toBe(false);
  });

  it('are ambiguous with two stars, also at the same frequency', () => {
    const read = parseLevels('0: 400Mhz \n1: 600Mhz \n2: 687Mhz *\n3: 687Mhz *\n');
    expect(read).toMatchObject({ ambiguous: true, min: 400 * MHZ, max: 687 * MHZ });
    expect(read).not.toHaveProperty('current');
  });

  it('have no settable ends where a gated domain reads 0 MHz throughout', () => {
    const read = parseLevels('0: 0Mhz *\n1: 0Mhz *\n');
    expect(read.levels).toHaveLength(2);
    expect(read).not.toHaveProperty('min');
    expect(read).not.toHaveProperty('max');
  });

  it('are none for an empty read, an empty line, and after a fatal hardware error', () => {
    for (const text of ['', '\n', 'unavailable\n', '\0\0\0']) expect(parseLevels(text)).toEqual(nothing);
  });

  it('are read without label, without blanks, in any case of the unit', () => {
    expect(parseLevels('800MHz*').current).toEqual({ hertz: 800 * MHZ, label: '' });
    expect(parseLevels('0:800mhz*').current).toEqual({ hertz: 800 * MHZ, label: '0' });
    expect(parseLevels('800MHz*')).not.toHaveProperty('min');
  });

  it('are not taken from lines in another unit or with more on them', () => {
    const text =
      '0: 5Ghz\n1: 5Khz *\n2: 750mV\n0: 2.5GT/s, x1 310Mhz *\n1: 300MHz 750mV\n2: -3Mhz\n3: 99999999999Mhz\n4: 4294967296Mhz\n';
    expect(parseLevels(text)).toEqual(nothing);
  });

  it('come back exactly from any list the driver can print', () => {
    const level = fc.record({ mhz: fc.integer({ min: 0, max: 6000 }), star: fc.boolean() });
    const list = fc.array(level, { minLength: 1, maxLength: 16 });
    fc.assert(
      fc.property(list, fc.constantFrom('', ' '), fc.boolean(), padding, (levels, trail, sleeps, rest) => {
        const rows = levels.map((one, index) => `${index}: ${one.mhz}Mhz${one.star && !sleeps ? ' *' : trail}`);
        const read = parseLevels(`${[...(sleeps ? ['S: 77Mhz *'] : []), ...rows].join('\n')}\n${rest}`);
        const numbered = read.levels.filter((one) => one.label !== 'S');
        expect(numbered.map((one) => one.hertz)).toEqual(levels.map((one) => one.mhz * MHZ));
        expect(numbered.map((one) => one.current)).toEqual(levels.map((one) => one.star && !sleeps));
        expect(read.deepSleep).toBe(sleeps);
        const ends = [levels[0]!.mhz * MHZ, levels.at(-1)!.mhz * MHZ];
        expect(read.max ?? 0).toBe(Math.max(...ends));
        if (read.max !== undefined) expect(read.min).toBe(Math.min(...ends));
        const stars = levels.filter((one) => one.star);
        expect(read.ambiguous).toBe(!sleeps && stars.length > 1);
        expect(read.current?.hertz).toBe(sleeps ? 77 * MHZ : stars.length === 1 ? stars[0]!.mhz * MHZ : undefined);
      }),
    );
  });

  it('never hold a number that does not stand in the text', () => {
    const noise = nearly('0: 500Mhz', '1: 142Mhz *', 'S: 30Mhz *', '2: ', 'Mhz', 'mhz *', 'GHz', 'unavailable', '\n');
    fc.assert(
      fc.property(noise, (text) => {
        const read = parseLevels(text);
        const there = numbersIn(text);
        for (const level of read.levels) expect(there).toContain(String(level.hertz / MHZ));
        const hertz = read.levels.map((level) => level.hertz);
        for (const end of [read.min, read.max, read.current?.hertz])
          if (end !== undefined) expect(hertz).toContain(end);
        if (read.min !== undefined) expect(read.min).toBeLessThanOrEqual(read.max!);
        if (read.deepSleep) expect(read.current?.label).toBe('S');
        if (read.ambiguous) expect(read.current).toBeUndefined();
      }),
    );
  });
});

describe('pp_dpm clock levels of real machines', () => {
  it('read as noted beside every capture', () => {
    const root = capturesDir();
    skipUnless(root, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)');
    const cases = expectedClocks(root).filter((one) => one.domain !== 'pcie');
    expect(cases.length).toBeGreaterThan(40);
    for (const { file, expected } of cases) {
      const read = parseLevels(readFileSync(file, 'latin1'));
      const { current, levels } = read;
      expect(
        {
          levels: levels.map((level) => ({ level: level.label, mhz: level.hertz / MHZ, current: level.current })),
          current_level: current?.label ?? null,
          current_mhz: current ? current.hertz / MHZ : null,
          ambiguous: read.ambiguous,
          deep_sleep: read.deepSleep,
        },
        file,
      ).toEqual(expected);
    }
  });

  it('give the settable range of MI300X from each of its shapes', () => {
    const root = capturesDir();
    skipUnless(root, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)');
    for (const card of [1, 2, 3, 4]) {
      const device = join(root, `mi300x-x4-spx-rocm6.0/sys/class/drm/card${card}/device`);
      const sclk = parseLevels(readFileSync(join(device, 'pp_dpm_sclk'), 'latin1'));
      const socclk = parseLevels(readFileSync(join(device, 'pp_dpm_socclk'), 'latin1'));
      expect(sclk).toMatchObject({ min: 500 * MHZ, max: 2100 * MHZ });
      expect(socclk).toMatchObject({ min: 889 * MHZ, max: 1143 * MHZ, deepSleep: true });
    }
  });
});
