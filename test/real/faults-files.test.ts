import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { NodeDescription } from '../../sim/tree.ts';
import { type Errno, type FaultFs, faultsUnavailable } from '../support/faultfs.ts';
import {
  deviceDir,
  type FaultyNode,
  faultyNode,
  type Running,
  runExporter,
  type Scrape,
} from '../support/faulty-node.ts';
import { skipUnless } from '../support/skips.ts';

/** The card that fails, of four. */
const BAD = 2;
const OTHERS = [0, 1, 3];
const ALL = [0, 1, 2, 3];
const topologyNode = (one: NodeDescription): string =>
  `sys/devices/virtual/kfd/kfd/topology/nodes/${one.gpus[BAD]?.partitions[0]?.kfdNode}`;
const unavailable = faultsUnavailable();

let node: FaultyNode;
let card: FaultFs;
let topology: FaultFs;

beforeAll(async () => {
  if (unavailable !== undefined) return;
  node = await faultyNode({ model: 'mi300x', cards: 4 }, (one) => [deviceDir(one, BAD), topologyNode(one)]);
  card = node.faults(node.dir(BAD));
  topology = node.faults(topologyNode(node.node));
  running = await runExporter(node.path);
});
afterAll(async () => {
  running?.close();
  await node?.remove();
});
beforeEach(async () => {
  skipUnless(unavailable === undefined, unavailable ?? '');
  await card.clear();
  await topology.clear();
  well = await settled();
});

/** As many families as the card has had at the most. */
let most = 0;

/**
 * A card that was gone is looked for once a second, and its costly files are read beside the scrapes, a few at a time: it is
 * whole when no more come, and whole again when it has as many as it ever had.
 */
async function settled(): Promise<Scrape> {
  let unchanged = 0;
  const scrape = await running.until((one) => {
    const count = one.familiesOf(BAD).length;
    unchanged = count === most ? unchanged + 1 : 0;
    most = Math.max(most, count);
    return one.health(BAD) === 'ok' && hasAll(one) && unchanged >= 3;
  });
  if (scrape === undefined) throw new Error('the card does not come back');
  return scrape;
}

const hasAll = (scrape: Scrape): boolean =>
  ['amdgpu_ras_errors_total', 'amdgpu_firmware_info'].every((name) => scrape.samples(name, { gpu: BAD }).length > 0);

const hwmon = (): string => `hwmon/hwmon${node.node.gpus[BAD]?.hwmon}`;

/** One that was started while all was well, for what happens at runtime; others are started where the start matters. */
let running: Running;
/** What the running one said before the fault. */
let well: Scrape;

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
  it.each(REASONS)(
    'fails with %s: the single files say it in the same scrape, counted as %s',
    async (errno, reason) => {
      const { scrape } = running;
      const before = well.errors(BAD, 'gpu_metrics', reason);
      // On kept descriptors the right to open is not asked for again.
      await card.set('gpu_metrics', { errno, on: 'read' });
      const bad = await scrape();
      expect(bad.health(BAD)).toBe('ok');
      expect(bad.errors(BAD, 'gpu_metrics', reason)).toBe(before + 1);
      for (const name of [
        'amdgpu_power_watts',
        'amdgpu_busy_ratio',
        'amdgpu_temperature_celsius',
        'amdgpu_clock_hertz',
      ])
        expect(bad.samples(name, { gpu: BAD }), name).not.toEqual([]);
      expect(bad.value('amdgpu_temperature_celsius', { gpu: BAD, sensor: 'junction' })).toBe(
        well.value('amdgpu_temperature_celsius', { gpu: BAD, sensor: 'junction' }),
      );
      expect(bad.read()).toEqual(ALL);
      await card.clear();
      const again = await scrape();
      expect(again.familiesOf(BAD)).toEqual(well.familiesOf(BAD));
      expect(again.errors(BAD, 'gpu_metrics', reason)).toBe(before + 1);
    },
  );

  it('is empty: the single files say it, and it is counted as absent', async () => {
    const { scrape } = running;
    const before = well.errors(BAD, 'gpu_metrics', 'absent');
    await card.set('gpu_metrics', { empty: true });
    const bad = await scrape();
    expect(bad.health(BAD)).toBe('ok');
    expect(bad.errors(BAD, 'gpu_metrics', 'absent')).toBe(before + 1);
    expect(bad.read()).toEqual(ALL);
  });

  it('is empty from the start: the same', async () => {
    await card.set('gpu_metrics', { empty: true });
    const { scrape } = await runExporter(node.path);
    const bad = await scrape();
    expect(bad.health(BAD)).toBe('ok');
    expect(bad.read()).toEqual(ALL);
  });
});

describe('one hwmon file', () => {
  it.each(REASONS)(
    'fails with %s: its own series is missing, counted as %s, and nothing else',
    async (errno, reason) => {
      const { scrape } = running;
      await card.set(`${hwmon()}/power1_cap`, { errno, on: 'read' });
      const bad = await scrape();
      expect(bad.value('amdgpu_power_cap_watts', { gpu: BAD })).toBeUndefined();
      expect(bad.errors(BAD, 'power1_cap', reason)).toBe(well.errors(BAD, 'power1_cap', reason) + 1);
      expect(bad.health(BAD)).toBe('ok');
      expect(bad.familiesOf(BAD)).toEqual(well.familiesOf(BAD).filter((name) => name !== 'amdgpu_power_cap_watts'));
      for (const gpu of OTHERS) expect(bad.familiesOf(gpu)).toEqual(well.familiesOf(gpu));
      expect(bad.value('amdgpu_exporter_collector_success', { collector: 'power' })).toBe(
        ['EIO', 'EINVAL', 'EACCES'].includes(errno) ? 0 : 1,
      );
    },
  );
});

describe('every file of one card', () => {
  const STATES: [Errno, string, string][] = [
    ['EBUSY', 'resetting', 'busy'],
    ['EIO', 'silent', 'timeout'],
    ['ENODEV', 'gone', 'gone'],
  ];

  it.each(STATES)('fails with %s: the card is %s and the others are complete', async (errno, state, reason) => {
    const { scrape, logged } = running;
    logged.length = 0;
    await card.set('**', { errno, on: 'read' });
    for (let i = 0; i < 3; i++) {
      const bad = await scrape();
      expect(bad.health(BAD)).toBe(state);
      expect(bad.value('amdgpu_up', { gpu: BAD })).toBe(0);
      expect(bad.errors(BAD, 'card', reason)).toBeGreaterThan(well.errors(BAD, 'card', reason));
      expect(bad.read()).toEqual(OTHERS);
      for (const gpu of OTHERS) expect(bad.familiesOf(gpu)).toEqual(well.familiesOf(gpu));
    }
    expect(logged.filter((line) => line.includes(`card is ${state}`) && line.includes(`gpu=${BAD}`))).toHaveLength(1);
    await card.clear();
    expect((await settled()).familiesOf(BAD)).toEqual(well.familiesOf(BAD));
  });

  it('is in reset but for the driver’s own books, as on real cards: resetting', async () => {
    const { scrape } = running;
    for (const pattern of ['gpu_metrics', 'pp_*', '*_busy_percent', 'hwmon/**', 'power_dpm_*'])
      await card.set(pattern, { errno: 'EBUSY' });
    const bad = await scrape();
    expect(bad.health(BAD)).toBe('resetting');
    expect(bad.read()).toEqual(OTHERS);
  });

  it('is empty: the card is silent', async () => {
    const { scrape } = running;
    await card.set('**', { empty: true });
    const bad = await scrape();
    expect(bad.health(BAD)).toBe('silent');
    expect(bad.read()).toEqual(OTHERS);
  });

  it('fails with EBUSY from the start: the card is known, and complete when its reset is over', async () => {
    for (const pattern of ['*', 'hwmon/**', 'ras/**', 'fw_version/**', 'compute_partition_config/**', 'xcp/**'])
      await card.set(pattern, { errno: 'EBUSY' });
    for (const name of ['uevent', 'vendor', 'device']) await card.set(name, { delayMs: 0 });
    const { scrape, until } = await runExporter(node.path);
    await until((one) => one.health(BAD) === 'resetting');
    const bad = await scrape();
    expect(bad.value('amdgpu_gpus')).toBe(4);
    expect(bad.health(BAD)).toBe('resetting');
    expect(bad.read()).toEqual(OTHERS);
    await card.clear();
    const again = await until((one) => one.health(BAD) === 'ok' && hasAll(one));
    expect(again?.samples('amdgpu_info', { gpu: BAD })).toEqual(well.samples('amdgpu_info', { gpu: BAD }));
    expect(again?.familiesOf(BAD)).toEqual(well.familiesOf(BAD));
  });
});

describe('one node of the topology', () => {
  it('is hidden (EPERM, a device cgroup): the card is there all the same, and no other appears', async () => {
    await topology.set('properties', { errno: 'EPERM' });
    await topology.set('name', { errno: 'EPERM' });
    const { scrape } = await runExporter(node.path);
    const bad = await scrape();
    expect(bad.value('amdgpu_gpus')).toBe(4);
    expect(bad.read()).toEqual(ALL);
    expect(bad.samples('amdgpu_info').map(({ labels }) => Number(labels.gpu))).toEqual(ALL);
    expect(bad.samples('amdgpu_info', { gpu: BAD })[0]?.labels.gfx ?? '').toBe('');
    expect(bad.samples('amdgpu_info', { gpu: 0 })[0]?.labels.gfx).toBe('gfx942');
  });

  it.each(['EIO', 'ENODEV', 'EACCES'] as const)(
    'fails with %s in every file: the cards are read, without what only it says',
    async (errno) => {
      await topology.set('**', { errno, on: 'read' });
      const { scrape } = await runExporter(node.path);
      const bad = await scrape();
      expect(bad.value('amdgpu_gpus')).toBe(4);
      expect(bad.read()).toEqual(ALL);
    },
  );

  it('hangs from the start: the cards are found without it, and it is not asked a second time meanwhile', async () => {
    await topology.set('**', { hangSeconds: 30 });
    const start = performance.now();
    const { until, exporter } = await runExporter(node.path, { laneDeadlineMs: 400 });
    expect((await until((one) => one.read().length === ALL.length))?.read()).toEqual(ALL);
    expect(performance.now() - start).toBeLessThan(20_000);
    expect(exporter.pool.stats.stuck).toEqual(['kfd']);
  });

  it('hangs where its caches are: nothing waits for them, and they are there when it has answered', async () => {
    await topology.set('caches/**', { hangSeconds: 30, on: 'open' });
    const { scrape, until } = await runExporter(node.path, { laneDeadlineMs: 400 });
    const bad = await scrape();
    expect(bad.read()).toEqual(ALL);
    expect(bad.samples('amdgpu_caches', { gpu: BAD })).toEqual([]);
    expect(bad.samples('amdgpu_compute_units', { gpu: BAD })).toHaveLength(1);
    await topology.clear();
    const again = await until((one) => one.samples('amdgpu_caches', { gpu: BAD }).length > 0);
    expect(again?.samples('amdgpu_caches', { gpu: BAD })).toEqual(well.samples('amdgpu_caches', { gpu: BAD }));
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
    const { scrape, logged } = running;
    logged.length = 0;
    const original = readFileSync(table());
    writeFileSync(table(), bytes);
    try {
      for (let i = 0; i < 3; i++) {
        const bad = await scrape();
        expect(bad.health(BAD)).toBe('ok');
        expect(bad.read()).toEqual(ALL);
      }
      const bad = await scrape();
      expect(bad.errors(BAD, 'gpu_metrics', reason)).toBe(well.errors(BAD, 'gpu_metrics', reason) + 4);
      const warnings = logged.filter((line) => line.includes('level=warn') && line.includes('gpu_metrics'));
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(warning);
    } finally {
      writeFileSync(table(), original);
    }
    expect((await scrape()).familiesOf(BAD)).toEqual(well.familiesOf(BAD));
  });

  it('is shorter than its version: what is there is shown', async () => {
    const { scrape } = running;
    const original = readFileSync(table());
    writeFileSync(table(), original.subarray(0, 200));
    try {
      const bad = await scrape();
      expect(bad.health(BAD)).toBe('ok');
      expect(bad.read()).toEqual(ALL);
    } finally {
      writeFileSync(table(), original);
    }
  });
});
