import { expect, it } from 'vitest';
import { resolveThrottleBits } from '../../../amdgpu/resolve/throttle.ts';
import type { Family } from '../../../model/card.ts';
import { throttle } from '../../../model/quantities/throttle.ts';
import { once, table } from './fixture.ts';

const causes = (family: Family, version: string, values: Record<string, bigint | number>): string[] => {
  const bench = once(resolveThrottleBits, { family, table: table(version, values) });
  return bench.labels(throttle.active).filter((cause) => bench.value(throttle.active, cause) === 1);
};

it('the word that is the same on all chips wins over the chip\u2019s own', () => {
  const word = (1n << 36n) | 1n;
  expect(causes('navi3', '1.3', { throttle_status: 0xff, indep_throttle_status: word })).toEqual([
    'ppt0',
    'temp_hotspot',
  ]);
});

it('a chip\u2019s own word is read by its family where the common one is not in the table', () => {
  expect(causes('mi200', '1.2', { throttle_status: 1 << 11 })).toEqual(['temp_vr_gfx']);
  expect(causes('mi100', '1.0', { throttle_status: 1 << 2 })).toEqual(['temp_hotspot']);
  expect(causes('navi2', '1.1', { throttle_status: 1 << 2 })).toEqual(['temp_hotspot']);
  expect(causes('navi3', '1.1', { throttle_status: 1 << 1 })).toEqual(['temp_hotspot']);
});

it('a word whose bits are not documented for the family is not shown', () => {
  const bench = once(resolveThrottleBits, { family: 'apu', table: table('2.1', { throttle_status: 6 }) });
  expect(bench.labels(throttle.active)).toEqual([]);
});

it('every bit that is not set is shown as 0, and an absent word not at all', () => {
  const none = once(resolveThrottleBits, { family: 'navi2', table: table('1.3', { indep_throttle_status: 0n }) });
  expect(none.labels(throttle.active).length).toBeGreaterThan(30);
  expect(none.labels(throttle.active).every((cause) => none.value(throttle.active, cause) === 0)).toBe(true);
  expect(once(resolveThrottleBits, { family: 'navi2', table: table('1.3', {}) }).labels(throttle.active)).toEqual([]);
});

it('MI300\u2019s constant 0 says nothing', () => {
  for (const version of ['1.4', '1.5']) {
    const bench = once(resolveThrottleBits, { family: 'mi300', table: table(version, { throttle_status: 0 }) });
    expect(bench.labels(throttle.active)).toEqual([]);
  }
});
