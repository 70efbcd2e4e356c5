import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CardKnobs } from '../../amdgpu/knobs/device.ts';
import type { WriteResult } from '../../amdgpu/knobs/port.ts';
import { LanePool } from '../../amdgpu/lanes/pool.ts';
import { AmdNode } from '../../amdgpu/node.ts';
import { systemClock } from '../../base/clock.ts';
import { createLog } from '../../base/log.ts';
import type { Settings } from '../../model/claim.ts';
import { devicePath } from '../../sim/files/paths.ts';
import type { Gpu, NodeOptions } from '../../sim/tree.ts';
import { faultsUnavailable } from '../support/faultfs.ts';
import { inTree, inTreeUnavailable } from '../support/in-tree.ts';
import { type Mounted, mountNode, runProgram } from '../support/relay.ts';
import { suitRocmSmi } from '../support/rocm-smi.ts';
import { skipUnless } from '../support/skips.ts';

const unavailable = faultsUnavailable();
const CAP = 'sys/**/power1_cap';
const LEVEL = 'power_dpm_force_performance_level';
/** Each access goes through a file system in user space, which is slow on a busy machine. */
const DEADLINE_MS = 6000;

interface Bench {
  one: Mounted;
  knobs: CardKnobs;
  node: AmdNode;
  pool: LanePool;
  /** PCI address of a GPU. */
  pci(gpu?: number): string;
  settings(on: string): Promise<Settings>;
  /** Reads and then writes, as whoever uses the knobs does. */
  set(on: string, to: Settings): Promise<WriteResult>;
}

let close: (() => Promise<void>)[] = [];
beforeEach(() => {
  skipUnless(unavailable === undefined, `no FUSE: ${unavailable}`);
  close = [];
});
afterEach(async () => {
  for (const one of close.reverse()) await one();
});

async function bench(options: NodeOptions, prepare?: (dir: string) => void): Promise<Bench> {
  const one = await mountNode(options, prepare);
  close.push(one.close);
  const pool = new LanePool({ clock: systemClock, itemDeadline: DEADLINE_MS, writable: true });
  const paths = { sysfs: `${one.mount}/sys`, procfs: `${one.mount}/proc` };
  const log = createLog({ destination: { write: () => {} } });
  const node = new AmdNode({ paths, pool, clock: systemClock, log });
  close.push(async () => {
    node.close();
    pool.close();
  });
  await node.start();
  const knobs = new CardKnobs({ node, pool, clock: systemClock, deadlineMs: DEADLINE_MS });
  const isKnown = (): boolean =>
    one.node.gpus.every(({ pci }) => {
      const facts = knobs.facts(pci);
      return facts.get('power_cap')?.adjustable === true && facts.get('gfx_clock')?.adjustable === true;
    });
  // A card that is slow on a busy machine is found when it has answered.
  for (let i = 0; i < 30 && !isKnown(); i++) {
    if (i > 0) await sleep(300);
    await node.collect(5000);
    await knobs.look();
  }
  const settings = async (on: string): Promise<Settings> => {
    const read = await knobs.read(on);
    if (!read.ok) throw new Error(`${on} cannot be read: ${read.reason}`);
    return read.settings;
  };
  return {
    one,
    knobs,
    node,
    pool,
    pci: (gpu = 0) => (one.node.gpus[gpu] as Gpu).pci,
    settings,
    set: async (on, to) => knobs.write(on, await settings(on), to),
  };
}

const clocksOf = ({ one }: Bench, gpu = 0) => {
  const { level, cap, gfxMin, gfxMax, memMax } = (one.node.gpus[gpu] as Gpu).settings;
  return { level, cap, gfxMin, gfxMax, memMax };
};

describe.each<{ options: NodeOptions; limit: Settings; found: Settings }>([
  {
    options: { model: 'mi210', cards: 1 },
    limit: { power_cap: 210, gfx_clock: 1200 },
    found: { power_cap: 300, gfx_clock: 1700, level: 'auto' },
  },
  {
    options: { model: 'mi250x', cards: 1 },
    limit: { power_cap: 392, gfx_clock: 1200 },
    found: { power_cap: 560, gfx_clock: 1700, level: 'auto' },
  },
  {
    options: { model: 'mi300x', cards: 1 },
    limit: { power_cap: 525, gfx_clock: 1500, mem_clock: 1100 },
    found: { power_cap: 750, gfx_clock: 2100, mem_clock: 1300, level: 'auto' },
  },
  {
    options: { model: 'mi355x', cards: 1 },
    limit: { power_cap: 980, gfx_clock: 1800, mem_clock: 1500 },
    found: { power_cap: 1400, gfx_clock: 2400, mem_clock: 1900, level: 'auto' },
  },
])('$options.model', ({ options, limit, found }) => {
  it('is set, read back, and given back exactly', async () => {
    const b = await bench(options);
    const on = b.pci();
    const facts = [...b.knobs.facts(on).values()];
    const settable = facts.filter(({ adjustable }) => adjustable).map(({ knob }) => knob);
    expect(settable).toEqual(Object.keys(limit));
    const before = clocksOf(b);
    expect(await b.settings(on)).toEqual(found);
    expect(await b.set(on, limit)).toEqual({
      outcome: 'written',
      settings: { ...limit, gfx_low: 500, level: 'manual' },
    });
    expect(clocksOf(b)).toMatchObject({ cap: limit.power_cap, gfxMax: limit.gfx_clock, level: 'manual' });
    expect(await b.set(on, { power_cap: found.power_cap as number })).toMatchObject({
      settings: { power_cap: found.power_cap, gfx_clock: limit.gfx_clock, level: 'manual' },
    });
    expect(await b.set(on, found)).toEqual({ outcome: 'written', settings: found });
    expect(clocksOf(b)).toEqual(before);
  });
});

it('each die of MI250X has its clocks, and the package one cap, on the primary die', async () => {
  const b = await bench({ model: 'mi250x', cards: 1 });
  const [first, second] = [b.pci(0), b.pci(1)];
  expect(b.knobs.facts(second).get('power_cap')).toMatchObject({ on: first, adjustable: true, max: 560, floor: 224 });
  expect(await b.settings(second)).toEqual({ gfx_clock: 1700, level: 'auto' });
  expect(await b.set(second, { gfx_clock: 1000 })).toMatchObject({ outcome: 'written' });
  expect([clocksOf(b, 0).gfxMax, clocksOf(b, 1).gfxMax]).toEqual([1700, 1000]);
  expect(await b.set(second, { power_cap: 300 })).toEqual({
    outcome: 'refused',
    file: '',
    text: '',
    errno: 'range_unknown',
  });
});

it('MI100 takes a mask, and its limit is told while nothing speaks against it', async () => {
  const b = await bench({ model: 'mi100', cards: 1 });
  const on = b.pci();
  const result = await b.set(on, { gfx_clock: 1200 });
  expect(result).toMatchObject({ outcome: 'written', settings: { gfx_clock: 1189, level: 'manual' } });
  expect(clocksOf(b)).toMatchObject({ gfxMin: 300, gfxMax: 1189 });
  expect(await b.set(on, { gfx_clock: 1502, level: 'auto' })).toMatchObject({ settings: { gfx_clock: 1502 } });
});

describe('rocm-smi agrees', () => {
  it.each([
    ['mi210', 210, 1200],
    ['mi250x', 392, 1000],
  ] as const)('on %s about what was set', { timeout: 120_000 }, async (model, cap, clock) => {
    const noTree = inTreeUnavailable();
    skipUnless(noTree === undefined, `no mount namespace: ${noTree}`);
    skipUnless(existsSync('/usr/bin/rocm-smi'), 'rocm-smi is not installed');
    const b = await bench({ model, cards: 1 }, suitRocmSmi);
    await b.set(b.pci(), { power_cap: cap, gfx_clock: clock });
    const asked = inTree(b.one.mount, 'rocm-smi', ['--showmaxpower', '--showperflevel', '--showclkfrq']);
    const { stdout } = await runProgram(...asked);
    const lines = stdout.split('\n').filter((line) => line.startsWith('GPU[0]'));
    const line = (pattern: RegExp): string => lines.find((one) => pattern.test(one)) ?? stdout;
    expect(line(/Max Graphics Package Power/)).toMatch(new RegExp(`: ${cap}\\.0$`));
    expect(line(/Performance Level/)).toMatch(/manual$/);
    expect(stdout).toContain(`${clock}Mhz`);
    await b.set(b.pci(), { power_cap: b.knobs.facts(b.pci()).get('power_cap')?.max as number });
    const after = await runProgram(...inTree(b.one.mount, 'rocm-smi', ['--showmaxpower', '--json']));
    expect(JSON.parse(after.stdout)).toMatchObject({
      card0: { 'Max Graphics Package Power (W)': `${b.knobs.facts(b.pci()).get('power_cap')?.max}.0` },
    });
  });
});

describe('a write that goes wrong', () => {
  it('is told with its errno, and what stands behind it is not tried', async () => {
    const b = await bench({ model: 'mi210', cards: 1 });
    const on = b.pci();
    const device = devicePath(b.one.node.gpus[0] as Gpu);
    for (const errno of ['EINVAL', 'EPERM', 'EROFS', 'EBUSY', 'EACCES', 'EOPNOTSUPP'] as const) {
      await b.one.relay.fault(CAP, { errno, on: 'write' });
      expect(await b.set(on, { power_cap: 210 })).toMatchObject({
        outcome: 'refused',
        text: '210000000',
        errno,
        settings: { power_cap: 300 },
      });
    }
    await b.one.relay.clear(CAP);
    await b.one.relay.fault(`${device}/pp_od_clk_voltage`, { errno: 'EINVAL', on: 'write' });
    expect(await b.set(on, { power_cap: 210, gfx_clock: 1200 })).toEqual({
      outcome: 'refused',
      file: 'pp_od_clk_voltage',
      text: 's 0 500',
      errno: 'EINVAL',
      settings: { power_cap: 300, gfx_clock: 1700, gfx_low: 500, level: 'manual' },
    });
    await b.one.relay.clear();
    expect(await b.set(on, { power_cap: 210, gfx_clock: 1200 })).toMatchObject({ outcome: 'written' });
  });

  it("is nobody's knowledge where the firmware did not answer", async () => {
    const b = await bench({ model: 'mi210', cards: 1 });
    for (const errno of ['EIO', 'ETIME', 'EREMOTEIO', 'ENODEV'] as const) {
      await b.one.relay.fault(CAP, { errno, on: 'write' });
      const reason = errno === 'ENODEV' ? 'gone' : 'timeout';
      expect(await b.set(b.pci(), { power_cap: 210 })).toEqual({ outcome: 'unanswered', reason });
    }
  });

  it('and was ignored is seen by reading back', async () => {
    const b = await bench({ model: 'mi210', cards: 1 });
    await b.one.relay.fault('sys/**', { ignoreWrites: true });
    expect(await b.set(b.pci(), { power_cap: 210, gfx_clock: 1200 })).toEqual({
      outcome: 'written',
      settings: { power_cap: 300, gfx_clock: 1700, level: 'auto' },
    });
  });

  it('shows in the facts beforehand where nothing may be written', async () => {
    const b = await bench({ model: 'mi210', cards: 1 });
    const node = { cards: b.node.cards };
    const reading = new LanePool({ clock: systemClock, itemDeadline: 2000 });
    close.push(async () => reading.close());
    const knobs = new CardKnobs({ node, pool: reading, clock: systemClock });
    expect(knobs.facts(b.pci()).get('power_cap')).toMatchObject({ adjustable: false, why: 'unprobed' });
    await knobs.look();
    expect(knobs.facts(b.pci()).get('power_cap')).toMatchObject({ adjustable: false, why: 'read_only' });
    expect(await knobs.write(b.pci(), await b.settings(b.pci()), { power_cap: 210 })).toMatchObject({
      outcome: 'refused',
      errno: 'EROFS',
    });
  });
});

describe('a card that hangs in a write', () => {
  it('costs the other nothing, is not written to again, and tells by reading what came of it', async () => {
    const b = await bench({ model: 'mi300x', cards: 2 });
    const [bad, good] = [b.pci(0), b.pci(1)];
    const was = await b.settings(bad);
    const device = devicePath(b.one.node.gpus[0] as Gpu);
    const timed = async (watts: number): Promise<number> => {
      const other = await b.settings(good);
      const start = performance.now();
      expect(await b.knobs.write(good, other, { power_cap: watts })).toMatchObject({ settings: { power_cap: watts } });
      return performance.now() - start;
    };
    const best = async (watts: number): Promise<number> => {
      const times: number[] = [];
      for (let i = 0; i < 4; i++) times.push(await timed(watts - i));
      return Math.min(...times);
    };
    // What the file system itself takes, which on a busy machine is most of it. What the first write pays for a lane that is left
    // is bounded in the pool's own tests, where the clock is ours.
    const alone = await best(700);
    await b.one.relay.fault(`${device}/${LEVEL}`, { delayMs: 60_000, on: 'write' });
    const hung = b.knobs.write(bad, was, { gfx_clock: 1500, power_cap: 525 });
    let isHanging = true;
    void hung.then(() => {
      isHanging = false;
    });
    await timed(525);
    expect(isHanging).toBe(true);
    const beside = await best(600);
    expect(await hung).toEqual({ outcome: 'unanswered', reason: 'timeout' });
    expect(beside).toBeLessThan(100 + alone);
    expect(b.pool.stats.stuck.filter((owner) => owner === bad || owner === good)).toEqual([bad]);
    expect(await b.knobs.read(bad)).toEqual({ ok: false, reason: 'timeout' });
    expect(await b.knobs.write(bad, was, { power_cap: 525 })).toEqual({ outcome: 'unanswered', reason: 'timeout' });
    // When it lets go, the step that hung is done, and none behind it: their time was over.
    await b.one.relay.clear();
    await expect.poll(async () => (await b.knobs.read(bad)).ok, { timeout: 20_000 }).toBe(true);
    expect(clocksOf(b, 0)).toMatchObject({ level: 'manual', gfxMax: 2100, cap: 750 });
    expect(await b.settings(bad)).toEqual({ ...was, gfx_low: 500, level: 'manual' });
  });
});
