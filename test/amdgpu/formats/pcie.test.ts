import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAer, parseLinkSpeed, parseLinkWidth, parsePcieLevels } from '../../../amdgpu/formats/pcie.ts';
import { capturesDir } from '../../support/captures.ts';
import { skipUnless } from '../../support/skips.ts';
import { nearly, numbersIn, padding, u64 } from './arbitraries.ts';
import { capturedFiles, expectedClocks } from './expected.ts';

const RATES = [2.5, 5, 8, 16, 32, 64];
const WIDTHS = [1, 2, 4, 8, 12, 16, 32];

describe('PCIe link state', () => {
  it('is in transfers per second and lanes', () => {
    expect(parseLinkSpeed('16.0 GT/s PCIe\n')).toBe(16e9);
    expect(parseLinkSpeed('2.5 GT/s PCIe\n\0\0')).toBe(2.5e9);
    expect(parseLinkSpeed('8 GT/s\n')).toBe(8e9);
    expect(parseLinkWidth('16\n')).toBe(16);
  });

  it('is absent for a link that says nothing', () => {
    for (const text of [
      '',
      '\n',
      'Unknown\n',
      'Unknown speed\n',
      '0.0 GT/s PCIe\n',
      '16.0\n',
      '16.0 GB/s\n',
      '2.55 GT/s\n',
    ])
      expect(parseLinkSpeed(text)).toBeUndefined();
    for (const text of ['', '\n', '0\n', '63\n', '255\n', 'x16\n', 'Unknown\n'])
      expect(parseLinkWidth(text)).toBeUndefined();
  });

  it('comes back exactly for every rate and width, and only for those', () => {
    fc.assert(
      fc.property(fc.constantFrom(...RATES), fc.constantFrom(...WIDTHS), padding, (rate, width, rest) => {
        expect(parseLinkSpeed(`${rate.toFixed(1)} GT/s PCIe\n${rest}`)).toBe(rate * 1e9);
        expect(parseLinkWidth(`${width}\n${rest}`)).toBe(width);
      }),
    );
    fc.assert(
      fc.property(nearly('16.0 GT/s PCIe', 'GT/s', '8.0', 'Unknown', '16', 'x8'), (text) => {
        const speed = parseLinkSpeed(text);
        if (speed !== undefined) expect(numbersIn(text)).toContain(String(Math.floor(speed / 1e9)));
        const width = parseLinkWidth(text);
        if (width !== undefined) expect(WIDTHS).toContain(width);
      }),
    );
  });
});

describe('pp_dpm_pcie', () => {
  it('lists rate, lanes and, where printed, the link clock', () => {
    const read = parsePcieLevels('0: 2.5GT/s, x1 310Mhz \n1: 16.0GT/s, x16 619Mhz *\n');
    expect(read.levels).toEqual([
      { label: '0', speed: 2.5e9, width: 1, hertz: 310e6, current: false },
      { label: '1', speed: 16e9, width: 16, hertz: 619e6, current: true },
    ]);
    expect(read.current).toBe(read.levels[1]);
    expect(parsePcieLevels('1: 8.0GT/s, x16 *\n').current).toEqual({
      label: '1',
      speed: 8e9,
      width: 16,
      current: true,
    });
  });

  it('is ambiguous with two stars', () => {
    const read = parsePcieLevels('0: 8.0GT/s, x16 *\n1: 8.0GT/s, x16 *\n');
    expect(read.ambiguous).toBe(true);
    expect(read).not.toHaveProperty('current');
  });

  it('is empty for an empty line', () => {
    expect(parsePcieLevels('\n')).toEqual({ levels: [], ambiguous: false });
  });

  it('never holds a number that does not stand in the text', () => {
    const noise = nearly('0: 2.5GT/s, x1 310Mhz ', '1: 8.0GT/s, x16 *', '\n2: ', 'GT/s, x', '16', ' 619Mhz', ' *\n');
    fc.assert(
      fc.property(noise, (text) => {
        const there = numbersIn(text);
        for (const { speed, width, hertz } of parsePcieLevels(text).levels) {
          expect(there).toContain(String(Math.floor(speed / 1e9)));
          expect(there).toContain(String(width));
          if (hertz !== undefined) expect(there).toContain(String(hertz / 1e6));
        }
      }),
    );
  });

  it('reads as noted beside every capture', () => {
    const root = capturesDir();
    skipUnless(root, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)');
    const cases = expectedClocks(root).filter((one) => one.domain === 'pcie');
    expect(cases.length).toBeGreaterThan(6);
    for (const { file, expected } of cases) {
      const read = parsePcieLevels(readFileSync(file, 'latin1'));
      const levels = read.levels.map(({ label, speed, width, hertz, current }) => {
        return { level: label, gts: speed / 1e9, width, lclk_mhz: hertz === undefined ? null : hertz / 1e6, current };
      });
      expect(levels, file).toEqual(expected.levels);
      expect(read.current?.label ?? null, file).toBe(expected.current_level);
      expect(read.ambiguous, file).toBe(expected.ambiguous);
    }
  });
});

describe('PCIe error counters', () => {
  it('are given by name, without the total that repeats them', () => {
    const counts = parseAer('RxErr 3\nBadTLP 0\nCorrIntErr 18446744073709551615\nTOTAL_ERR_COR 4\n');
    expect(counts).toEqual(
      new Map([
        ['RxErr', 3n],
        ['BadTLP', 0n],
        ['CorrIntErr', 2n ** 64n - 1n],
      ]),
    );
  });

  it('keep the two-word names of older kernels', () => {
    expect(parseAer('Receiver Error 2\n')).toEqual(new Map([['Receiver Error', 2n]]));
  });

  it('are absent when nothing can be read', () => {
    for (const text of ['', '\n', 'RxErr\n', 'RxErr x\n', '5\n', ' 5\n', 'TOTAL_ERR_COR 4\n'])
      expect(parseAer(text)).toBeUndefined();
  });

  it('come back exactly, and hold no number that does not stand in the text', () => {
    const name = fc.stringMatching(/^[A-Za-z]{1,16}$/);
    fc.assert(
      fc.property(fc.dictionary(name, u64, { minKeys: 1, noNullPrototype: true }), padding, (counts, rest) => {
        const text = Object.entries(counts).map(([key, value]) => `${key} ${value}\n`);
        expect(parseAer(`${text.join('')}TOTAL_ERR_FATAL 99\n${rest}`)).toEqual(new Map(Object.entries(counts)));
      }),
    );
    fc.assert(
      fc.property(nearly('RxErr ', 'BadTLP 0\n', 'TOTAL_ERR_COR ', '7'), (text) => {
        for (const count of parseAer(text)?.values() ?? []) expect(numbersIn(text)).toContain(String(count));
      }),
    );
  });

  it('are read from every capture, total aside', () => {
    const root = capturesDir();
    skipUnless(root, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)');
    const files = capturedFiles(root, 'aer_dev_correctable', 'aer_dev_nonfatal', 'aer_dev_fatal');
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const counts = parseAer(readFileSync(file, 'latin1'));
      expect(counts?.size, file).toBeGreaterThanOrEqual(basename(file) === 'aer_dev_correctable' ? 8 : 16);
      expect([...(counts?.keys() ?? [])].join(' '), file).not.toContain('TOTAL');
    }
  });
});
