import { describe, expect, it } from 'vitest';
import { integer, integers, unsigned } from '../../../sim/driver/number.ts';

describe('numbers as the kernel takes them', () => {
  it.each([
    ['250', 250],
    ['+250\n', 250],
    ['007', 7],
    ['0', 0],
    ['-1', undefined],
    ['0x10', undefined],
    ['250\n\n', undefined],
    [' 250', undefined],
    ['2.5', undefined],
    ['1e6', undefined],
    ['', undefined],
    ['99999999999999999999', undefined],
  ])('unsigned %j is %j', (text, value) => {
    expect(unsigned(text)).toBe(value);
  });

  it.each([
    ['-1', -1],
    ['0x1F', 31],
    ['017', 15],
    ['-0', 0],
    ['08', undefined],
    ['0x', undefined],
    ['1 ', undefined],
    ['٣', undefined],
  ])('signed %j is %j', (text, value) => {
    expect(integer(text)).toBe(value);
  });

  it('stand between spaces and newlines', () => {
    expect(integers(' 1  2\n3\n')).toEqual([1, 2, 3]);
    expect(integers('')).toEqual([]);
    expect(integers('1\t2')).toBeUndefined();
  });
});
