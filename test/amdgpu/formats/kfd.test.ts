import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  computeUnits,
  gfxName,
  ioLink,
  isGpuNode,
  kfdCache,
  kfdNumber,
  kfdPciAddress,
  memoryBank,
  parseProperties,
} from '../../../amdgpu/formats/kfd.ts';
import { capturesDir } from '../../support/captures.ts';
import { skipUnless } from '../../support/skips.ts';
import { nearly, numbersIn, padding, u64 } from './arbitraries.ts';

const gpu = (values: Record<string, bigint>) => new Map(Object.entries({ simd_count: 1216n, domain: 0n, ...values }));

describe('KFD properties', () => {
  it('keep the 64 bits of ids', () => {
    const read = parseProperties('simd_count 152\nunique_id 16701057951997141415\nhive_id 4894934202191965529\n');
    expect(read.get('unique_id')).toBe(16701057951997141415n);
    expect(kfdNumber(read, 'unique_id')).toBeUndefined();
    expect(kfdNumber(read, 'simd_count')).toBe(152);
  });

  it('pass over lines that are no key with a number', () => {
    const read = parseProperties('\nname \njunk\nkey -1\nother 0x10\n 7\nsimd_count 4\nsibling_map 1,0,0\0more 5\n');
    expect(read).toEqual(new Map([['simd_count', 4n]]));
  });

  it('come back exactly, and hold no number that does not stand in the text', () => {
    const key = fc.stringMatching(/^[a-z][a-z0-9_]{0,30}$/);
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(key, u64), { selector: ([name]) => name }), padding, (pairs, rest) => {
        expect(parseProperties(pairs.map(([name, value]) => `${name} ${value}\n`).join('') + rest)).toEqual(
          new Map(pairs),
        );
      }),
    );
    fc.assert(
      fc.property(nearly('simd_count ', 'location_id 1280\n', 'domain 0\n', '\n'), (text) => {
        for (const value of parseProperties(text).values()) expect(numbersIn(text)).toContain(String(value));
      }),
    );
  });
});

describe('the place of a KFD node', () => {
  it('is its PCI address, with the partition in the uppermost bits', () => {
    expect(kfdPciAddress(gpu({ location_id: 0xc100n, domain: 1n }))).toEqual({ pci: '0001:c1:00.0', partition: 0 });
    expect(kfdPciAddress(gpu({ location_id: 0x3000_c1f9n }))).toEqual({ pci: '0000:c1:1f.1', partition: 3 });
  });

  it('has the partition in the low bits on drivers that put it there', () => {
    const node = { gfx_target_version: 90402n, num_xcc: 1n };
    expect(kfdPciAddress(gpu({ ...node, location_id: 0x507n }))).toEqual({ pci: '0000:05:00.0', partition: 7 });
    expect(kfdPciAddress(gpu({ ...node, num_xcc: 4n, location_id: 0x701n }))).toEqual({
      pci: '0000:07:00.0',
      partition: 1,
    });
  });

  it('has a function, not a partition, in the low bits where there is no room for that partition', () => {
    const whole = { gfx_target_version: 90402n, num_xcc: 8n, location_id: 0x501n };
    expect(kfdPciAddress(gpu(whole))).toEqual({ pci: '0000:05:00.1', partition: 0 });
    expect(kfdPciAddress(gpu({ ...whole, num_xcc: 6n }))).toEqual({ pci: '0000:05:00.1', partition: 0 });
  });

  it('has a function in the low bits on parts that are never partitioned', () => {
    expect(kfdPciAddress(gpu({ gfx_target_version: 90010n, num_xcc: 1n, location_id: 0x6301n }))?.pci).toBe(
      '0000:63:00.1',
    );
    expect(kfdPciAddress(gpu({ location_id: 0x6301n }))).toEqual({ pci: '0000:63:00.1', partition: 0 });
  });

  it('is in domain 0 where the driver knows no domain, and in a wide one where it is wide', () => {
    expect(kfdPciAddress(new Map([...gpu({ location_id: 6400n })].filter(([key]) => key !== 'domain')))?.pci).toBe(
      '0000:19:00.0',
    );
    expect(kfdPciAddress(gpu({ location_id: 0x100n, domain: 0x10000n }))?.pci).toBe('10000:01:00.0');
  });

  it('is absent for a CPU node, without location and for bits of unknown meaning', () => {
    expect(kfdPciAddress(gpu({ simd_count: 0n, location_id: 0n }))).toBeUndefined();
    expect(kfdPciAddress(new Map([['location_id', 0x100n]]))).toBeUndefined();
    expect(kfdPciAddress(gpu({}))).toBeUndefined();
    expect(kfdPciAddress(gpu({ location_id: 0x10100n }))).toBeUndefined();
    expect(kfdPciAddress(gpu({ location_id: 0x1_0000_0100n }))).toBeUndefined();
    expect(kfdPciAddress(gpu({ location_id: 2n ** 60n }))).toBeUndefined();
  });

  it('comes back exactly in both encodings', () => {
    const part = { bus: fc.nat(255), slot: fc.nat(31), domain: fc.nat(0xffff), partition: fc.nat(7) };
    const pci = (domain: number, bus: number, slot: number) => {
      const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
      return `${hex(domain, 4)}:${hex(bus, 2)}:${hex(slot, 2)}.0`;
    };
    fc.assert(
      fc.property(fc.record(part), ({ bus, slot, domain, partition }) => {
        const device = BigInt(bus * 256 + slot * 8);
        const node = { gfx_target_version: 90402n, num_xcc: 1n, domain: BigInt(domain) };
        const expected = { pci: pci(domain, bus, slot), partition };
        expect(kfdPciAddress(gpu({ ...node, location_id: device + BigInt(partition) }))).toEqual(expected);
        expect(kfdPciAddress(gpu({ ...node, location_id: device + BigInt(partition) * 2n ** 28n }))).toEqual(expected);
      }),
    );
  });

  it('is a well-formed address or absent, whatever the properties', () => {
    const some = fc.option(u64, { nil: undefined });
    const keys = ['simd_count', 'location_id', 'domain', 'gfx_target_version', 'num_xcc'];
    fc.assert(
      fc.property(fc.tuple(some, some, some, some, some), (values) => {
        const node = new Map(keys.flatMap((key, at) => (values[at] === undefined ? [] : [[key, values[at]] as const])));
        const place = kfdPciAddress(node);
        if (place) expect(place.pci).toMatch(/^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/);
        if (place) expect(place.partition).toBeLessThan(16);
      }),
    );
  });
});

describe('the graphics target', () => {
  it('has minor and stepping as one hexadecimal digit each', () => {
    const names = {
      90006: 'gfx906',
      90008: 'gfx908',
      90010: 'gfx90a',
      90402: 'gfx942',
      90500: 'gfx950',
      100302: 'gfx1032',
    };
    for (const [version, name] of Object.entries({ ...names, 110000: 'gfx1100', 120001: 'gfx1201' }))
      expect(gfxName(Number(version))).toBe(name);
  });

  it('is absent for 0, for nothing and for what cannot be written so', () => {
    for (const version of [undefined, 0, -90010, 42, 90016, 91600, 9.5, Number.NaN])
      expect(gfxName(version)).toBeUndefined();
  });

  it('comes back exactly for every version', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99 }), fc.nat(15), fc.nat(15), (major, minor, stepping) => {
        const name = gfxName(major * 10000 + minor * 100 + stepping)!;
        expect(Number(name.slice(3, -2))).toBe(major);
        expect(Number.parseInt(name.at(-2)!, 16)).toBe(minor);
        expect(Number.parseInt(name.at(-1)!, 16)).toBe(stepping);
      }),
    );
    fc.assert(
      fc.property(fc.double(), (version) => {
        expect(gfxName(version) ?? 'gfx900').toMatch(/^gfx\d+[0-9a-f]{2}$/);
      }),
    );
  });
});

describe('KFD memory, links and caches', () => {
  it('are in bytes, hertz and bytes per second', () => {
    const bank = parseProperties('heap_type 1\nsize_in_bytes 17163091968\nflags 0\nwidth 2048\nmem_clk_max 945\n');
    expect(memoryBank(bank)).toEqual({ heap: 'vram_public', bytes: 17163091968, width: 2048, hertz: 945e6 });
    const link = parseProperties(
      'type 11\nnode_from 2\nnode_to 3\nweight 15\nmin_bandwidth 50000\nmax_bandwidth 400000\n',
    );
    expect(ioLink(link)).toEqual({ kind: 'xgmi', from: 2, to: 3, weight: 15, minBandwidth: 50e9, maxBandwidth: 400e9 });
    const cache = parseProperties('level 2\nsize 4096\ncache_line_size 128\ntype 9\n');
    expect(kfdCache(cache)).toEqual({ level: 2, bytes: 4096 * 1024, lineBytes: 128, data: true, instruction: false });
    expect(kfdCache(parseProperties('level 1\nsize 64\ntype 10\n'))).toMatchObject({ data: false, instruction: true });
  });

  it('have no bandwidth and no kind where the driver names none', () => {
    const link = parseProperties('type 1\nnode_from 0\nnode_to 1\nweight 20\nmin_bandwidth 0\nmax_bandwidth 0\n');
    expect(ioLink(link)).toEqual({ from: 0, to: 1, weight: 20 });
    expect(memoryBank(parseProperties('heap_type 4\nsize_in_bytes 0\nmem_clk_max 0\n'))).toEqual({ bytes: 0 });
    expect(ioLink(parseProperties('type 2\nnode_from 0\n'))).toBeUndefined();
    expect(kfdCache(parseProperties('level 2\n'))).toBeUndefined();
  });

  it('hold no number that does not stand in the text', () => {
    const noise = nearly(
      '\nnode_from ',
      '\nnode_to ',
      '\ntype 2',
      '\nmax_bandwidth ',
      '\nsize_in_bytes ',
      '\nlevel ',
      '\nsize ',
    );
    fc.assert(
      fc.property(noise, (text) => {
        const there = numbersIn(text);
        const properties = parseProperties(text);
        const link = ioLink(properties);
        const cache = kfdCache(properties);
        const { bytes } = memoryBank(properties);
        for (const number of [link?.from, link?.to, bytes, cache?.level, cache && cache.bytes / 1024])
          if (number !== undefined) expect(there).toContain(String(number));
      }),
    );
  });
});

describe('the KFD topology of real machines', () => {
  const nodes = (capture: string) => {
    const root = capturesDir();
    skipUnless(root, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)');
    const directory = join(root, capture, 'sys/class/kfd/kfd/topology/nodes');
    const numbers = readdirSync(directory).sort((a, b) => Number(a) - Number(b));
    return numbers.map((number) => parseProperties(readFileSync(join(directory, number, 'properties'), 'latin1')));
  };

  it('has 8 MI300X of 8 partitions in CPX, one node of them missing', () => {
    const gpus = nodes('mi300x-x8-cpx-kfd').filter(isGpuNode);
    expect(gpus).toHaveLength(63);
    const byAddress = new Map<string, number[]>();
    for (const node of gpus) {
      const { pci, partition } = kfdPciAddress(node)!;
      byAddress.set(pci, [...(byAddress.get(pci) ?? []), partition]);
      expect(computeUnits(node)).toBe(38);
      expect(gfxName(kfdNumber(node, 'gfx_target_version'))).toBe('gfx942');
    }
    expect(byAddress.size).toBe(8);
    expect(new Set(gpus.map((node) => node.get('unique_id'))).size).toBe(8);
    expect(byAddress.get('0000:05:00.0')).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(byAddress.get('0000:e5:00.0')).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('has two partitions a GPU in DPX', () => {
    const places = nodes('mi300x-x8-dpx').filter(isGpuNode).map(kfdPciAddress);
    expect(places).toHaveLength(6);
    expect(places.slice(0, 2)).toEqual([
      { pci: '0000:07:00.0', partition: 0 },
      { pci: '0000:07:00.0', partition: 1 },
    ]);
  });

  it('has 8 whole MI210, in an order that is not that of PCI', () => {
    const all = nodes('mi210-x8-two-hives-kfd');
    expect(all.map(isGpuNode).filter((one) => !one)).toHaveLength(2);
    const gpus = all.filter(isGpuNode);
    expect(gpus.map((node) => kfdPciAddress(node)?.pci)).toEqual(
      ['63', '43', '03', '26', 'e3', 'c3', '83', 'a3'].map((bus) => `0000:${bus}:00.0`),
    );
    expect(gpus.map(computeUnits)).toEqual(Array(8).fill(104));
    expect(gpus.map((node) => gfxName(kfdNumber(node, 'gfx_target_version')))).toEqual(Array(8).fill('gfx90a'));
  });

  it('is read from an old driver without domain, target and dies', () => {
    const [cpu, card] = nodes('mi25-kfd-legacy');
    expect(kfdPciAddress(cpu!)).toBeUndefined();
    expect(kfdPciAddress(card!)).toEqual({ pci: '0000:19:00.0', partition: 0 });
    expect(gfxName(kfdNumber(card!, 'gfx_target_version'))).toBeUndefined();
    expect(card!.get('unique_id')).toBe(5285648136045979252n);
  });
});
