import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { HistoryLine } from '../../actuator/ledger/look.ts';
import type { NodeOptions } from '../../sim/tree.ts';
import {
  anotherStart,
  hotJunction,
  policies,
  type RunningActuator,
  type RunOptions,
  rulesOf,
  runActuator,
} from '../support/actuator.ts';
import { type HotNode, hotNode } from '../support/hot-node.ts';
import { runSteps } from '../support/relay.ts';
import { until as untilWithin } from '../support/until.ts';

/** What a card can do to the actuator. Each row of "What happens when" in docs/actuator.md that begins with a card is one of these. */

vi.setConfig({ testTimeout: 300_000 });
/** A machine on which much else runs is slow, and nothing here is about how fast it is. */
const until = <T>(what: string, ask: () => T | Promise<T>) => untilWithin(what, ask, 120_000);

const CAP = 'sys/**/power1_cap';
const [FOUND, CAPPED] = [750, 525];
const TWO: NodeOptions = { model: 'mi300x', cards: 2 };
const ONE: NodeOptions = { model: 'mi300x', cards: 1 };

interface Bench extends RunningActuator {
  node: HotNode;
}

async function bench(
  options: NodeOptions = ONE,
  given: Partial<RunOptions> = {},
  through: readonly string[] = [],
): Promise<Bench> {
  const node = await hotNode(options, through);
  const running = await runActuator(node.tree, { rules: rulesOf(policies(hotJunction())), ...given });
  await until('knobs are known', () => running.actuator.node.cards.length === node.one.node.gpus.length);
  return { ...running, node };
}

const state = ({ cases }: Bench, at = -1): string | undefined => cases().at(at)?.state;
const writes = (lines: readonly HistoryLine[], reason?: string): HistoryLine[] =>
  lines.filter((line) => line.outcome === 'write' && 'to' in line.detail && (reason ?? line.reason) === line.reason);

/** Acted on and verified. */
async function held(b: Bench, index = 0): Promise<void> {
  expect((await b.tell({ pci: b.node.pci(index), startsAt: anotherStart() })).status).toBe(202);
  await until('the card is held', () => b.row(b.node.pci(index))?.state === 'settled' && state(b) === 'active');
  expect(b.node.cap(index)).toBe(CAPPED);
}

/** Cool, and given back. */
async function given(b: Bench, index = 0): Promise<void> {
  b.node.heat(40, index);
  await until('nothing is held', () => b.actuator.book.cases.size === 0 && b.actuator.book.knobs.size === 0);
}

describe('a card that refuses the write', () => {
  it.each(['EINVAL', 'EPERM'] as const)('with %s is tried three times; then the act has failed', async (errno) => {
    const b = await bench();
    await b.node.one.relay.fault(CAP, { errno, on: 'write' });
    await b.tell({ pci: b.node.pci() });
    await until('it has failed', () => state(b, 0) === 'failed');
    expect(b.history('verified')).toEqual([]);
    expect(b.history('failed')[0]).toMatchObject({ reason: 'write_failed', detail: { knob: 'power_cap' } });
    expect(String(b.history('failed')[0]?.detail.met)).toContain(errno);
    expect(writes(b.history())).toHaveLength(3);
    expect(b.node.cap()).toBe(FOUND);
    await b.node.one.relay.clear();
    await until('the next act is verified', () => state(b) === 'active');
    expect(b.node.cap()).toBe(CAPPED);
    await given(b);
    expect(b.node.cap()).toBe(FOUND);
  });

  it('with EROFS is not asked again', async () => {
    const b = await bench(ONE, {
      rules: rulesOf(policies(hotJunction({ times: 'dwell: 1s, lease: 2m, cooldown: 1h' }))),
    });
    await b.node.one.relay.fault(CAP, { errno: 'EROFS', on: 'write' });
    await b.tell({ pci: b.node.pci() });
    await until('it has failed', () => state(b) === 'failed');
    expect(writes(b.history())).toHaveLength(1);
    expect(b.node.cap()).toBe(FOUND);
    expect(b.actuator.book.knobs.size).toBe(0);
  });

  it('with EBUSY is waited for', async () => {
    const b = await bench();
    await b.node.one.relay.fault(CAP, { errno: 'EBUSY', on: 'write' });
    await b.tell({ pci: b.node.pci() });
    await until('it was tried more often than refusals count', () => writes(b.history()).length >= 3);
    await sleep(300);
    expect(state(b)).toBe('applying');
    await b.node.one.relay.clear();
    await until('it is held', () => state(b) === 'active');
    expect(b.node.cap()).toBe(CAPPED);
  });

  it('again and again opens the breaker: nothing new is begun until a person says so, on no card', async () => {
    const b = await bench(TWO, { failures: { failures: 2, perMs: 600_000 } });
    await b.node.one.relay.fault(join(b.node.path('hwmon/power1_cap')), { errno: 'EROFS', on: 'write' });
    await b.tell({ pci: b.node.pci(0) });
    await until('two acts have failed', () => b.history('failed').length === 2);
    expect(b.actuator.book.breaker.open).toBe(true);
    await b.tell({ pci: b.node.pci(1) });
    await until('the other is suppressed', () =>
      b.history('suppressed').some(({ reason }) => reason === 'breaker_open'),
    );
    await sleep(1_500);
    expect(b.history('acted')).toHaveLength(2);
    expect(b.node.cap(1)).toBe(FOUND);
  });
});

describe('a card that takes the write and does nothing', () => {
  it('is seen by reading back; the act has failed, and nothing is called a success', async () => {
    const b = await bench();
    await b.node.one.relay.fault(CAP, { ignoreWrites: true });
    await b.tell({ pci: b.node.pci() });
    await until('it has failed', () => state(b, 0) === 'failed');
    expect(b.history('verified')).toEqual([]);
    expect(String(b.history('failed')[0]?.detail.met)).toContain('accepted, but reads 750 instead of 525');
    expect(b.node.cap()).toBe(FOUND);
  });

  it('as it is given back is tried for as long as it takes', async () => {
    const b = await bench();
    await held(b);
    await b.node.one.relay.fault(CAP, { ignoreWrites: true });
    b.node.heat(40);
    await until('it was tried', () => writes(b.history(), 'restore').length >= 2);
    expect(state(b)).toBe('releasing');
    await b.node.one.relay.clear();
    await given(b);
    expect(b.node.cap()).toBe(FOUND);
    expect(state(b)).toBe('released');
  });
});

describe('a card that hangs in the write', () => {
  it('costs the others nothing; what the write did is found out when it answers, and given back', async () => {
    const b = await bench(TWO);
    await b.node.one.relay.fault(b.node.path('hwmon/power1_cap'), { delayMs: 3_600_000, on: 'write' });
    await b.tell({ pci: b.node.pci(0) });
    await until('the write is under way', () => b.row(b.node.pci(0))?.writing === CAPPED);
    await b.tell({ pci: b.node.pci(1), startsAt: anotherStart() });
    await until('the other is held', () => b.row(b.node.pci(1))?.state === 'settled');
    expect(b.node.cap(1)).toBe(CAPPED);
    expect(b.node.cap(0)).toBe(FOUND);
    // The loop goes on, for the sick card too.
    expect((await b.get<{ state: string }>('/v1/status')).state).toBe('acting');
    await until('nobody knows what became of it', () => b.row(b.node.pci(0))?.state === 'unsettled');
    expect(b.history('verified').map(({ target }) => target)).toEqual([{ kind: 'gpu', pci: b.node.pci(1) }]);
    b.node.heat(40, 1);
    await until('the other is given back', () => b.node.cap(1) === FOUND);
    await b.node.one.relay.clear();
    b.node.heat(40, 0);
    await until('nothing is held', () => b.actuator.book.cases.size === 0 && b.actuator.book.knobs.size === 0);
    expect(b.node.cap(0)).toBe(FOUND);
  });
});

describe("somebody else's value", () => {
  it('that is lower is left alone, also at the end', async () => {
    const b = await bench();
    await held(b);
    await b.node.capByHand(400);
    await until('it is seen', () => b.row(b.node.pci())?.state === 'foreign');
    await sleep(1_000);
    expect(b.node.cap()).toBe(400);
    b.node.heat(40);
    await until('it is over', () => b.actuator.book.cases.size === 0);
    expect(b.node.cap()).toBe(400);
    expect(state(b)).toBe('overridden');
    expect(b.history('foreign').map(({ reason }) => reason)).toEqual(['lowered', 'overridden']);
    expect(writes(b.history())).toHaveLength(1);
  });

  it('that is higher is limited again, and is what is given back', async () => {
    const b = await bench();
    await held(b);
    await b.node.capByHand(700);
    await until('it is limited again', () => b.node.cap() === CAPPED);
    expect(b.history('foreign')[0]).toMatchObject({
      reason: 'raised',
      detail: { raised_to: 700, was_to_give_back: 750 },
    });
    await given(b);
    expect(b.node.cap()).toBe(700);
  });

  it('that comes again and again is fought at a pace that slows down', async () => {
    const b = await bench();
    await held(b);
    const end = performance.now() + 6_000;
    for (let watts = 600; performance.now() < end; watts = watts === 600 ? 650 : 600) {
      await b.node.capByHand(watts);
      await sleep(200);
    }
    // 1 s, 2 s, 4 s: no more than the first and three of them.
    expect(writes(b.history(), 'foreign').length).toBeGreaterThan(0);
    expect(writes(b.history(), 'foreign').length).toBeLessThanOrEqual(4);
    await until('it is limited in the end', () => b.node.cap() === CAPPED);
  });

  it('that is set while nothing is held is nobody else’s business', async () => {
    const b = await bench();
    await held(b);
    await given(b);
    const before = writes(b.history()).length;
    await b.node.capByHand(650);
    await sleep(1_000);
    expect(b.node.cap()).toBe(650);
    expect(writes(b.history())).toHaveLength(before);
    expect(b.actuator.book.knobs.size).toBe(0);
  });

  it('that was set while the actuator was dead is left alone by the next one, which gives nothing back over it', async () => {
    const b = await bench();
    await held(b);
    const file = b.ledger.file;
    await b.stop();
    await b.node.capByHand(480);
    b.node.heat(40);
    const next = await runActuator(b.node.tree, { rules: rulesOf(policies(hotJunction())), ledgerFile: file });
    await until('it is over', () => next.actuator.book.cases.size === 0);
    expect(b.node.cap()).toBe(480);
    expect(next.cases().at(-1)?.state).toBe('overridden');
  });
});

describe('a card that goes', () => {
  it('is not written to; when it comes back as it was, or anew, it is limited again, and given back', async () => {
    const b = await bench(TWO);
    await held(b);
    const plugIn = b.node.unplug(0);
    await until('it is gone', () => b.actuator.node.cards[0]?.health === 'gone');
    const toTheFirst = () =>
      writes(b.history()).filter(({ target }) => target?.kind === 'gpu' && target.pci === b.node.pci(0));
    const before = toTheFirst().length;
    await b.tell({ pci: b.node.pci(1), startsAt: anotherStart() });
    await until('the other is held', () => b.node.cap(1) === CAPPED);
    expect(toTheFirst()).toHaveLength(before);
    expect(b.actuator.book.cases.size).toBe(2);
    // A card that comes back has lost its settings.
    plugIn();
    b.node.loseCap(FOUND);
    await until('it is limited again', () => b.node.cap(0) === CAPPED);
    b.node.heat(40, 0);
    b.node.heat(40, 1);
    await until('nothing is held', () => b.actuator.book.cases.size === 0 && b.actuator.book.knobs.size === 0);
    expect([b.node.cap(0), b.node.cap(1)]).toEqual([FOUND, FOUND]);
  });
});

describe('a card that is reset', () => {
  const reset = (b: Bench) =>
    runSteps([{ read: join(b.node.one.mount, `sys/kernel/debug/dri/${b.node.gpu().card}/amdgpu_gpu_recover`) }]);

  it('loses its limits, and gets them again', async () => {
    const b = await bench(ONE, {
      rules: rulesOf(
        policies(hotJunction({ do: '{ power_cap: 70%, clock_max: 1500MHz, memory_clock_max: 1100MHz }' })),
      ),
    });
    const found = b.node.settings();
    await b.tell({ pci: b.node.pci() });
    await until('it is held', () => state(b) === 'active');
    const limited = { cap: CAPPED, level: 'manual', gfxMax: 1500, memMax: 1100 };
    expect(b.node.settings()).toMatchObject(limited);
    await reset(b);
    await until('it is limited again', () => {
      const now = b.node.settings();
      return Object.entries(limited).every(([key, value]) => now[key] === value);
    });
    await until('the rows are settled', () =>
      [...b.actuator.book.knobs.values()].every((row) => row.state === 'settled'),
    );
    await given(b);
    expect(b.node.settings()).toEqual(found);
    expect(state(b)).toBe('released');
  });

  it('over and over is limited at a bounded rate', async () => {
    const b = await bench();
    await held(b);
    const end = performance.now() + 6_000;
    while (performance.now() < end) {
      await reset(b);
      await sleep(100);
    }
    const again = writes(b.history()).length - 1;
    expect(again).toBeGreaterThan(0);
    expect(again).toBeLessThanOrEqual(4);
    await until('it is limited in the end', () => b.node.cap() === CAPPED);
  });
});

describe('a sensor that goes blind', () => {
  const SENSORS = ['gpu_metrics', 'temp2_input'];
  const blind = async (b: Bench): Promise<void> => {
    await b.node.one.relay.fault(
      SENSORS.map((name) => `sys/**/${name}`),
      { errno: 'EIO', on: 'read' },
    );
  };

  it('leaves the limit for 10 s, then takes it to the floor, where it stays beyond its lease; seeing again undoes it', async () => {
    const rules = rulesOf(policies(hotJunction({ times: 'dwell: 1s, lease: 12s, cooldown: 1s' })));
    const b = await bench(ONE, { rules }, SENSORS);
    await held(b);
    await blind(b);
    // Two fifths of the default.
    const floor = 0.4 * FOUND;
    await until('it is at the floor', () => b.node.cap() === floor);
    const [seen, to] = ['condition_unknown', 'blind_to_floor'].map(
      (reason) => b.history('adjusted').find((line) => line.reason === reason)?.at ?? Number.NaN,
    );
    expect(Number(to) - Number(seen)).toBeGreaterThanOrEqual(10_000);
    await sleep(14_000);
    expect(b.node.cap()).toBe(floor);
    expect(state(b)).toBe('active');
    await b.node.one.relay.clear();
    await given(b);
    expect(b.node.cap()).toBe(FOUND);
  });

  it('before anything was done does nothing', async () => {
    const b = await bench(ONE, {}, SENSORS);
    await blind(b);
    await until(
      'it is blind',
      () => !b.actuator.node.cards[0]?.live.toMap().has('temperature.junction') || sleep(1_000, true),
    );
    await b.tell({ pci: b.node.pci() });
    await until('it is suppressed', () => b.history('suppressed').some(({ reason }) => reason === 'condition_unknown'));
    expect(b.node.cap()).toBe(FOUND);
  });
});
