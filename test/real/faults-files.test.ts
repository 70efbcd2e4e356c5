import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Errno, type FaultFs, faultsUnavailable } from '../support/faultfs.ts';
import { deviceDir, type FaultyNode, faultyNode, type Running, runExporter } from '../support/faulty-node.ts';
import { skipUnless } from '../support/skips.ts';

/** The card that fails, of eight. */
const BAD = 3;
const OTHERS = [0, 1, 2, 4, 5, 6, 7];
const TOPOLOGY = 'sys/devices/virtual/kfd/kfd/topology';
const unavailable = faultsUnavailable();

let node: FaultyNode;
let card: FaultFs;
let topology: FaultFs;

beforeAll(async () => {
  if (unavailable !== undefined) return;
  node = await faultyNode({ model: 'mi300x', cards: 8 }, (one) => [deviceDir(one, BAD), TOPOLOGY]);
  card = node.faults(node.dir(BAD));
  topology = node.faults(TOPOLOGY);
});
afterAll(() => node?.remove());
beforeEach(async () => {
  skipUnless(unavailable === undefined, unavailable ?? '');
  await card.clear();
  await topology.clear();
});

const hwmon = (): string => `hwmon/hwmon${node.node.gpus[BAD]?.hwmon}`;
/** Settled: the plan of files is made after the first table was read. */
async function run(): Promise<Running> {
  const running = await runExporter(node.path);
  await running.scrape();
  return running;
}

const REASONS: [Errno, string][] = [
  ['EBUSY', 'busy'],
  ['EPERM', 'busy'],
  ['EIO', 'timeout'],
  ['EINVAL', 'failed'],
  ['ENODATA', 'absent'],
  ['EOPNOTSUPP', 'unsupported'],
  ['EACCES', 'denied'],
  ['ENODEV', 'gone'],
];

describe('gpu_metrics alone', () => {
  it.each(REASONS)('fails with %s: the single files say it in the same scrape, counted as %s', async (errno, reason) => {
    const { scrape } = await run();
    const well = await scrape();
    const before = well.errors(BAD, 'gpu_metrics', reason);
    // On kept descriptors the right to open is not asked for again.
    await card.set('gpu_metrics', { errno, on: 'read' });
    const bad = await scrape();
    expect(bad.health(BAD)).toBe('ok');
    expect(bad.errors(BAD, 'gpu_metrics', reason)).toBe(before + 1);
    for (const name of ['amdgpu_power_watts', 'amdgpu_busy_ratio', 'amdgpu_temperature_celsius', 'amdgpu_clock_hertz'])
      expect(bad.samples(name, { gpu: BAD }), name).not.toEqual([]);
    expect(bad.value('amdgpu_temperature_celsius', { gpu: BAD, sensor: 'junction' })).toBe(
      well.value('amdgpu_temperature_celsius', { gpu: BAD, sensor: 'junction' }),
    );
    expect(bad.read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    await card.clear();
    const again = await scrape();
    expect(again.familiesOf(BAD)).toEqual(well.familiesOf(BAD));
    expect(again.errors(BAD, 'gpu_metrics', reason)).toBe(before + 1);
  });

  it('is empty: the single files say it, and it is counted as absent', async () => {
    const { scrape } = await run();
    await card.set('gpu_metrics', { empty: true });
    const bad = await scrape();
    expect(bad.health(BAD)).toBe('ok');
    expect(bad.errors(BAD, 'gpu_metrics', 'absent')).toBe(1);
    expect(bad.read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('is empty from the start: the same', async () => {
    await card.set('gpu_metrics', { empty: true });
    const { scrape } = await run();
    const bad = await scrape();
    expect(bad.health(BAD)).toBe('ok');
    expect(bad.read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});

describe('one hwmon file', () => {
  it.each(REASONS)('fails with %s: its own series is missing, counted as %s, and nothing else', async (errno, reason) => {
    const { scrape } = await run();
    const well = await scrape();
    await card.set(`${hwmon()}/power1_cap`, { errno, on: 'read' });
    const bad = await scrape();
    expect(bad.value('amdgpu_power_cap_watts', { gpu: BAD })).toBeUndefined();
    expect(bad.errors(BAD, 'power1_cap', reason)).toBe(1);
    expect(bad.health(BAD)).toBe('ok');
    expect(bad.familiesOf(BAD)).toEqual(well.familiesOf(BAD).filter((name) => name !== 'amdgpu_power_cap_watts'));
    for (const gpu of OTHERS) expect(bad.familiesOf(gpu)).toEqual(well.familiesOf(gpu));
    expect(bad.value('amdgpu_exporter_collector_success', { collector: 'power' })).toBe(
      ['EIO', 'EINVAL', 'EACCES'].includes(errno) ? 0 : 1,
    );
  });
});

describe('every file of one card', () => {
  const STATES: [Errno, string, string][] = [
    ['EBUSY', 'resetting', 'busy'],
    ['EPERM', 'resetting', 'busy'],
    ['EIO', 'silent', 'timeout'],
    ['ENODEV', 'gone', 'gone'],
  ];

  it.each(STATES)('fails with %s: the card is %s and the other seven are complete', async (errno, state, reason) => {
    const { scrape, logged } = await run();
    const well = await scrape();
    await card.set('**', { errno, on: 'read' });
    for (let i = 0; i < 3; i++) {
      const bad = await scrape();
      expect(bad.health(BAD)).toBe(state);
      expect(bad.value('amdgpu_up', { gpu: BAD })).toBe(0);
      expect(bad.errors(BAD, 'card', reason)).toBeGreaterThan(i);
      expect(bad.read()).toEqual(OTHERS);
      for (const gpu of OTHERS) expect(bad.familiesOf(gpu)).toEqual(well.familiesOf(gpu));
    }
    expect(logged.filter((line) => line.includes(`card is ${state}`))).toHaveLength(1);
    await card.clear();
    const again = await scrape();
    expect(again.health(BAD)).toBe('ok');
    expect(again.familiesOf(BAD)).toEqual(well.familiesOf(BAD));
  });

  it('is in reset but for the driver’s own books, as on real cards: resetting', async () => {
    const { scrape } = await run();
    for (const pattern of ['gpu_metrics', 'pp_*', '*_busy_percent', 'hwmon/**', 'power_dpm_*'])
      await card.set(pattern, { errno: 'EBUSY' });
    const bad = await scrape();
    expect(bad.health(BAD)).toBe('resetting');
    expect(bad.read()).toEqual(OTHERS);
  });

  it('is empty: the card is silent', async () => {
    const { scrape } = await run();
    await card.set('**', { empty: true });
    const bad = await scrape();
    expect(bad.health(BAD)).toBe('silent');
    expect(bad.read()).toEqual(OTHERS);
  });

  it('fails with EBUSY from the start: the card is known, and complete when its reset is over', async () => {
    const well = await (await run()).scrape();
    await card.set('{gpu_metrics}', { errno: 'EBUSY' });
    for (const pattern of ['*', 'hwmon/**', 'ras/**', 'fw_version/**', 'compute_partition_config/**'])
      await card.set(pattern, { errno: 'EBUSY' });
    for (const name of ['uevent', 'vendor', 'device']) await card.set(name, { delayMs: 0 });
    const { scrape } = await run();
    const bad = await scrape();
    expect(bad.value('amdgpu_gpus')).toBe(8);
    expect(bad.health(BAD)).toBe('resetting');
    expect(bad.read()).toEqual(OTHERS);
    await card.clear();
    const again = await scrape();
    expect(again.health(BAD)).toBe('ok');
    const info = (one: typeof well): unknown => one.samples('amdgpu_info', { gpu: BAD });
    expect(info(again)).toEqual(info(well));
    expect((await scrape()).familiesOf(BAD)).toEqual(expect.arrayContaining(['amdgpu_temperature_limit_celsius']));
  });
});

describe('the topology', () => {
  const partitions = (one: Awaited<ReturnType<Running['scrape']>>): number[] =>
    one.samples('amdgpu_info').map(({ labels }) => Number(labels.gpu));

  it('is hidden for one node (EPERM, a device cgroup): the card is there all the same, and no other appears', async () => {
    const kfdNode = node.node.gpus[BAD]?.partitions[0]?.kfdNode;
    await topology.set(`nodes/${kfdNode}/properties`, { errno: 'EPERM' });
    await topology.set(`nodes/${kfdNode}/name`, { errno: 'EPERM' });
    const { scrape } = await run();
    const bad = await scrape();
    expect(bad.value('amdgpu_gpus')).toBe(8);
    expect(bad.read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(partitions(bad)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(bad.samples('amdgpu_info', { gpu: BAD })[0]?.labels.gfx).toBe('');
    expect(bad.samples('amdgpu_info', { gpu: 0 })[0]?.labels.gfx).toBe('gfx942');
  });

  it.each(REASONS)('fails with %s in every file: the cards are read, without what only it says', async (errno) => {
    await topology.set('**', { errno, on: 'read' });
    const { scrape } = await run();
    const bad = await scrape();
    expect(bad.value('amdgpu_gpus')).toBe(8);
    expect(bad.read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('hangs while the exporter runs: what is known of it is kept, and no scrape waits for it again', async () => {
    const { scrape } = await run();
    const well = await scrape();
    await topology.set('**', { hangSeconds: 30 });
    await scrape();
    const start = performance.now();
    const bad = await scrape();
    expect(performance.now() - start).toBeLessThan(300);
    for (const gpu of [0, BAD]) expect(bad.familiesOf(gpu)).toEqual(well.familiesOf(gpu));
  });
});

describe('a table that cannot be read', () => {
  const table = (): string => join(node.source(node.dir(BAD)), 'gpu_metrics');
  const header = (size: number, format: number, content: number): Buffer => {
    const bytes = Buffer.alloc(Math.max(4, size));
    bytes.writeUInt16LE(size, 0);
    bytes[2] = format;
    bytes[3] = content;
    return bytes;
  };
  const CASES: [string, Buffer, string, RegExp][] = [
    ['has an unknown version', header(512, 7, 42), 'unsupported', /version 7\.42/],
    ['has a header of garbage', Buffer.from('this is not a table at all\n'), 'unsupported', /version/],
    ['is 4096 bytes of NUL', Buffer.alloc(4096), 'implausible', /gpu_metrics of/],
    ['ends within its header', Buffer.from([1, 2]), 'implausible', /gpu_metrics of/],
  ];

  it.each(CASES)('%s: the files take over, and one warning says so', async (_, bytes, reason, warning) => {
    const { scrape, logged } = await run();
    const well = await scrape();
    await card.set('gpu_metrics', { delayMs: 0 });
    const { readFileSync } = await import('node:fs');
    const original = readFileSync(table());
    writeFileSync(table(), bytes);
    try {
      for (let i = 0; i < 3; i++) {
        const bad = await scrape();
        expect(bad.health(BAD)).toBe('ok');
        expect(bad.read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      }
      const bad = await scrape();
      expect(bad.errors(BAD, 'gpu_metrics', reason)).toBe(4);
      const warnings = logged.filter((line) => line.includes('gpu_metrics'));
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(warning);
    } finally {
      writeFileSync(table(), original);
    }
    expect((await scrape()).familiesOf(BAD)).toEqual(well.familiesOf(BAD));
  });

  it('is shorter than its version: what is there is shown', async () => {
    const { scrape } = await run();
    const { readFileSync } = await import('node:fs');
    const original = readFileSync(table());
    writeFileSync(table(), original.subarray(0, 200));
    try {
      const bad = await scrape();
      expect(bad.health(BAD)).toBe('ok');
      expect(bad.read()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    } finally {
      writeFileSync(table(), original);
    }
  });
});
