import { describe, expect, it } from 'vitest';
import { decodeTable } from '../../../amdgpu/tables/decode.ts';
import { encodeTable } from '../../../amdgpu/tables/encode.ts';

/** Best of many passes: what the code costs, not what the machine was doing meanwhile. */
function bestMs(pass: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 400; i++) {
    const from = performance.now();
    pass();
    best = Math.min(best, performance.now() - from);
  }
  return best;
}

function readAll(bytes: Uint8Array): void {
  const result = decodeTable('gpu_metrics', bytes);
  if (!result.ok) throw new Error(result.fault);
  const { table } = result;
  for (const name of table.fields()) table.nums(name);
  for (let p = 0; p < table.xcp(); p++) for (const name of table.xcpFields()) table.xcpNums(p, name);
}

describe('decoding is cheap enough for every scrape', () => {
  it('reads every field of eight cards in less than a millisecond', () => {
    const cards = Array.from({ length: 8 }, () => encodeTable('gpu_metrics', '1.8', {}).fill(1, 4));
    expect(bestMs(() => cards.forEach(readAll))).toBeLessThan(1);
  });

  it('does so for self-describing tables too', () => {
    const cards = Array.from({ length: 8 }, () =>
      encodeTable('gpu_metrics', '1.9', { curr_socket_power: 5 }, { wide: true }),
    );
    expect(bestMs(() => cards.forEach(readAll))).toBeLessThan(1);
  });
});
