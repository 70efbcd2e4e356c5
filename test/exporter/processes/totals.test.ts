import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seconds, step } from '../../../exporter/processes/counters.ts';
import type { Identity } from '../../../exporter/processes/identities.ts';
import { Identities } from '../../../exporter/processes/identities.ts';
import type { KfdScan } from '../../../exporter/processes/kfd.ts';
import { DrmTotals, KfdTotals } from '../../../exporter/processes/totals.ts';

const PCI = '0000:0c:00.0';
const place = { pci: PCI, partition: '0' };

describe('one step of a counter', () => {
  it('is nothing at the first sight, unless it is all new', () => {
    expect(step(undefined, 50n, false)).toEqual({ added: 0n, next: 50n });
    expect(step(undefined, 50n, true)).toEqual({ added: 50n, next: 50n });
  });

  it('is the difference, a clamped small step back, or all of a counter that began again', () => {
    expect(step(50n, 60n, false)).toEqual({ added: 10n, next: 60n });
    expect(step(50n, 49n, false)).toEqual({ added: 0n, next: 50n });
    expect(step(50n, 3n, false)).toEqual({ added: 3n, next: 3n });
  });

  it('is never negative, and what never falls is counted exactly', () => {
    const values = fc.array(fc.bigInt({ min: 0n, max: 1n << 60n }), { minLength: 1 });
    fc.assert(
      fc.property(values, fc.boolean(), (all, rising) => {
        const walk = rising ? [...all].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)) : all;
        let before: bigint | undefined;
        let sum = 0n;
        for (const now of walk) {
          const { added, next } = step(before, now, true);
          expect(added >= 0n).toBe(true);
          sum += added;
          before = next;
        }
        if (rising) expect(sum).toBe(walk.at(-1));
      }),
    );
  });
});

describe('identities', () => {
  it('are others when a PID comes back with another start, and the same when a look failed', () => {
    const ids = new Identities();
    const first = ids.resolve(7, { comm: 'a', start: 100n });
    expect(ids.resolve(7, {})).toBe(first);
    expect(ids.resolve(7, { comm: 'b', start: 100n })).toBe(first);
    expect(first.comm).toBe('b');
    expect(ids.resolve(7, { comm: 'a', start: 200n })).not.toBe(first);
  });
});

/** Scans with nothing but one file. */
const scanOf = (values: Record<number, bigint>, complete = true): KfdScan => ({
  complete,
  processes: new Map(
    Object.entries(values).map(([pid, sdma]) => [Number(pid), { pid: Number(pid), gpus: new Map([[1, { sdma }]]) }]),
  ),
});

describe('sums of compute processes', () => {
  const harness = () => {
    const totals = new KfdTotals();
    const ids = new Identities();
    const starts = new Map<number, bigint>();
    const identityOf = (pid: number): Identity => ids.resolve(pid, { start: starts.get(pid) ?? 1n });
    return { totals, starts, look: (scan: KfdScan) => totals.update(scan, identityOf, () => place) };
  };

  it('begin at 0 with our first look, and count later processes from their beginning', () => {
    const { totals, look } = harness();
    look(scanOf({ 7: 1000n }));
    expect(totals.get(PCI, 'sdma')).toBe(0n);
    look(scanOf({ 7: 1500n, 8: 300n }));
    expect(totals.get(PCI, 'sdma')).toBe(800n);
  });

  it('do not take a process for new that an unfinished look had missed', () => {
    const { totals, look } = harness();
    look(scanOf({ 7: 1000n }, false));
    look(scanOf({ 7: 1000n, 8: 300n }));
    expect(totals.get(PCI, 'sdma')).toBe(0n);
    look(scanOf({ 8: 350n }, false));
    look(scanOf({ 7: 1100n, 8: 350n }));
    expect(totals.get(PCI, 'sdma')).toBe(150n);
  });

  it('count a reused PID from its beginning though its counter is larger', () => {
    const { totals, starts, look } = harness();
    look(scanOf({ 7: 1000n }));
    starts.set(7, 2n);
    look(scanOf({ 7: 1500n }));
    expect(totals.get(PCI, 'sdma')).toBe(1500n);
  });

  it('never fall, whatever comes, goes, and is missed', () => {
    const look = fc.record({
      values: fc.dictionary(fc.constantFrom('1', '2', '3'), fc.bigInt({ min: 0n, max: 10_000n })),
      complete: fc.boolean(),
      restarted: fc.constantFrom(undefined, 1, 2, 3),
    });
    fc.assert(
      fc.property(fc.array(look), (looks) => {
        const { totals, starts, look: scan } = harness();
        let before = 0n;
        for (const { values, complete, restarted } of looks) {
          if (restarted) starts.set(restarted, (starts.get(restarted) ?? 1n) + 1n);
          scan(scanOf(values as Record<number, bigint>, complete));
          const now = totals.get(PCI, 'sdma');
          expect(now >= before).toBe(true);
          before = now;
        }
      }),
    );
  });
});

describe('sums of DRM clients', () => {
  const owner: Identity = { pid: 7, comm: 'a' };
  const other: Identity = { pid: 8, comm: 'b' };
  const clientOf = (id: bigint, gfx: bigint, pid = 7) => ({
    key: `${id}`,
    pid,
    client: { driver: 'amdgpu', clientId: id, regions: new Map(), amd: {}, engines: new Map([['gfx', gfx]]) },
  });
  const harness = () => {
    const totals = new DrmTotals();
    const update = (clients: ReturnType<typeof clientOf>[], whole = true) =>
      totals.update(
        clients,
        (pid) => (pid === 7 ? owner : other),
        () => place,
        whole,
        () => true,
      );
    const sum = () => totals.engines(PCI).get('gfx') ?? 0n;
    const own = (who: Identity) => totals.enginesOf(who, place).get('gfx') ?? 0n;
    return { totals, update, sum, own };
  };

  it('leave out what was used before the first look; the process itself shows all of it', () => {
    const { update, sum, own } = harness();
    update([clientOf(5n, 1000n)]);
    expect([sum(), own(owner)]).toEqual([0n, 1000n]);
    update([clientOf(5n, 1400n)]);
    expect([sum(), own(owner)]).toEqual([400n, 1400n]);
  });

  it('count a client whole that was opened since, and not one that was only hidden', () => {
    const { update, sum } = harness();
    update([clientOf(5n, 1000n)]);
    update([clientOf(5n, 1000n), clientOf(6n, 70n), clientOf(4n, 900n)]);
    expect(sum()).toBe(70n);
  });

  it('keep what closed clients used, for the card and for the process', () => {
    const { update, sum, own } = harness();
    update([]);
    update([clientOf(5n, 1000n), clientOf(6n, 100n)]);
    update([clientOf(6n, 150n)]);
    expect([sum(), own(owner)]).toEqual([1150n, 1150n]);
  });

  it('forget closed clients, and none that only was not met', () => {
    const { totals, update } = harness();
    update([clientOf(5n, 1000n), clientOf(6n, 100n)]);
    const closed = false;
    totals.update(
      [],
      () => owner,
      () => place,
      false,
      () => closed,
    );
    expect([totals.ownerOf('5'), totals.ownerOf('6')]).toEqual([7, 7]);
    update([clientOf(6n, 100n)]);
    expect([totals.ownerOf('5'), totals.ownerOf('6')]).toEqual([undefined, 7]);
  });

  it('clamp a step back until the old value is passed', () => {
    const { update, sum, own } = harness();
    update([]);
    for (const gfx of [1000n, 990n, 3n, 1010n]) update([clientOf(5n, gfx)]);
    expect([sum(), own(owner)]).toEqual([1010n, 1010n]);
  });

  it('give an heir only what is used after the heritage', () => {
    const { update, sum, own } = harness();
    update([]);
    update([clientOf(5n, 1000n)]);
    update([clientOf(5n, 1200n, 8)]);
    expect([sum(), own(owner), own(other)]).toEqual([1200n, 1000n, 200n]);
  });
});

describe('nanoseconds', () => {
  it('become seconds', () => {
    expect(seconds(107_322_799n)).toBeCloseTo(0.107322799, 12);
  });
});
