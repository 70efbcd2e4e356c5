import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Masker, maskKnown } from '../../cli/capture/mask.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const textOf = (data: Uint8Array): string => Buffer.from(data).toString('latin1');

describe('a masked id', () => {
  it('is the same number in hexadecimal and in decimal', () => {
    const masker = new Masker();
    const real = 0x1c0ffee123456789n;
    const hex = masker.id('unique_id', real.toString(16), 16);
    const decimal = masker.id('unique_id', real.toString(), 10);
    expect(BigInt(`0x${hex}`)).toBe(BigInt(decimal));
    expect(BigInt(decimal)).not.toBe(real);
  });

  it('keeps its shape whatever it is, and stays beyond 2^53 when it was', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n << 20n, max: (1n << 64n) - 2n }), (real) => {
        const masker = new Masker();
        const text = real.toString(16).padStart(16, '0');
        const fake = masker.id('unique_id', text, 16);
        expect(fake).toHaveLength(16);
        expect(fake).not.toBe(text);
        const decimal = masker.id('unique_id', real.toString(), 10);
        expect(decimal).toHaveLength(real.toString().length);
        expect(BigInt(decimal) > 1n << 53n).toBe(real > 1n << 53n);
      }),
      { numRuns: 200 },
    );
  });

  it('keeps 0x and upper case, and is another one with another key', () => {
    const one = new Masker(Buffer.alloc(32, 1)).id('unique_id', '0xABCDEF0123456789', 16);
    expect(one).toMatch(/^0x[0-9A-F]{16}$/);
    expect(new Masker(Buffer.alloc(32, 1)).id('unique_id', '0xABCDEF0123456789', 16)).toBe(one);
    expect(new Masker(Buffer.alloc(32, 2)).id('unique_id', '0xABCDEF0123456789', 16)).not.toBe(one);
  });

  it.each(['0', '0000000000000000', '', 'ffffffffffffffff'])('leaves %j as it is: it names no card', (text) => {
    expect(new Masker().id('unique_id', text, 16)).toBe(text);
  });
});

describe('masking of files', () => {
  it('finds an id again in files that are not known to hold it', () => {
    const masker = new Masker();
    const fake = textOf(maskKnown(masker, 'sys/x/serial_number', bytes('PCB-123456-7890\n'), false));
    expect(fake).toMatch(/^[A-Z]{3}-\d{6}-\d{4}\n$/);
    expect(textOf(masker.apply(bytes('at PCB-123456-7890.')))).toBe(`at ${fake.trim()}.`);
    expect(masker.remains(bytes('PCB-123456-7890'))).toBe(true);
  });

  it('joins the unique id of the topology with that of the card', () => {
    const masker = new Masker();
    const file = textOf(maskKnown(masker, 'sys/x/unique_id', bytes('cb9bd0f6d7596600\n'), false)).trim();
    const properties = `simd_count 1216\nunique_id ${0xcb9bd0f6d7596600n}\nhive_id 0\nnum_xcc 8\n`;
    const path = 'sys/devices/virtual/kfd/kfd/topology/nodes/2/properties';
    const masked = textOf(maskKnown(masker, path, bytes(properties), false));
    expect(masked).toBe(`simd_count 1216\nunique_id ${BigInt(`0x${file}`)}\nhive_id 0\nnum_xcc 8\n`);
  });

  it('replaces names of host and people as whole words only', () => {
    const masker = new Masker();
    masker.word('host', 'gpu17');
    const masked = masker.applyText('6.8.0-gpu17 gpu170 agpu17');
    expect(masked).toMatch(/^6\.8\.0-[a-z]{3}\d\d gpu170 agpu17$/);
    expect(masked).not.toContain('-gpu17 ');
  });

  it('masks names of processes only where asked, in both files alike, and never those of the kernel', () => {
    const masker = new Masker();
    const comm = textOf(maskKnown(masker, 'proc/4242/comm', bytes('secret-job\n'), true)).trim();
    expect(comm).toMatch(/^[a-z]{6}-[a-z]{3}$/);
    expect(textOf(maskKnown(masker, 'proc/4242/stat', bytes('4242 (secret-job) S 1'), true))).toBe(
      `4242 (${comm}) S 1`,
    );
    expect(textOf(maskKnown(masker, 'proc/2/comm', bytes('kthreadd\n'), true))).toBe('kthreadd\n');
    expect(textOf(maskKnown(new Masker(), 'proc/4242/comm', bytes('secret-job\n'), false))).toBe('secret-job\n');
  });

  it('leaves binary tables byte for byte where they hold no identity', () => {
    const table = Uint8Array.from({ length: 256 }, (_, i) => i);
    const masker = new Masker();
    masker.id('unique_id', 'cb9bd0f6d7596600', 16);
    expect(maskKnown(masker, 'sys/x/gpu_metrics', table, true)).toBe(table);
    expect(masker.apply(table)).toBe(table);
  });
});
