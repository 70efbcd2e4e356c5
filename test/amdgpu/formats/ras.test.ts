import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  parseBadPages,
  parseErrCount,
  parseEventState,
  parseFeatureMask,
  parseRasVersion,
  parseSchema,
} from '../../../amdgpu/formats/ras.ts';
import { nearly, numbersIn, padding, u64 } from './arbitraries.ts';

describe('ras error counts', () => {
  it('have the classes that the part prints, zeros included', () => {
    expect(parseErrCount('ue: 0\nce: 5\n')).toEqual({ ue: 0n, ce: 5n });
    expect(parseErrCount('ue: 1\nce: 2\nde: 3\n')).toEqual({ ue: 1n, ce: 2n, de: 3n });
  });

  it('are unknown, not 0, while the driver refuses', () => {
    expect(parseErrCount('Query currently inaccessible\n')).toBe('busy');
    expect(parseErrCount('Query currently inaccessible\n\0\0')).toBe('busy');
  });

  it('are absent when nothing can be read', () => {
    for (const text of ['', '\n', 'ue\n', 'ue: x\n', 'ue: -1\n', 'xe: 1\n', 'ue 1\n'])
      expect(parseErrCount(text)).toBeUndefined();
  });

  it('come back exactly, and hold no number that does not stand in the text', () => {
    fc.assert(
      fc.property(u64, u64, fc.option(u64, { nil: undefined }), padding, (ue, ce, de, rest) => {
        const text = `ue: ${ue}\nce: ${ce}\n${de === undefined ? '' : `de: ${de}\n`}`;
        expect(parseErrCount(text + rest)).toEqual(de === undefined ? { ue, ce } : { ue, ce, de });
      }),
    );
    fc.assert(
      fc.property(nearly('ue: ', 'ce: 1\n', 'de: ', '\n', 'Query currently inaccessible'), (text) => {
        const counts = parseErrCount(text);
        if (counts === 'busy') expect(text).toContain('Query currently inaccessible');
        else for (const count of Object.values(counts ?? {})) expect(numbersIn(text)).toContain(String(count));
      }),
    );
  });
});

describe('gpu_vram_bad_pages', () => {
  it('are listed with page frame, size and state, and counted by state', () => {
    const text =
      '0x00000001 : 0x00001000 : R\n0x0000abcd : 0x00001000 : P\n0xffffffff : 0x00001000 : F\n0x00000002 : 0x00001000 : R\n';
    const read = parseBadPages(`${text}\0\0\0`);
    expect(read).toMatchObject({ reserved: 2, pending: 1, unreservable: 1 });
    expect(read?.pages[1]).toEqual({ pfn: 0xabcdn, size: 4096n, flag: 'P' });
  });

  it('are none, as a reading, for an empty file', () => {
    for (const text of ['', '\n', '\0\0\0\0'])
      expect(parseBadPages(text)).toEqual({ reserved: 0, pending: 0, unreservable: 0, pages: [] });
  });

  it('are read across the NULs that the driver leaves between rows', () => {
    expect(parseBadPages('0x00000001 : 0x00001000 : R\n\0\0\x000x00000002 : 0x00001000 : P\n')).toMatchObject({
      reserved: 1,
      pending: 1,
    });
  });

  it('are absent, not none, when the text holds no valid row', () => {
    for (const text of ['garbage\n', '0x1 : 0x1000 : X\n', '1 : 1000 : R\n', '0x00000001 : 0x000010'])
      expect(parseBadPages(text)).toBeUndefined();
  });

  it('come back exactly from any list', () => {
    const page = fc.record({
      pfn: fc.bigInt(0n, 0xffff_ffffn),
      size: fc.bigInt(1n, 0xffff_ffffn),
      flag: fc.constantFrom('R', 'P', 'F'),
    });
    const hex = (value: bigint) => `0x${value.toString(16).padStart(8, '0')}`;
    fc.assert(
      fc.property(fc.array(page), fc.nat(100), (pages, nuls) => {
        const text = pages.map(({ pfn, size, flag }) => `${hex(pfn)} : ${hex(size)} : ${flag}\n`).join('');
        const read = parseBadPages(text + '\0'.repeat(nuls));
        expect(read?.pages).toEqual(pages);
        expect([read?.reserved, read?.pending, read?.unreservable]).toEqual(
          ['R', 'P', 'F'].map((flag) => pages.filter((one) => one.flag === flag).length),
        );
      }),
    );
  });

  it('hold nothing that does not stand in the text', () => {
    fc.assert(
      fc.property(nearly('0x00000001 : 0x00001000 : R\n', '0x', ' : ', 'P\n', 'ff'), (text) => {
        const hex = new Set(
          (text.match(/[0-9a-f]+/gi) ?? []).flatMap((run) => [run, run.slice(1)]).map((run) => BigInt(`0x${run || 0}`)),
        );
        for (const { pfn, size } of parseBadPages(text)?.pages ?? []) {
          expect(hex).toContain(pfn);
          expect(hex).toContain(size);
        }
      }),
    );
  });
});

describe('ras event state', () => {
  const text =
    'current seqno: 7\nFatal Error: count:1, last_seqno:7\nPoison Creation: count:4, last_seqno:6\nPoison Consumption: count:0, last_seqno:0\n';

  it('counts each kind of event, by a name fit for a label', () => {
    expect(parseEventState(text)).toEqual({
      seqno: 7n,
      events: [
        { name: 'fatal', count: 1n, lastSeqno: 7n },
        { name: 'poison_creation', count: 4n, lastSeqno: 6n },
        { name: 'poison_consumption', count: 0n, lastSeqno: 0n },
      ],
    });
  });

  it('names an event it does not know in the same spelling', () => {
    expect(parseEventState('RMA Threshold: count:2, last_seqno:3\n')?.events[0]?.name).toBe('rma_threshold');
  });

  it('is absent when nothing can be read', () => {
    for (const empty of ['', '\n', 'current seqno: x\n', 'Fatal Error: count:1\n'])
      expect(parseEventState(empty)).toBeUndefined();
  });

  it('comes back exactly, and holds no number that does not stand in the text', () => {
    fc.assert(
      fc.property(u64, u64, u64, padding, (seqno, count, last, rest) => {
        const state = parseEventState(
          `current seqno: ${seqno}\nFatal Error: count:${count}, last_seqno:${last}\n${rest}`,
        );
        expect(state).toEqual({ seqno, events: [{ name: 'fatal', count, lastSeqno: last }] });
      }),
    );
    fc.assert(
      fc.property(
        nearly('current seqno: ', 'Fatal Error: count:1, last_seqno:', 'Poison Creation: count:', '\n'),
        (noise) => {
          const state = parseEventState(noise);
          const there = numbersIn(noise);
          if (state?.seqno !== undefined) expect(there).toContain(String(state.seqno));
          for (const { count, lastSeqno, name } of state?.events ?? []) {
            expect(there).toContain(String(count));
            expect(there).toContain(String(lastSeqno));
            expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
          }
        },
      ),
    );
  });
});

describe('ras capability', () => {
  it('gives mask, schema and versions', () => {
    expect(parseFeatureMask('feature mask: 0x4024f\n')).toBe(0x4024fn);
    expect(parseSchema('schema: 0x35\n\0')).toBe(0x35n);
    expect(parseRasVersion('table version: 0x10000\n')).toEqual({ table: 0x10000n });
    expect(parseRasVersion('table version: 0x30000\nras version: 1.0.2\n')).toEqual({
      table: 0x30000n,
      module: '1.0.2',
    });
  });

  it('is absent when nothing can be read', () => {
    for (const text of [
      '',
      '\n',
      'feature mask: \n',
      'feature mask: 12\n',
      'schema: 0xzz\n',
      'table version: 0x\n',
      'ras version: a\n',
    ]) {
      expect(parseFeatureMask(text)).toBeUndefined();
      expect(parseSchema(text)).toBeUndefined();
      expect(parseRasVersion(text)).toBeUndefined();
    }
  });

  it('comes back exactly, and holds nothing that does not stand in the text', () => {
    fc.assert(
      fc.property(u64, padding, (mask, rest) => {
        const hex = `0x${mask.toString(16)}\n${rest}`;
        expect(parseFeatureMask(`feature mask: ${hex}`)).toBe(mask);
        expect(parseSchema(`schema: ${hex}`)).toBe(mask);
        expect(parseRasVersion(`table version: ${hex}`)).toEqual({ table: mask });
      }),
    );
    fc.assert(
      fc.property(
        nearly('feature mask: 0x', 'schema: 0x', 'table version: 0x', 'ras version: 1.2', '1f', '\n'),
        (text) => {
          const version = parseRasVersion(text);
          for (const value of [parseFeatureMask(text), parseSchema(text), version?.table])
            if (value !== undefined) expect(text.toLowerCase()).toContain(value.toString(16));
          if (version?.module !== undefined) expect(text).toContain(version.module);
        },
      ),
    );
  });
});
