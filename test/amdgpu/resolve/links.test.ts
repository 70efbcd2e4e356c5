import { describe, expect, it } from 'vitest';
import { resolvePcie, resolvePcieSlow } from '../../../amdgpu/resolve/pcie.ts';
import { resolveLinks, resolveXgmi, resolveXgmiSlow } from '../../../amdgpu/resolve/xgmi.ts';
import { pcie } from '../../../model/quantities/pcie.ts';
import { xgmi } from '../../../model/quantities/xgmi.ts';
import { Bench, kfdNode, once, props, table } from './fixture.ts';

describe('the PCIe link', () => {
  const files = { current_link_speed: '8.0 GT/s PCIe\n', current_link_width: '8\n' };

  it('is told by the table of an Instinct, in tenths of GT/s', () => {
    const given = { table: table('1.8', { pcie_link_speed: 320n, pcie_link_width: 16 }), files };
    const bench = once(resolvePcie, { family: 'mi300', ...given });
    expect(bench.value(pcie.linkSpeed)).toBe(32e9);
    expect(bench.value(pcie.linkWidth)).toBe(16);
  });

  it('is told by the files elsewhere, and where the table says 0 or nothing', () => {
    const set = table('1.3', { pcie_link_speed: 160n, pcie_link_width: 16 });
    expect(once(resolvePcie, { family: 'navi2', table: set, files }).value(pcie.linkSpeed)).toBe(8e9);
    expect(once(resolvePcie, { family: 'navi2', table: set }).value(pcie.linkSpeed)).toBe(16e9);
    const zero = table('1.3', { pcie_link_speed: 0n, pcie_link_width: 0 });
    expect(once(resolvePcie, { family: 'mi200', table: zero, files }).value(pcie.linkWidth)).toBe(8);
    expect(once(resolvePcie, { family: 'mi200', table: zero }).labels(pcie.linkWidth)).toEqual([]);
  });

  it('that is unknown has no speed', () => {
    const bench = once(resolvePcie, { family: 'mi200', files: { current_link_speed: 'Unknown\n' } });
    expect(bench.labels(pcie.linkSpeed)).toEqual([]);
  });

  it('has its replays from the table, or else from the file with every bit', () => {
    const both = { table: table('1.8', { pcie_replay_count_acc: 7n }), files: { pcie_replay_count: '3\n' } };
    expect(once(resolvePcie, { family: 'mi300', ...both }).value(pcie.replays)).toBe(7);
    const wide = once(resolvePcie, { family: 'mi200', files: { pcie_replay_count: '9007199254740993\n' } });
    expect(wide.value(pcie.replays)).toBe(9007199254740993n);
  });

  it('of an APU has none of the table\u2019s counters', () => {
    const bench = once(resolvePcie, { family: 'mi300', table: table('1.8', {}) });
    for (const quantity of Object.values(pcie)) expect(bench.labels(quantity), quantity.key).toEqual([]);
  });

  it('that came out of reset with a smaller replay count is doubted once', () => {
    const bench = new Bench();
    const at = (count: bigint) => ({ family: 'mi300' as const, table: table('1.8', { pcie_replay_count_acc: count }) });
    bench.pass(resolvePcie, at(9n));
    bench.pass(resolvePcie, at(1n));
    expect(bench.value(pcie.replays)).toBeUndefined();
    bench.pass(resolvePcie, at(2n));
    expect(bench.value(pcie.replays)).toBe(2);
  });

  it('has error reports without their sum, which would count twice', () => {
    const files = { aer_dev_correctable: 'RxErr 3\nBadTLP 0\nTOTAL_ERR_COR 3\n' };
    const bench = once(resolvePcieSlow, { family: 'mi300', files });
    expect(bench.labels(pcie.aer)).toEqual(['correctable.RxErr', 'correctable.BadTLP']);
  });
});

describe('XGMI', () => {
  it('counts bytes of 1024 to a kilobyte by link, and leaves out links that lead nowhere', () => {
    const bench = once(resolveXgmi, {
      family: 'mi300',
      table: table('1.8', { xgmi_read_data_acc: [5n, undefined, 7n], xgmi_link_speed: 32, xgmi_link_width: 16 }),
    });
    expect(bench.labels(xgmi.read)).toEqual(['0', '2']);
    expect(bench.value(xgmi.read, '2')).toBe(7168);
    expect(bench.value(xgmi.linkSpeed)).toBe(32e9);
    expect(bench.labels(xgmi.write)).toEqual([]);
  });

  it('keeps every bit of what does not fit a number', () => {
    const wide = 2n ** 50n + 1n;
    const bench = once(resolveXgmi, { family: 'mi300', table: table('1.8', { xgmi_write_data_acc: [wide] }) });
    expect(bench.value(xgmi.write, '0')).toBe(wide * 1024n);
  });

  it('has the state of a link, and of none that does not exist', () => {
    const bench = once(resolveXgmi, { family: 'mi300', table: table('1.8', { xgmi_link_status: [0n, 1n] }) });
    expect(bench.value(xgmi.linkState, '0', 'down')).toBe(1);
    expect(bench.value(xgmi.linkState, '1', 'up')).toBe(1);
    expect(bench.labels(xgmi.linkState)).toHaveLength(6);
  });

  it('adds up error flags once for each read that found them', () => {
    const bench = new Bench();
    const given = { family: 'mi100' as const, files: { xgmi_error: '1\n' } };
    bench.pass(resolveXgmiSlow, given);
    bench.pass(resolveXgmiSlow, given);
    expect(bench.value(xgmi.errors, 'single')).toBe(2n);
    const context = bench.context(given);
    context.raw.takeFresh('xgmi_error');
    resolveXgmiSlow(context);
    expect(bench.value(xgmi.errors, 'single')).toBe(2n);
    expect(bench.value(xgmi.errors, 'multiple')).toBe(0n);
  });

  it('takes the hive from the topology where the file is missing, and none from a 0', () => {
    const of = (hive_id: bigint) => once(resolveXgmiSlow, { family: 'mi200', kfd: [kfdNode(1, { hive_id })] });
    expect(of(2n ** 62n + 1n).labels(xgmi.hive)).toEqual([`${2n ** 62n + 1n}..`]);
    expect(of(0n).labels(xgmi.hive)).toEqual([]);
  });

  it('links lead to cards and to the CPU, not to partitions of the same card nor twice to another', () => {
    const link = (to: number) => props({ type: 11, node_from: 1, node_to: to, weight: 15, max_bandwidth: 64000 });
    const node = kfdNode(1, {}, { ioLinks: [link(0), link(2), link(3), link(4)] });
    const bench = new Bench();
    const peers: Record<number, string | undefined> = { 0: 'cpu', 2: '0', 3: '1', 4: undefined };
    bench.pass((context) => resolveLinks(context, (to) => peers[to]), { family: 'mi300', kfd: [node] });
    expect(bench.labels(xgmi.ioLink)).toEqual(['xgmi.cpu', 'xgmi.1']);
    expect(bench.value(xgmi.ioLinkBandwidth, 'xgmi', '1')).toBe(64e9);
  });
});
