import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFdinfo } from '../../linux/fdinfo.ts';
import { nearly, numbersIn, padding, u64 } from '../amdgpu/formats/arbitraries.ts';
import { capturesDir } from '../support/captures.ts';
import { skipUnless } from '../support/skips.ts';

const KIB = 1024;

const OLD = `pos:\t0
flags:\t02104002
pasid:\t32784
drm-driver:\tamdgpu
drm-pdev:\t0000:08:00.0
drm-client-id:\t217
drm-memory-vram:\t2068 KiB
drm-memory-gtt: \t8192 KiB
drm-memory-cpu: \t0 KiB
amd-memory-visible-vram:\t100 KiB
amd-evicted-vram:\t4 KiB
amd-evicted-visible-vram:\t3 KiB
amd-requested-vram:\t2072 KiB
amd-requested-visible-vram:\t2 KiB
amd-requested-gtt:\t8200 KiB
drm-engine-gfx:\t107322799 ns
`;

const NEW = `drm-driver:\tamdgpu
drm-client-id:\t9
drm-total-vram:\t512 MiB
drm-shared-vram:\t0
drm-active-vram:\t64 KiB
drm-resident-vram:\t511 MiB
drm-purgeable-vram:\t4096
drm-memory-vram:\t523264 KiB
drm-total-doorbell:\t8192
drm-engine-capacity-enc:\t2
drm-engine-compute:\t18446744073709551615 ns
drm-engine-enc_1:\t5 ns
`;

describe('fdinfo of a DRM client', () => {
  it('is read from kernels before 6.13, whatever blank separates key and value', () => {
    expect(parseFdinfo(OLD)).toEqual({
      driver: 'amdgpu',
      pci: '0000:08:00.0',
      clientId: 217n,
      pasid: 32784,
      regions: new Map([
        ['vram', { memory: 2068 * KIB }],
        ['gtt', { memory: 8192 * KIB }],
        ['cpu', { memory: 0 }],
      ]),
      amd: {
        visibleVram: 100 * KIB,
        evictedVram: 4 * KIB,
        evictedVisibleVram: 3 * KIB,
        requestedVram: 2072 * KIB,
        requestedVisibleVram: 2 * KIB,
        requestedGtt: 8200 * KIB,
      },
      engines: new Map([['gfx', 107322799n]]),
    });
  });

  it('is read from later kernels, a bare number being bytes', () => {
    const client = parseFdinfo(NEW)!;
    expect(client.regions.get('vram')).toEqual({
      total: 512 * KIB ** 2,
      shared: 0,
      active: 64 * KIB,
      resident: 511 * KIB ** 2,
      purgeable: 4096,
      memory: 523264 * KIB,
    });
    expect(client.regions.get('doorbell')).toEqual({ total: 8192 });
    expect(client).not.toHaveProperty('pci');
  });

  it('does not take the number of engines for an engine, and keeps 64 bits of time', () => {
    expect(parseFdinfo(NEW)?.engines).toEqual(
      new Map([
        ['compute', 2n ** 64n - 1n],
        ['enc_1', 5n],
      ]),
    );
  });

  it('is absent for a descriptor that is no DRM client', () => {
    for (const text of [
      '',
      '\n',
      'pos:\t0\nflags:\t02\nmnt_id:\t24\n',
      'drm-driver:\n',
      'drm-client-id:\t1\n',
      'pos:\t0\n\0\ndrm-driver:\tx\n',
    ])
      expect(parseFdinfo(text)).toBeUndefined();
  });

  it('leaves out what is malformed or in a unit it does not know', () => {
    const text =
      'drm-driver:\tamdgpu\ndrm-pdev:\tcard0\ndrm-client-id:\t-1\npasid:\tx\ndrm-total-vram:\t5 kB\ndrm-total-gtt:\t5 KB\n' +
      'drm-memory-cpu:\t-3 KiB\ndrm-total-:\t4\namd-evicted-vram:\t4 pages\ndrm-engine-gfx:\t7\ndrm-engine-dma:\t7 us\ndrm-engine-:\t7 ns\ndrm-engine-enc:\t18446744073709551616 ns\n' +
      'drm-cycles-gfx:\t5\ndrm-maxfreq-gfx:\t5 MHz\ndrm-total-gds:\t9007199254740992\ndrm-total-oa:\t9007199254740991 KiB\n';
    expect(parseFdinfo(text)).toEqual({ driver: 'amdgpu', regions: new Map(), amd: {}, engines: new Map() });
  });

  it('comes back exactly in every unit the kernel uses', () => {
    const unit = fc.constantFrom(['', 1], [' KiB', KIB], [' MiB', KIB ** 2]);
    const kind = fc.constantFrom('memory', 'total', 'resident', 'shared', 'purgeable');
    const separator = fc.constantFrom(':\t', ': \t', ': ');
    fc.assert(
      fc.property(
        fc.nat(),
        unit,
        kind,
        separator,
        u64,
        u64,
        padding,
        (amount, [suffix, factor], name, gap, busy, id, rest) => {
          const text =
            `drm-driver${gap}amdgpu\ndrm-client-id${gap}${id}\ndrm-${name}-vram${gap}${amount}${suffix}\n` +
            `amd-requested-vram${gap}${amount}${suffix}\ndrm-engine-gfx${gap}${busy} ns\n${rest}`;
          expect(parseFdinfo(text)).toEqual({
            driver: 'amdgpu',
            clientId: id,
            regions: new Map([['vram', { [name]: amount * Number(factor) }]]),
            amd: { requestedVram: amount * Number(factor) },
            engines: new Map([['gfx', busy]]),
          });
        },
      ),
    );
  });

  it('never holds a number that does not stand in the text', () => {
    const noise = nearly(
      '\ndrm-total-vram:\t',
      '\ndrm-engine-gfx:\t',
      ' KiB',
      ' MiB',
      ' ns',
      '\ndrm-client-id: ',
      '\npasid:',
      '\namd-evicted-vram:',
    );
    fc.assert(
      fc.property(noise, (tail) => {
        const text = `drm-driver:\tamdgpu\n${tail}`;
        const client = parseFdinfo(text)!;
        const there = numbersIn(text);
        const byteCounts = [...client.regions.values(), client.amd].flatMap((part) => Object.values(part) as number[]);
        for (const bytes of byteCounts)
          expect(
            [1, KIB, KIB ** 2, KIB ** 3].some((factor) => there.has(String(bytes / factor))),
            String(bytes),
          ).toBe(true);
        for (const number of [...client.engines.values(), client.clientId, client.pasid])
          if (number !== undefined) expect(there).toContain(String(number));
      }),
    );
  });

  it('reads the capture as noted beside it', () => {
    const root = capturesDir();
    skipUnless(root, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)');
    const client = parseFdinfo(readFileSync(join(root, 'fdinfo-rx-gfx-client/proc/2217/fdinfo/99'), 'utf8'));
    expect(client).toMatchObject({ driver: 'amdgpu', pci: '0000:08:00.0', clientId: 217n, pasid: 32784 });
    expect(client?.regions.get('vram')).toEqual({ memory: 2117632 });
    expect(client?.regions.get('gtt')).toEqual({ memory: 8192 * KIB });
    expect(client?.engines).toEqual(new Map([['gfx', 107322799n]]));
  });
});
