import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  COMPUTE_PARTITIONS,
  parseComputePartition,
  parseCount,
  parseMemoryPartition,
  parsePartitionList,
} from '../../../amdgpu/formats/partition.ts';
import { capturesDir } from '../../support/captures.ts';
import { skipUnless } from '../../support/skips.ts';
import { nearly, numbersIn, padding } from './arbitraries.ts';
import { capturedFiles } from './expected.ts';

const MEMORY = ['NPS1', 'NPS2', 'NPS4', 'NPS8'] as const;

describe('the partition mode', () => {
  it('is one of the known words, and absent for UNKNOWN', () => {
    for (const mode of COMPUTE_PARTITIONS) expect(parseComputePartition(`${mode}\n`)).toBe(mode);
    for (const mode of MEMORY) expect(parseMemoryPartition(`${mode}\n\0`)).toBe(mode);
    for (const text of [
      '',
      '\n',
      'UNKNOWN\n',
      'Not supported\n',
      'SPX, DPX\n',
      'NPS\n',
      'NPS0\n',
      'NPS1x\n',
      'XPX\n',
    ]) {
      expect(parseComputePartition(text)).toBeUndefined();
      expect(parseMemoryPartition(text)).toBeUndefined();
    }
  });
});

describe('the list of partition modes', () => {
  it('is separated by commas', () => {
    expect(parsePartitionList('SPX, DPX, QPX, CPX\n')).toEqual(['SPX', 'DPX', 'QPX', 'CPX']);
    expect(parsePartitionList('NPS1,NPS4\n')).toEqual(['NPS1', 'NPS4']);
    expect(parsePartitionList('SPX\n\0\0')).toEqual(['SPX']);
    expect(parsePartitionList('SPX, DPX, SPX\n')).toEqual(['SPX', 'DPX']);
  });

  it('is empty where the driver says that there is none, and absent where it says nothing', () => {
    expect(parsePartitionList('Not supported\n')).toEqual([]);
    for (const text of ['', '\n', '\0', 'UNKNOWN\n', 'garbage\n', ',\n'])
      expect(parsePartitionList(text)).toBeUndefined();
  });

  it('comes back exactly for any choice of modes', () => {
    fc.assert(
      fc.property(fc.subarray([...COMPUTE_PARTITIONS, ...MEMORY], { minLength: 1 }), padding, (modes, rest) => {
        expect(parsePartitionList(`${modes.join(', ')}\n${rest}`)).toEqual(modes);
      }),
    );
  });
});

describe('any partition file', () => {
  it('yields only what stands in it', () => {
    expect(parseCount('8\n')).toBe(8);
    expect(parseCount('\n')).toBeUndefined();
    fc.assert(
      fc.property(nearly('SPX', 'NPS1', 'UNKNOWN', 'Not supported', ', ', 'nps', 'cpx', '\n'), (text) => {
        const upper = text.toUpperCase();
        const found = [parseComputePartition(text), parseMemoryPartition(text), ...(parsePartitionList(text) ?? [])];
        for (const mode of found) if (mode !== undefined) expect(upper).toContain(mode);
        const count = parseCount(text);
        if (count !== undefined) expect(numbersIn(text)).toContain(String(count));
      }),
    );
  });

  it('is read from every capture', () => {
    const root = capturesDir();
    skipUnless(root, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)');
    const compute = capturedFiles(root, 'current_compute_partition');
    const memory = capturedFiles(root, 'current_memory_partition');
    expect(compute.length).toBe(8);
    for (const file of compute)
      expect(parseComputePartition(readFileSync(file, 'latin1')), file).toBe(file.includes('x8-dpx') ? 'DPX' : 'SPX');
    for (const file of memory) expect(parseMemoryPartition(readFileSync(file, 'latin1')), file).toBe('NPS1');
  });
});
