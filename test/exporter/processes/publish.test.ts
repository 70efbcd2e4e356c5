import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { capped, type Series } from '../../../exporter/processes/publish.ts';
import { process as quantities } from '../../../model/quantities/process.ts';

const row = (length: number): Series[] =>
  Array.from({ length }, (_, i) => ({ quantity: quantities.vram, value: i, source: '', labels: [] }));

describe('the limit on series', () => {
  it('keeps whole rows, and none behind one that does not fit', () => {
    const rows = [row(3), row(5), row(1)];
    expect(capped(rows, 7)).toEqual({ kept: [rows[0]], dropped: 6 });
    expect(capped(rows, 8)).toEqual({ kept: rows.slice(0, 2), dropped: 1 });
    expect(capped(rows, 0)).toEqual({ kept: [], dropped: 9 });
  });

  it('is never passed, and every series is either kept or counted', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(6)), fc.nat(60), (lengths, most) => {
        const { kept, dropped } = capped(lengths.map(row), most);
        const shown = kept.flat().length;
        expect(shown).toBeLessThanOrEqual(most);
        expect(shown + dropped).toBe(lengths.reduce((a, b) => a + b, 0));
        expect(kept.map((own) => own.length)).toEqual(lengths.slice(0, kept.length));
      }),
    );
  });
});
