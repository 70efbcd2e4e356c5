import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clean, firstLine, lines, linesAcrossGaps, words } from '../../../amdgpu/formats/text.ts';
import { bytes, nearly } from './arbitraries.ts';

describe('text of a kernel file', () => {
  it('ends at the first NUL and keeps its inner lines', () => {
    expect(clean('0: 500Mhz *\n1: 2660Mhz \n\0\0\0rest')).toBe('0: 500Mhz *\n1: 2660Mhz');
    expect(lines('a \n\n b\0c')).toEqual(['a', 'b']);
  });

  it('is empty for an empty read, a lone newline and NULs alone', () => {
    for (const text of ['', '\n', '\0\0', ' \n']) {
      expect(clean(text)).toBe('');
      expect(firstLine(text)).toBe('');
      expect(lines(text)).toEqual([]);
    }
  });

  it('does not take a later line for the first one', () => {
    expect(firstLine('\n5\n')).toBe('');
    expect(firstLine('3\n7\n')).toBe('3');
  });

  it('continues behind a gap of NULs only where asked to', () => {
    expect(linesAcrossGaps('a\n\0\0\0b\n')).toEqual(['a', 'b']);
    expect(lines('a\n\0\0\0b\n')).toEqual(['a']);
  });

  it('splits words at any run of blanks', () => {
    expect(words(' 1  3D_FULL_SCREEN\t*: ')).toEqual(['1', '3D_FULL_SCREEN', '*:']);
  });

  it('never yields a NUL, and nothing that was not there', () => {
    fc.assert(
      fc.property(fc.oneof(bytes, nearly('a', 'b')), (text) => {
        expect(clean(text)).not.toContain('\0');
        expect(text).toContain(clean(text));
        expect(text.startsWith(firstLine(text)) || text.trimStart().startsWith(firstLine(text))).toBe(true);
        for (const line of [...lines(text), ...linesAcrossGaps(text)]) {
          expect(line).not.toMatch(/[\n\0]/);
          expect(line).not.toBe('');
          expect(text).toContain(line);
        }
        expect(words(text).join('')).toBe(text.replace(/[ \t\r\n]/g, ''));
      }),
    );
  });
});
