import { describe, expect, it, vi } from 'vitest';
import type { SimModel } from '../../sim/models.ts';
import type { Gpu } from '../../sim/tree.ts';
import { anotherStart, hotJunction, policies, rulesOf, runActuator } from '../support/actuator.ts';
import { inTree, inTreeUnavailable } from '../support/in-tree.ts';
import { liveMount } from '../support/live-mount.ts';
import { hasProgram } from '../support/programs.ts';
import { runProgram } from '../support/relay.ts';
import { suitRocmSmi } from '../support/rocm-smi.ts';
import { until as untilWithin } from '../support/until.ts';

/** From a hot room to a cool one, through files that answer as the driver does, on every model that can be set. */

vi.setConfig({ testTimeout: 300_000 });
/** A machine on which much else runs is slow, and nothing here is about how fast it is. */
const until = <T>(what: string, ask: () => T | Promise<T>) => untilWithin(what, ask, 120_000);
/** Seconds of the node's life in one of ours: a heat sink takes a minute to warm. */
const SPEED = 30;

interface Row {
  model: SimModel;
  /** What both policies together come to. */
  limits: { cap: number; gfxMax: number; memMax?: number };
  throttle: string;
  /** rocm-smi 5.2 knows the levels of these models. */
  level: boolean;
}

describe.each<Row>([
  {
    model: 'mi210',
    limits: { cap: 210, gfxMax: 1200 },
    throttle: '{ clock_max: 1200MHz, memory_clock_max: 1100MHz }',
    level: true,
  },
  { model: 'mi250x', limits: { cap: 392, gfxMax: 1200 }, throttle: '{ clock_max: 1200MHz }', level: true },
  {
    model: 'mi300x',
    limits: { cap: 525, gfxMax: 1500, memMax: 1100 },
    throttle: '{ clock_max: 1500MHz, memory_clock_max: 1100MHz }',
    level: false,
  },
  {
    model: 'mi355x',
    limits: { cap: 980, gfxMax: 1800, memMax: 1500 },
    throttle: '{ clock_max: 1800MHz, memory_clock_max: 1500MHz }',
    level: false,
  },
])('$model in a hot room', ({ model, limits, throttle, level }) => {
  it('is limited by the webhook, cools, and has exactly what it had when the alert is over and it is cool', async () => {
    const { live, mount } = await liveMount({ model, cards: 1 }, SPEED, suitRocmSmi);
    const gpu = (): Gpu => live.node.gpus[0] as Gpu;
    const junction = (): number => gpu().live.temperature.junction;
    const settings = () => structuredClone(gpu().settings);
    const found = settings();
    live.event('ambient', 45);
    for (const { index } of live.node.gpus) live.load(index, 1);

    const clocks = hotJunction({ name: 'hot-clocks', do: throttle });
    const rules = rulesOf(policies(hotJunction(), clocks));
    // No card hangs here: whatever is slow is our file system.
    const b = await runActuator(mount, { rules, intervalMs: 500, laneDeadlineMs: 10_000 });
    // Warm through: what falls afterwards falls for the limit's sake.
    let last = 0;
    await until('it is as hot as it gets', async () => {
      const [before, now] = [last, junction()];
      last = now;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return now > 75 && Math.abs(now - before) < 0.5;
    });
    const hottest = junction();
    expect(settings()).toEqual(found);

    const alert = { pci: gpu().pci, startsAt: anotherStart() };
    expect((await b.tell(alert)).status).toBe(202);
    const cases = () =>
      b
        .cases()
        .map(({ policy, state }) => `${policy} ${state}`)
        .sort();
    await until('both policies are verified', () => cases().join() === 'hot-clocks active,hot-junction active');
    expect(settings()).toMatchObject({ ...limits, level: 'manual' });
    await until('the junction falls', () => junction() < hottest - 5);
    await until('the power is under the cap', () => gpu().live.power <= limits.cap * 1.02);
    await confirmed(mount, `${limits.cap}.0`, level ? 'manual' : undefined);

    // An end that is told while it is hot is no end.
    expect((await b.tell({ ...alert, status: 'resolved' })).status).toBe(202);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(junction()).toBeGreaterThan(55);
    expect(settings()).toMatchObject(limits);
    live.event('ambient', 18);
    for (const { index } of live.node.gpus) live.load(index, 0.2);
    await until('both are over', () => cases().join() === 'hot-clocks released,hot-junction released');
    expect(settings()).toEqual(found);
    expect(b.actuator.book.knobs.size).toBe(0);
    await confirmed(mount, `${found.cap}.0`, level ? 'auto' : undefined);
    const count = (outcome: string): number => b.history().filter((line) => line.outcome === outcome).length;
    expect({ acted: count('acted'), verified: count('verified'), released: count('released') }).toEqual({
      acted: 2,
      verified: 2,
      released: 2,
    });
  });
});

/** By AMD's own program, where there is one. */
async function confirmed(mount: string, cap: string, level: string | undefined): Promise<void> {
  if (inTreeUnavailable() !== undefined || !hasProgram('rocm-smi')) return;
  const args = ['--showmaxpower', ...(level === undefined ? [] : ['--showperflevel']), '--json'];
  // The tool gives up on a file that is slow to answer, as one behind a file system of ours can be on a busy machine.
  const stdout = await until('rocm-smi prints', async () => {
    const printed = (await runProgram(...inTree(mount, 'rocm-smi', args))).stdout;
    return printed.includes('{') && printed;
  });
  expect((JSON.parse(stdout) as Record<string, unknown>).card0).toMatchObject({
    'Max Graphics Package Power (W)': cap,
    ...(level === undefined ? {} : { 'Performance Level': level }),
  });
}
