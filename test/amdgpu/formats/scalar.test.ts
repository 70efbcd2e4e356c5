import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBig, parseHexId, parseInt10, parseUint, parseWord } from '../../../amdgpu/formats/scalar.ts';
import { nearly, numbersIn, padding, u64 } from './arbitraries.ts';

const noise = nearly('0x', '1002', '-1', 'ff', 'unavailable', 'N/A', '1e9', '3.5', '\n');

describe('one number', () => {
  it('is read with and without newline, and with NULs behind it', () => {
    for (const text of ['3', '3\n', '3\n\0\0\0', '3\0\0']) expect(parseUint(text)).toBe(3);
    expect(parseUint('17163091968\n')).toBe(17163091968);
  });

  it('is absent for an empty line, a word, a sign, a fraction and an exponent', () => {
    for (const text of ['', '\n', 'unavailable\n', '-1\n', '+1\n', '3.5\n', '1e3\n', '0x10\n', '1 2\n', '٣\n'])
      expect(parseUint(text)).toBeUndefined();
  });

  it('is absent rather than rounded when it passes what a JavaScript number holds', () => {
    expect(parseUint('9007199254740991')).toBe(9007199254740991);
    expect(parseUint('9007199254740992')).toBeUndefined();
    expect(parseUint('18446744073709551615')).toBeUndefined();
  });

  it('keeps its 64 bits as a bigint, in decimal and hexadecimal', () => {
    expect(parseBig('16701057951997141415\n')).toBe(16701057951997141415n);
    expect(parseBig('0x003a5600\n')).toBe(0x003a5600n);
    expect(parseBig('0xffffffffffffffff')).toBe(2n ** 64n - 1n);
  });

  it('is absent when it needs more than 64 bits', () => {
    expect(parseBig('18446744073709551616')).toBeUndefined();
    expect(parseBig('0x10000000000000000')).toBeUndefined();
    expect(parseBig('0x')).toBeUndefined();
    expect(parseBig('-5')).toBeUndefined();
    expect(parseBig('946d7e1ef9b172dd')).toBeUndefined();
  });

  it('may be negative where the file is signed', () => {
    expect(parseInt10('-1\n')).toBe(-1);
    expect(parseInt10('-273150\n')).toBe(-273150);
    expect(Object.is(parseInt10('-0\n'), 0)).toBe(true);
    for (const text of ['-', '--1', '- 1', '-0x1', '1-']) expect(parseInt10(text)).toBeUndefined();
  });

  it('comes back exactly for every value the kernel can print', () => {
    fc.assert(
      fc.property(u64, fc.constantFrom('', '\n'), padding, (value, end, rest) => {
        const decimal = `${value}${end}${rest}`;
        expect(parseBig(decimal)).toBe(value);
        expect(parseBig(`0x${value.toString(16)}${end}${rest}`)).toBe(value);
        const exact = value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : undefined;
        expect(parseUint(decimal)).toBe(exact);
        expect(parseInt10(decimal)).toBe(exact);
        expect(parseInt10(`-${decimal}`)).toBe(exact === undefined ? undefined : 0 - exact);
      }),
    );
  });

  it('is never one that does not stand in the text', () => {
    fc.assert(
      fc.property(noise, (text) => {
        const there = numbersIn(text);
        const uint = parseUint(text);
        const int = parseInt10(text);
        const big = parseBig(text);
        if (uint !== undefined) expect(there).toContain(String(uint));
        if (int !== undefined) expect(there).toContain(String(Math.abs(int)));
        if (big !== undefined && !/^\s*0x/i.test(text)) expect(there).toContain(String(big));
        if (big !== undefined) expect(big >= 0n && big < 2n ** 64n).toBe(true);
      }),
    );
  });
});

describe('one word', () => {
  it('is the first line, trimmed', () => {
    expect(parseWord('113-D4121EXT-CO1\n')).toBe('113-D4121EXT-CO1');
    expect(parseWord('95c7f3a34404cbcc\n\0\0')).toBe('95c7f3a34404cbcc');
    expect(parseWord('AMD Instinct MI300X \n')).toBe('AMD Instinct MI300X');
  });

  it('is absent when empty, so that no empty label is printed', () => {
    for (const text of ['', '\n', '  \n', '\0\0', '\nlater']) expect(parseWord(text)).toBeUndefined();
  });

  it('holds no line end and no NUL', () => {
    fc.assert(
      fc.property(noise, (text) => {
        const word = parseWord(text);
        if (word === undefined) return;
        expect(word).not.toMatch(/[\n\0]/);
        expect(word).toBe(word.trim());
        expect(text).toContain(word);
      }),
    );
  });
});

describe('a hexadecimal id', () => {
  it('keeps the width the kernel prints', () => {
    expect(parseHexId('0x1002\n')).toBe('0x1002');
    expect(parseHexId('0xc1\n')).toBe('0xc1');
    expect(parseHexId('0x74A1\n')).toBe('0x74a1');
    expect(parseHexId('0x030000\n\0')).toBe('0x030000');
  });

  it('is absent without prefix, without digits and with anything else', () => {
    for (const text of ['', '\n', '1002', '0x', '0xg', '0x10 02', 'x10', '0x 10', `0x${'0'.repeat(17)}`, '0x1\u0010'])
      expect(parseHexId(text)).toBeUndefined();
  });

  it('comes back exactly for every id, and stands in the text for every other', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff }), padding, (id, rest) => {
        const text = `0x${id.toString(16).padStart(4, '0')}`;
        expect(parseHexId(`${text}\n${rest}`)).toBe(text);
      }),
    );
    fc.assert(
      fc.property(noise, (text) => {
        const id = parseHexId(text);
        if (id !== undefined) expect(text.toLowerCase()).toContain(id);
        if (id !== undefined) expect(id).toMatch(/^0x[0-9a-f]{1,16}$/);
      }),
    );
  });
});
