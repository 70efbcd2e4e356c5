import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseNpmStatus, parseWatts } from '../../../amdgpu/formats/board.ts';
import { parseCarveout, parseCarveoutOptions } from '../../../amdgpu/formats/carveout.ts';
import { parseIsolation } from '../../../amdgpu/formats/isolation.ts';
import { capturesDir } from '../../support/captures.ts';
import { skipUnless } from '../../support/skips.ts';
import { nearly, numbersIn, padding } from './arbitraries.ts';
import { capturedFiles } from './expected.ts';

describe('enforce_isolation', () => {
  it('is one number a partition', () => {
    expect(parseIsolation('0\n')).toEqual([0]);
    expect(parseIsolation('0 1 2 3 0 0 0 0\n\0')).toEqual([0, 1, 2, 3, 0, 0, 0, 0]);
  });

  it('is absent as a whole when one part is no number, so that no partition shifts', () => {
    for (const text of ['', '\n', '0 x 1\n', '-1\n', '0,1\n']) expect(parseIsolation(text)).toBeUndefined();
  });

  it('comes back exactly, and holds no number that does not stand in the text', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { minLength: 1, maxLength: 8 }), padding, (modes, rest) => {
        expect(parseIsolation(`${modes.join(' ')}\n${rest}`)).toEqual(modes);
      }),
    );
    fc.assert(
      fc.property(nearly('0 ', '1 ', '\n', 'x'), (text) => {
        for (const mode of parseIsolation(text) ?? []) expect(numbersIn(text)).toContain(String(mode));
      }),
    );
  });

  it('is read from the captures', () => {
    const root = capturesDir();
    skipUnless(root, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)');
    const files = capturedFiles(root, 'enforce_isolation');
    expect(files.map((file) => parseIsolation(readFileSync(file, 'latin1')))).toEqual([[0]]);
  });
});

describe('board files', () => {
  it('are whole watts, and a state', () => {
    expect(parseWatts('6800\n')).toBe(6800);
    expect(parseNpmStatus('enabled\n')).toBe(true);
    expect(parseNpmStatus('disabled\n\0')).toBe(false);
  });

  it('are absent when they say anything else', () => {
    for (const text of ['', '\n', 'N/A\n', '6800 W\n', '6.8\n', 'Enabled!\n', 'not enabled\n']) {
      expect(parseWatts(text)).toBeUndefined();
      expect(parseNpmStatus(text)).toBeUndefined();
    }
  });

  it('come back exactly, and hold nothing that does not stand in the text', () => {
    fc.assert(
      fc.property(fc.nat(), padding, (watts, rest) => {
        expect(parseWatts(`${watts}\n${rest}`)).toBe(watts);
      }),
    );
    fc.assert(
      fc.property(nearly('enabled', 'disabled', '\n', '700'), (text) => {
        const watts = parseWatts(text);
        if (watts !== undefined) expect(numbersIn(text)).toContain(String(watts));
        const state = parseNpmStatus(text);
        if (state !== undefined) expect(text.trimStart().startsWith(state ? 'enabled' : 'disabled')).toBe(true);
      }),
    );
  });
});

describe('memory carve-out of APUs', () => {
  it('is an index into options with a size and perhaps a name', () => {
    expect(parseCarveout('7\n')).toBe(7);
    expect(parseCarveoutOptions('0: Minimum (512 MB)\n1:  (1 GB)\n9: High (32 GB)\n')).toEqual([
      { index: 0, name: 'Minimum', bytes: 512 * 2 ** 20 },
      { index: 1, name: '', bytes: 2 ** 30 },
      { index: 9, name: 'High', bytes: 32 * 2 ** 30 },
    ]);
  });

  it('is absent when nothing can be read, and never read in a unit that is not named', () => {
    for (const text of [
      '',
      '\n',
      '0: Minimum\n',
      '0: x (512)\n',
      '0: x (512 KB)\n',
      'x: y (1 GB)\n',
      '0 (1 GB)\n',
      '(1 GB)\n',
    ])
      expect(parseCarveoutOptions(text)).toBeUndefined();
    expect(parseCarveout('\n')).toBeUndefined();
  });

  it('comes back exactly, and holds no number that does not stand in the text', () => {
    const name = fc.stringMatching(/^([A-Z][a-z]{1,9}( \(max\))?)?$/);
    const option = fc.tuple(name, fc.nat(9999), fc.boolean());
    fc.assert(
      fc.property(fc.array(option, { minLength: 1, maxLength: 16 }), padding, (options, rest) => {
        const rows = options.map(
          ([title, size, giga], index) => `${index}: ${title} (${size} ${giga ? 'GB' : 'MB'})\n`,
        );
        expect(parseCarveoutOptions(rows.join('') + rest)).toEqual(
          options.map(([title, size, giga], index) => ({ index, name: title, bytes: size * 2 ** (giga ? 30 : 20) })),
        );
      }),
    );
    fc.assert(
      fc.property(nearly('0: Minimum (512 MB)\n', '1:  (', ' GB)\n', ' MB)', '12'), (text) => {
        const there = numbersIn(text);
        for (const { index, bytes } of parseCarveoutOptions(text) ?? []) {
          expect(there).toContain(String(index));
          expect(there.has(String(bytes / 2 ** 20)) || there.has(String(bytes / 2 ** 30))).toBe(true);
        }
        const index = parseCarveout(text);
        if (index !== undefined) expect(there).toContain(String(index));
      }),
    );
  });
});
