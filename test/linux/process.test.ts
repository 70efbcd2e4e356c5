import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DrmClient, parseFdinfo } from '../../linux/fdinfo.ts';
import {
  type DrmDescriptor,
  gpuDeviceOf,
  isForeignNamespace,
  parseComm,
  pidOf,
  printable,
  startSeconds,
  uniqueClients,
} from '../../linux/process.ts';

const client = (
  pci: string | undefined,
  clientId: bigint | undefined,
  engines: Record<string, bigint> = {},
): DrmClient => ({
  driver: 'amdgpu',
  ...(pci === undefined ? {} : { pci }),
  ...(clientId === undefined ? {} : { clientId }),
  regions: new Map(),
  amd: {},
  engines: new Map(Object.entries(engines)),
});
const nobody = () => undefined;
const lowerPid = (pid: number, than: number) => pid < than;

describe('targets of descriptors', () => {
  it.each([
    ['/dev/dri/renderD128', { device: 'dri', renderMinor: 128 }],
    ['/dev/dri/renderD190 (deleted)', { device: 'dri', renderMinor: 190 }],
    ['/dev/dri/card1', { device: 'dri' }],
    ['/dev/kfd', { device: 'kfd' }],
    ['/dev/kfd0', undefined],
    ['/home/dev/dri/card1', undefined],
    ['socket:[1234]', undefined],
    ['/dev/drinks', undefined],
    ['', undefined],
  ])('%s', (target, device) => {
    expect(gpuDeviceOf(target)).toEqual(device);
  });
});

describe('names of processes', () => {
  it('lose their newline only', () => {
    expect(parseComm('llama-server\n')).toBe('llama-server');
    expect(parseComm('two words\n')).toBe('two words');
    expect(parseComm('no newline')).toBe('no newline');
    expect(parseComm('\n')).toBe('');
    expect(parseComm('')).toBe('');
    expect(parseComm('padded\n\0\0\0')).toBe('padded');
  });

  it('have what steers terminals and logs written out', () => {
    expect(parseComm('a\nb\n')).toBe('a\\u{a}b');
    expect(parseComm('\x1b[31mred\n')).toBe('\\u{1b}[31mred');
    expect(printable('\u202eevil\u2028')).toBe('\\u{202e}evil\\u{2028}');
    expect(printable('Zoë "quoted" \\')).toBe('Zoë "quoted" \\');
  });

  it('never keep a control character, whatever the process chose', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 15 }), (name) => {
        expect(parseComm(`${name}\n`)).not.toMatch(/[\p{Cc}\u2028\u2029\u200e-\u202e]/u);
      }),
    );
  });
});

describe('processes', () => {
  it('are directories named by a positive number', () => {
    expect(['1', '4194304', 'self', '0', '12a', ''].map(pidOf)).toEqual([
      1,
      4194304,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('began so many hundredths of a second after the boot', () => {
    expect(startSeconds(1_700_000_000, 12_345n)).toBe(1_700_000_123.45);
  });

  it('are numbered as KFD does where PID 2 is the thread daemon, and in an excerpt of a tree', () => {
    expect(isForeignNamespace('systemd\n', 'kthreadd\n')).toBe(false);
    expect(isForeignNamespace(undefined, undefined)).toBe(false);
    expect(isForeignNamespace('bash\n', undefined)).toBe(true);
    expect(isForeignNamespace('tini\n', 'node\n')).toBe(true);
  });
});

describe('DRM clients', () => {
  it('are taken once when a descriptor was duplicated, with the largest engine times', () => {
    const unique = uniqueClients(
      [
        { pid: 7, fd: '3', client: client('0000:0c:00.0', 5n, { gfx: 10n, dec: 4n }) },
        { pid: 7, fd: '4', client: client('0000:0c:00.0', 5n, { gfx: 8n, enc: 1n }), renderMinor: 129 },
      ],
      nobody,
      lowerPid,
    );
    expect(unique).toHaveLength(1);
    expect(unique[0]).toMatchObject({ pid: 7, renderMinor: 129 });
    expect(unique[0]?.client.engines).toEqual(
      new Map([
        ['gfx', 10n],
        ['dec', 4n],
        ['enc', 1n],
      ]),
    );
  });

  it('belong to the oldest holder, unless another one had them before and still does', () => {
    const held = (pid: number): DrmDescriptor => ({ pid, fd: '3', client: client('0000:0c:00.0', 5n) });
    const started = new Map([
      [9, 100],
      [8, 200],
      [7, 300],
    ]);
    const isOlder = (pid: number, than: number) => (started.get(pid) ?? 0) < (started.get(than) ?? 0);
    const owner = (before: number | undefined) =>
      uniqueClients([held(7), held(9), held(8)], () => before, isOlder)[0]?.pid;
    expect(owner(undefined)).toBe(9);
    expect(owner(8)).toBe(8);
    expect(owner(1)).toBe(9);
  });

  it('of different cards are different though their ids are the same', () => {
    const two = [client('0000:0c:00.0', 5n), client('0000:0d:00.0', 5n)];
    expect(
      uniqueClients(
        two.map((one, i) => ({ pid: 7, fd: `${i}`, client: one })),
        nobody,
        lowerPid,
      ),
    ).toHaveLength(2);
  });

  it('without id are told apart by their address space, else by descriptor', () => {
    const pasid = { ...client('0000:0c:00.0', undefined), pasid: 32784 };
    expect(
      uniqueClients(
        [3, 4].map((fd) => ({ pid: 7, fd: `${fd}`, client: pasid })),
        nobody,
        lowerPid,
      ),
    ).toHaveLength(1);
    const bare = client('0000:0c:00.0', undefined);
    expect(
      uniqueClients(
        [3, 4].map((fd) => ({ pid: 7, fd: `${fd}`, client: bare })),
        nobody,
        lowerPid,
      ),
    ).toHaveLength(2);
  });

  it('come out once each, in whatever order and how often their descriptors stand', () => {
    const descriptor = fc.record({
      pid: fc.integer({ min: 1, max: 4 }),
      fd: fc.nat(9).map(String),
      id: fc.bigInt({ min: 0n, max: 5n }),
      gfx: fc.bigInt({ min: 0n, max: 1000n }),
    });
    fc.assert(
      fc.property(fc.array(descriptor), (all) => {
        const unique = uniqueClients(
          all.map(({ pid, fd, id, gfx }) => ({ pid, fd, client: client('0000:0c:00.0', id, { gfx }) })),
          nobody,
          lowerPid,
        );
        expect(unique.map((one) => one.client.clientId).sort()).toEqual([...new Set(all.map(({ id }) => id))].sort());
        for (const one of unique) {
          const holders = all.filter(({ id }) => id === one.client.clientId);
          expect(one.pid).toBe(Math.min(...holders.map(({ pid }) => pid)));
          const busy = one.client.engines.get('gfx');
          expect(holders.map(({ gfx }) => gfx)).toContain(busy);
          for (const { gfx } of holders) expect(busy).toBeGreaterThanOrEqual(gfx);
        }
      }),
    );
  });

  it('are what fdinfo says, and not what any other text says', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const parsed = parseFdinfo(text);
        if (parsed !== undefined) expect(text).toContain('drm-driver');
      }),
    );
  });
});
