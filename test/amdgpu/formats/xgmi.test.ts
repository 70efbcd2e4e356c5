import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  parseNumHops,
  parseNumLinks,
  parsePortNum,
  parseXgmiError,
  parseXgmiId,
} from '../../../amdgpu/formats/xgmi.ts';
import { nearly, numbersIn, padding, u64 } from './arbitraries.ts';

const hex = (byte: number) => byte.toString(16).padStart(2, '0');
const byte = fc.integer({ min: 0, max: 255 });

describe('xgmi hops and links', () => {
  it('are one hexadecimal byte a node', () => {
    expect(parseNumLinks('00 0a 01 02 \n')).toEqual([0, 10, 1, 2]);
    expect(parseNumHops('00 01 02 \n\0')).toEqual([0, 1, 2]);
  });

  it('leave the link generation in the upper bits out of the hop count', () => {
    expect(parseNumHops('00 41 42 81 \n')).toEqual([0, 1, 2, 1]);
  });

  it('are absent as a whole when one part is malformed, so that no node shifts', () => {
    for (const text of ['', '\n', '00 x 01\n', '00 1 02\n', '000 01\n', '0x01\n', '-1 00\n']) {
      expect(parseNumHops(text)).toBeUndefined();
      expect(parseNumLinks(text)).toBeUndefined();
    }
  });

  it('come back exactly from any list', () => {
    fc.assert(
      fc.property(fc.array(byte, { minLength: 1, maxLength: 16 }), padding, (list, rest) => {
        const text = `${list.map((one) => `${hex(one)} `).join('')}\n${rest}`;
        expect(parseNumLinks(text)).toEqual(list);
        expect(parseNumHops(text)).toEqual(list.map((one) => one % 8));
      }),
    );
  });
});

describe('xgmi ports', () => {
  it('are pairs of node and port, in hexadecimal', () => {
    expect(parsePortNum('01:02 ->  03:00\n01:0a ->  08:11\n')).toEqual([
      { node: 1, port: 2, peerNode: 3, peerPort: 0 },
      { node: 1, port: 10, peerNode: 8, peerPort: 17 },
    ]);
  });

  it('are absent when nothing can be read', () => {
    for (const text of ['', '\n', '01:02 03:00\n', '1:2 -> 3:0\n', '01:02 -> 03\n'])
      expect(parsePortNum(text)).toBeUndefined();
  });

  it('come back exactly from any list', () => {
    const link = fc.record({ node: byte, port: byte, peerNode: byte, peerPort: byte });
    fc.assert(
      fc.property(fc.array(link, { minLength: 1 }), padding, (links, rest) => {
        const rows = links.map(
          (one) => `${hex(one.node)}:${hex(one.port)} ->  ${hex(one.peerNode)}:${hex(one.peerPort)}\n`,
        );
        expect(parsePortNum(rows.join('') + rest)).toEqual(links);
      }),
    );
  });
});

describe('xgmi ids and error flag', () => {
  it('keep the 64 bits of an id', () => {
    expect(parseXgmiId('16701057951997141415\n')).toBe(16701057951997141415n);
    for (const text of ['', '\n', '0x10\n', 'abc\n']) expect(parseXgmiId(text)).toBeUndefined();
  });

  it('know three states of the error flag and no other', () => {
    for (const state of [0, 1, 2]) expect(parseXgmiError(`${state}\n`)).toBe(state);
    for (const text of ['', '\n', '3\n', '-1\n', '0 1\n']) expect(parseXgmiError(text)).toBeUndefined();
  });
});

describe('any xgmi file', () => {
  it('comes back exactly where it is one number', () => {
    fc.assert(
      fc.property(u64, padding, (id, rest) => {
        expect(parseXgmiId(`${id}\n${rest}`)).toBe(id);
      }),
    );
  });

  it('never yields a number that does not stand in the text', () => {
    fc.assert(
      fc.property(nearly('00 01 ', '01:02 ->  03:00\n', '->', 'ff', '\n'), (text) => {
        const decimals = numbersIn(text);
        const id = parseXgmiId(text);
        if (id !== undefined) expect(decimals).toContain(String(id));
        const error = parseXgmiError(text);
        if (error !== undefined) expect(decimals).toContain(String(error));
        const low = text.toLowerCase();
        for (const links of parseNumLinks(text) ?? []) expect(low).toContain(hex(links));
        for (const hops of parseNumHops(text) ?? []) expect(hops).toBeLessThan(8);
        for (const { node, port, peerNode, peerPort } of parsePortNum(text) ?? []) {
          expect(low).toContain(`${hex(node)}:${hex(port)}`);
          expect(low).toContain(`${hex(peerNode)}:${hex(peerPort)}`);
        }
      }),
    );
  });
});
