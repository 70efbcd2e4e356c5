import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderNode } from '../../sim/tree.ts';
import { type Lab, lab } from './living.ts';

const kfdNodes = ({ dir }: Lab): string[] => readdirSync(join(dir, 'sys/class/kfd/kfd/topology/nodes'));
const generation = ({ dir }: Lab): number =>
  Number(readFileSync(join(dir, 'sys/class/kfd/kfd/topology/generation_id'), 'utf8'));

describe('by hand', () => {
  it('a load holds a GPU at a busy share until it is given back', () => {
    const { live, clock, number } = lab({ node: { model: 'mi210', cards: 2 } });
    expect(live.load(1, 0.8)).toBe('load: GPU 1');
    clock.advance(20_000);
    expect(number(1, 'gpu_busy_percent')).toBeGreaterThan(70);
    live.event('load', '1', 'auto');
    clock.advance(2000);
    expect(number(1, 'gpu_busy_percent')).toBe(0);
  });

  it('a hotter room makes hotter cards, at once or by and by', () => {
    const one = lab({ node: { model: 'mi210', cards: 1 } });
    one.clock.advance(300_000);
    const cool = one.number(0, 'hwmon/temp2_input');
    expect(one.live.event('ambient', '40', '10m')).toMatch(/24\.0 to 40 °C within 600 s/);
    one.clock.advance(300_000);
    expect(one.seconds().at(-1)?.ambient).toBeCloseTo(32, 0);
    one.clock.advance(600_000);
    expect(one.seconds().at(-1)?.ambient).toBe(40);
    expect(one.number(0, 'hwmon/temp2_input') - cool).toBeGreaterThan(10_000);
  });

  it('a hung GPU has its files, and reading those of the firmware gives nothing', () => {
    const node = lab({ node: { model: 'mi210', cards: 2 } });
    node.live.event('hang', 1);
    for (const name of ['gpu_metrics', 'pp_dpm_sclk', 'hwmon/power1_average', 'hwmon/temp2_input', 'gpu_busy_percent'])
      expect([name, node.read(1, name)]).toEqual([name, '']);
    node.clock.advance(3000);
    expect(node.read(1, 'gpu_metrics')).toBe('');
    expect(node.number(1, 'mem_info_vram_total')).toBe(68_702_699_520);
    expect(node.number(0, 'hwmon/temp2_input')).toBeGreaterThan(0);
    expect(node.live.write(node.path(1, 'hwmon/power1_cap'), '200000000')).toEqual({ ok: false, errno: 'EIO' });
    node.live.event('unhang', 1);
    expect(node.number(1, 'hwmon/temp2_input')).toBeGreaterThan(0);
    expect(node.number(1, 'hwmon/power1_cap')).toBe(300e6);
  });

  it('with a relay before it the files of a hung GPU stay, for the relay lets their reads hang', () => {
    const node = lab({ node: { model: 'mi210', cards: 1 }, relayed: true });
    node.live.event('hang', 0);
    expect(node.live.health(0)).toBe('hung');
    expect(node.number(0, 'hwmon/temp2_input')).toBeGreaterThan(0);
  });

  it('a GPU that vanishes takes its links and KFD nodes along, and comes back with them', () => {
    const node = lab({ node: { model: 'mi300x', cards: 4, partition: 'dpx' } });
    const before = { nodes: kfdNodes(node).length, generation: generation(node) };
    const device = node.path(1, '');
    node.live.event('vanish', 1);
    node.clock.advance(2000);
    expect(existsSync(join(node.dir, device))).toBe(false);
    expect(kfdNodes(node)).toHaveLength(before.nodes - 2);
    expect(generation(node)).toBeGreaterThan(before.generation);
    const cards = readdirSync(join(node.dir, 'sys/class/drm')).filter((name) => name.startsWith('card'));
    for (const card of cards) {
      expect(readlinkSync(join(node.dir, 'sys/class/drm', card))).not.toContain(node.node.gpus[1]?.pci);
      expect(existsSync(join(node.dir, 'sys/class/drm', card))).toBe(true);
    }
    node.live.event('return', 1);
    node.clock.advance(2000);
    expect(kfdNodes(node)).toHaveLength(before.nodes);
    const missing = [...renderNode(node.node).keys()].filter((path) => !existsSync(join(node.dir, path)));
    // Links from fd/ lead out of the tree, as they do out of /proc.
    expect(missing.filter((path) => !/\/fd\/\d+$/.test(path) && !path.includes('sys/kernel'))).toEqual([]);
  });

  it('a sleeping GPU says so and keeps still', () => {
    const node = lab({ node: { model: 'mi210', cards: 2 } });
    node.live.event('suspend', 0);
    const table = node.read(0, 'gpu_metrics');
    node.clock.advance(3000);
    expect(node.read(0, 'power/runtime_status')).toBe('suspended');
    expect(node.read(0, 'gpu_metrics')).toBe(table);
    node.live.event('resume', 0);
    node.clock.advance(200);
    expect(node.read(0, 'power/runtime_status')).toBe('active');
    expect(node.read(0, 'gpu_metrics')).not.toBe(table);
  });

  it('errors are counted in the files of the driver', () => {
    const node = lab({ node: { model: 'mi210', cards: 1 } });
    node.live.event('ecc', 0, 'ue', 2, 'umc', '0s', 1);
    expect(node.read(0, 'ras/umc_err_count')).toContain('ue: 2');
    expect(node.read(0, 'ras/gpu_vram_bad_pages')).toMatch(/^0x[0-9a-f]{8} : 0x00001000 : R$/);
  });

  it('a reset takes settings and counters of the whole hive, and the jobs come back', () => {
    const node = lab({ node: { model: 'mi210', cards: 4 } });
    node.live.event('foreign_cap', 0, 200);
    expect(node.number(0, 'hwmon/power1_cap')).toBe(200e6);
    node.live.event('reset', 1);
    expect(node.live.health(0)).toBe('resetting');
    expect(node.node.gpus[0]?.counters.energy).toBe(0);
    node.clock.advance(3100);
    expect(node.live.health(0)).toBe('restarting');
    expect(node.number(0, 'hwmon/power1_cap')).toBe(300e6);
    node.clock.advance(1900);
    expect(node.number(0, 'gpu_busy_percent')).toBe(0);
    node.clock.advance(10_000);
    expect(node.number(0, 'gpu_busy_percent')).toBeGreaterThan(50);
  });

  it.each([
    ['mi300x', 'linux-6.16', 'EPERM'],
    ['mi300x', 'linux-6.19', 'EBUSY'],
  ] as const)(
    'while %s is reset under %s its files are there and empty, and writes are refused: %s',
    (model, driver, errno) => {
      const node = lab({ node: { model, driver, cards: 1 } });
      node.live.event('reset', 0);
      for (const name of ['gpu_metrics', 'pp_dpm_sclk', 'hwmon/power1_cap', 'gpu_busy_percent'])
        expect([name, node.read(0, name)]).toEqual([name, '']);
      expect(node.number(0, 'mem_info_vram_total')).toBeGreaterThan(0);
      writeFileSync(join(node.dir, node.path(0, 'hwmon/power1_cap')), '400000000\n');
      writeFileSync(join(node.dir, node.path(0, 'thermal_throttling_logging')), '0\n');
      node.clock.advance(200);
      const log = readFileSync(join(node.dir, 'driver.log'), 'utf8').trimEnd().split('\n');
      expect(log.map((line) => line.split(' ').at(-1))).toEqual([errno, errno]);
      expect(node.read(0, 'hwmon/power1_cap')).toBe('');
      node.clock.advance(3000);
      expect(node.number(0, 'hwmon/power1_cap')).toBe(750e6);
      expect(node.live.write(node.path(0, 'hwmon/power1_cap'), '400000000')).toMatchObject({ ok: true });
    },
  );

  it('other partitions are other KFD nodes, with the jobs on them', () => {
    const node = lab({ node: { model: 'mi300x', cards: 2 }, scenario: 'hot-room' });
    const before = kfdNodes(node).length;
    expect(node.live.event('repartition', 'cpx')).toBe('GPU 0: cpx, GPU 1: cpx');
    expect(node.read(0, 'current_compute_partition')).toBe('CPX');
    expect(kfdNodes(node)).toHaveLength(before + 14);
    node.clock.advance(2000);
    expect(node.node.processes[0]?.gpus).toHaveLength(8);
    expect(node.number(0, 'gpu_busy_percent')).toBe(100);
    expect(node.live.event('repartition', 'tpx')).toBe('GPU 0: EINVAL, GPU 1: EINVAL');
  });

  it.each([
    [['hangg', 2], /no event "hangg".*/, /Did you mean hang\? There are load, ambient/],
    [['hang', 9], /there is no GPU 9; this node has 0 to 1/, /Write hang GPUS/],
    [['hang'], /GPUS: must name GPUs/, /Write hang GPUS/],
    [['ambient', 'warm'], /CELSIUS: must be a number from -10 to 60/, /Write ambient CELSIUS OVER/],
    [['load', 0, 1.5], /BUSY: must be at most 1/, /Write load GPUS BUSY/],
    [['hang', 0, 1], /at most 1 words/, /Write hang GPUS/],
    [['toString'], /there is no event "toString"/, /There are load/],
    [['ambient', 40, 10], /OVER: must be a duration like 10m/, /Write ambient/],
    [['ecc', 0, 'ce', 3, 'foo'], /BLOCK: .*umc/, /Write ecc/],
    [['hang', -1], /GPUS: must name GPUs/, /Write hang/],
  ] as const)('%j is refused with what is allowed', (args, message, hint) => {
    const { live } = lab({ node: { model: 'mi210', cards: 2 } });
    const refused = (() => {
      try {
        return live.event(...(args as unknown as [string]));
      } catch (error) {
        return error;
      }
    })();
    expect(refused).toMatchObject({ code: 'SIMULATION_EVENT_INVALID', fault: 'configuration' });
    expect(refused).toHaveProperty('message', expect.stringMatching(message));
    expect(refused).toHaveProperty('hint', expect.stringMatching(hint));
  });
});

describe('the truth beside it', () => {
  it('has each event with both times, and each second of all GPUs', () => {
    const node = lab({ node: { model: 'mi210', cards: 2 } });
    node.clock.advance(2500);
    node.live.event('hang', 1);
    node.clock.advance(2500);
    expect(node.events('hang')).toEqual([
      expect.objectContaining({ event: 'hang', gpus: 1, by: 'hand', t: 2.5, at: Date.UTC(2025, 0, 1) + 2500 }),
    ]);
    expect(node.seconds().map(({ t }) => Math.round(t))).toEqual([0, 1, 2, 3, 4, 5]);
    expect(node.seconds().at(-1)?.health).toEqual(['ok', 'hung']);
    expect(node.live.truth.events.map((line) => 'event' in line && line.event)).toEqual(['start', 'hang']);
  });

  it('does not grow without end', () => {
    const node = lab({ node: { model: 'mi210', cards: 2 }, truthBytes: 4000 });
    node.clock.advance(60_000);
    expect(readFileSync(join(node.dir, 'truth.jsonl')).length).toBeLessThan(4001);
    expect(readFileSync(join(node.dir, 'truth.jsonl.1')).length).toBeLessThan(4001);
  });
});
