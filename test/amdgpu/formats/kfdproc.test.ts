import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  hasOlderQueueTypes,
  KFD_ENTRIES,
  kfdEntry,
  kfdPid,
  parseEvicted,
  parseSdma,
  parseVram,
  queueTypeName,
} from '../../../amdgpu/formats/kfdproc.ts';
import { padding } from './arbitraries.ts';

const gpuIds = fc.integer({ min: 0, max: 0xffff_ffff });

describe('names below kfd/proc', () => {
  it('carry the gpu_id of a topology node', () => {
    expect(kfdEntry('vram_26273')).toEqual({ kind: 'vram', gpuId: 26273 });
    expect(kfdEntry('stats_13261')).toEqual({ kind: 'stats', gpuId: 13261 });
  });

  it('are passed over when they are anything else', () => {
    for (const name of ['pasid', 'queues', 'vram_', 'vram_x', '_1', 'vram', 'vram_-1', 'vram_1_2', 'vramx_1', 'pid_1'])
      expect(kfdEntry(name)).toBeUndefined();
  });

  it('come back for every kind and id, and nothing else is taken for one', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KFD_ENTRIES), gpuIds, (kind, gpuId) => {
        expect(kfdEntry(`${kind}_${gpuId}`)).toEqual({ kind, gpuId });
      }),
    );
    fc.assert(
      fc.property(fc.string(), (name) => {
        const entry = kfdEntry(name);
        if (entry) expect(name).toMatch(new RegExp(`^${entry.kind}_0*${entry.gpuId}$`));
      }),
    );
  });

  it('are PIDs where they are positive numbers', () => {
    expect(kfdPid('132174')).toBe(132174);
    for (const name of ['0', '01', '', '-1', '1.5', 'self', '12345678901']) expect(kfdPid(name)).toBeUndefined();
  });
});

describe('values below kfd/proc', () => {
  it('are read with and without newline, each in its unit', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.constantFrom('', '\n'), padding, (value, end, rest) => {
        const text = `${value}${end}${rest}`;
        expect(parseVram(text)).toBe(value);
        expect(parseSdma(text)).toBe(BigInt(value) * 1_000n);
        expect(parseEvicted(text)).toBe(BigInt(value) * 1_000_000n);
      }),
    );
  });

  it('are absent for what is no number', () => {
    for (const text of ['', '\n', 'x', '-1', '1.5']) {
      expect(parseVram(text)).toBeUndefined();
      expect(parseSdma(text)).toBeUndefined();
      expect(parseEvicted(text)).toBeUndefined();
    }
  });
});

describe('queue types', () => {
  it('are named where all kernels agree', () => {
    for (const older of [false, true])
      expect([0, 1, 2].map((type) => queueTypeName(type, older))).toEqual(['compute', 'sdma', 'internal']);
  });

  it('are named by number where kernels differ and nothing tells which numbering it is', () => {
    expect([3, 4].map((type) => queueTypeName(type, false))).toEqual(['type_3', 'type_4']);
  });

  it('are named in the older numbering once a 5 was seen', () => {
    expect(hasOlderQueueTypes([0, 1, 3, 4])).toBe(false);
    expect(hasOlderQueueTypes([0, 5])).toBe(true);
    expect([3, 4, 5].map((type) => queueTypeName(type, true))).toEqual(['internal', 'sdma_xgmi', 'sdma_by_engine']);
  });

  it('are named by number when they are newer than both numberings', () => {
    expect(hasOlderQueueTypes([6])).toBe(false);
    expect(queueTypeName(6, true)).toBe('type_6');
  });
});
