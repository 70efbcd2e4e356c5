import { describe, expect, it } from 'vitest';
import { CRASH_POINTS } from '../../../actuator/settings/reconcile.ts';
import type { Reading } from '../../../model/reading.ts';
import { A, B, Desk } from './desk.ts';

describe('a claim', () => {
  it('is written, read back, told and kept, and given back when it goes', async () => {
    const desk = new Desk();
    desk.claim('a', { power_cap: 500, gfx_clock: 1500 });
    await desk.run();
    expect(desk.card.settings).toEqual({ power_cap: 500, gfx_clock: 1500, mem_clock: 1300, level: 'manual' });
    expect(desk.row()).toMatchObject({ found: 750, wrote: 500, state: 'settled', attempts: 0 });
    expect(desk.row()).not.toHaveProperty('writing');
    expect(desk.reports).toMatchObject([
      { knob: 'power_cap', state: 'settled', settled: true, failed: false },
      { knob: 'gfx_clock', state: 'settled', settled: true, failed: false },
    ]);
    desk.claim('a', {});
    await desk.run();
    expect(desk.card.settings).toEqual({ power_cap: 750, gfx_clock: 2100, mem_clock: 1300, level: 'auto' });
    expect(desk.rows.knobs.size).toBe(0);
    expect(desk.reports.slice(2)).toMatchObject([{ restored: 'given_back' }, { restored: 'given_back' }]);
    expect(desk.history.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual([
      'write claim',
      'write settled',
      'write claim',
      'write settled',
      'write restore',
      'write given_back',
      'write restore',
      'write given_back',
    ]);
  });

  it('is committed before it is written, and its result after', async () => {
    const desk = new Desk();
    desk.claim('a', { power_cap: 500 });
    const seen: unknown[] = [];
    desk.port.beforeWrite = () => void seen.push(desk.row());
    await desk.run();
    expect(seen).toMatchObject([{ found: 750, writing: 500, state: 'unsettled' }]);
    expect(seen[0]).not.toHaveProperty('wrote');
  });

  it('of a dry run touches and remembers nothing', async () => {
    const desk = new Desk();
    desk.claim('a', { power_cap: 500 }, A, 'dry_run');
    await desk.run();
    expect(desk.card).toMatchObject({ reads: 0, writes: [] });
    expect(desk.commits).toBe(0);
  });

  it('is told once, and again when another case claims the same', async () => {
    const desk = new Desk();
    desk.claim('a', { power_cap: 500 });
    await desk.pass(5);
    expect(desk.reports).toHaveLength(1);
    expect(desk.commits).toBe(2);
    desk.claim('b', { power_cap: 600 });
    await desk.pass(5);
    expect(desk.reports).toMatchObject([{ settled: true }, { settled: true, target: 500 }]);
    expect(desk.card.writes).toHaveLength(1);
    desk.claim('a', {});
    await desk.run();
    expect(desk.card.settings.power_cap).toBe(600);
    expect(desk.row()).toMatchObject({ found: 750, wrote: 600 });
  });
});

describe('a foreign hand', () => {
  it('that raises is answered at a bounded rate, and gets its own value back', async () => {
    const desk = new Desk();
    desk.claim('a', { power_cap: 500 });
    await desk.run();
    const start = desk.clock.now();
    const writes: number[] = [];
    desk.port.beforeWrite = () => void writes.push((desk.clock.now() - start) / 1000);
    for (let second = 0; second < 200; second++) {
      desk.card.settings.power_cap = 651;
      await desk.pass(1);
    }
    expect(writes).toEqual([1, 2, 4, 8, 16, 32, 64, 124, 184]);
    const told = desk.history.filter(({ outcome }) => outcome === 'foreign');
    expect(told.map(({ detail }) => detail)).toEqual([{ knob: 'power_cap', raised_to: 651, was_to_give_back: 750 }]);
    await desk.pass(61);
    expect(desk.card.settings.power_cap).toBe(500);
    desk.claim('a', {});
    await desk.run();
    expect(desk.card.settings.power_cap).toBe(651);
  });

  it('that lowers is left alone, also at the end', async () => {
    const desk = new Desk();
    desk.claim('a', { power_cap: 500 });
    await desk.run();
    desk.card.settings.power_cap = 401;
    await desk.pass(3);
    expect(desk.last).toMatchObject({ state: 'foreign', settled: true, failed: false });
    desk.claim('a', {});
    await desk.run();
    expect(desk.last).toMatchObject({ state: 'foreign', restored: 'overridden' });
    expect(desk.card.settings.power_cap).toBe(401);
    expect(desk.card.writes).toHaveLength(1);
    expect(desk.rows.knobs.size).toBe(0);
  });
});

describe('a reset', () => {
  it('is answered with the limit, and with what was found before it at the end', async () => {
    const desk = new Desk();
    desk.card.settings.power_cap = 700;
    desk.claim('a', { power_cap: 500 });
    await desk.run();
    desk.card.reset();
    await desk.run(A, 'reset');
    expect(desk.card.settings.power_cap).toBe(500);
    desk.claim('a', {});
    await desk.run();
    expect(desk.card.settings.power_cap).toBe(700);
  });
});

describe('a card that refuses', () => {
  it.each([
    ['EINVAL', 3, 'unsettled'],
    ['EPERM', 3, 'unsettled'],
    ['under_floor', 3, 'unsettled'],
    ['EROFS', 1, 'unsupported'],
    ['EACCES', 1, 'unsupported'],
    ['EOPNOTSUPP', 1, 'unsupported'],
  ])('with %s has failed after %d writes', async (refuse, writes, state) => {
    const desk = new Desk();
    desk.card.fault = { refuse };
    desk.claim('a', { power_cap: 500 });
    for (let i = 0; i < 10 && desk.last?.failed !== true; i++) await desk.pass(1);
    expect(desk.last).toMatchObject({ state, settled: false, failed: true });
    expect(desk.last?.detail).toContain(refuse);
    expect(desk.card.writes).toHaveLength(writes);
    desk.claim('a', {});
    await desk.run();
    expect(desk.last).toMatchObject({ restored: 'given_back', value: 750 });
  });

  it('for good is not asked again', async () => {
    const desk = new Desk();
    desk.card.fault = { refuse: 'EROFS' };
    desk.claim('a', { power_cap: 500 });
    await desk.pass(300);
    expect(desk.card.writes).toHaveLength(1);
  });

  it('because it is busy has not failed, and takes it later', async () => {
    const desk = new Desk();
    desk.card.fault = { refuse: 'EBUSY' };
    desk.claim('a', { power_cap: 500 });
    await desk.pass(30);
    expect(desk.reports.every(({ failed }) => !failed)).toBe(true);
    expect(desk.card.writes.length).toBeLessThan(7);
    desk.card.fault = {};
    await desk.pass(60);
    expect(desk.last).toMatchObject({ settled: true });
  });

  it('once, after it was busy for long, has not failed', async () => {
    const desk = new Desk();
    desk.card.fault = { refuse: 'EBUSY' };
    desk.claim('a', { power_cap: 500 });
    await desk.pass(10);
    desk.card.fault = { refuse: 'EINVAL' };
    const tries = desk.card.writes.length;
    while (desk.card.writes.length === tries) await desk.pass(1);
    expect(desk.reports.filter(({ failed }) => failed)).toEqual([]);
    await desk.pass(120);
    expect(desk.last).toMatchObject({ failed: true });
  });

  it('one knob is limited in the others', async () => {
    const desk = new Desk();
    desk.card.fault = { refuse: 'EINVAL' };
    desk.card.faulty = 'gfx_clock';
    desk.claim('a', { power_cap: 500, gfx_clock: 1500, mem_clock: 1000 });
    await desk.run();
    expect(desk.card.settings).toMatchObject({ power_cap: 500, gfx_clock: 2100, mem_clock: 1000 });
  });

  it('to take a value back is asked for as long as the value is ours', async () => {
    const desk = new Desk();
    desk.claim('a', { power_cap: 500 });
    await desk.run();
    desk.card.fault = { refuse: 'EROFS' };
    desk.claim('a', {});
    await desk.run();
    expect(desk.last).toMatchObject({ state: 'unsettled', failed: true });
    await desk.pass(600);
    expect(desk.card.writes.length).toBeLessThan(20);
    desk.card.fault = {};
    await desk.pass(61);
    expect(desk.card.settings.power_cap).toBe(750);
    expect(desk.last).toMatchObject({ restored: 'given_back' });
  });
});

describe('a card that accepts and does nothing', () => {
  it('has failed after three writes', async () => {
    const desk = new Desk();
    desk.card.fault = { ignore: true };
    desk.claim('a', { power_cap: 500 });
    await desk.pass(1);
    expect(desk.last).toMatchObject({ state: 'unsettled', settled: false, failed: false, value: 750 });
    await desk.pass(3);
    expect(desk.last).toMatchObject({ failed: true, detail: 'accepted, but reads 750 instead of 500' });
    expect(desk.row()).toMatchObject({ attempts: 3, writing: 500 });
  });
});

describe('a card that hangs', () => {
  it.each([
    [true, 500],
    [false, 750],
  ])('in a write leaves open what it did; the truth is read later (took place: %s)', async (landed, value) => {
    const desk = new Desk();
    desk.card.fault = { hang: true };
    const { read } = desk.port;
    desk.port.read = async (on) => ({ ok: true, settings: desk.port.card(on).shown() });
    desk.claim('a', { power_cap: 500 });
    await desk.run();
    expect(desk.last).toMatchObject({ state: 'unsettled', settled: false, failed: false });
    expect(desk.row()).toMatchObject({ writing: 500, found: 750 });
    desk.port.read = read;
    await desk.pass(5);
    expect(desk.card.writes).toHaveLength(1);
    desk.claim('a', {});
    desk.card.answer(landed);
    expect(desk.card.settings.power_cap).toBe(value);
    await desk.run();
    expect(desk.card.settings.power_cap).toBe(750);
    expect(desk.rows.knobs.size).toBe(0);
  });

  it('is asked less and less, and by itself', async () => {
    const desk = new Desk();
    desk.card.fault = { hang: true };
    desk.claim('a', { power_cap: 500 });
    await desk.run();
    await desk.clock.settle(300_000);
    expect(desk.card.reads).toBeGreaterThan(6);
    expect(desk.card.reads).toBeLessThan(12);
    desk.card.answer(false);
    await desk.clock.settle(60_001);
    expect(desk.card.settings.power_cap).toBe(500);
  });

  it('delays no other', async () => {
    const desk = new Desk();
    let free = (): void => {};
    const held = new Promise<void>((resolve) => {
      free = resolve;
    });
    desk.port.beforeWrite = (on) => (on === A ? held : undefined);
    desk.claim('a', { power_cap: 500 }, A);
    desk.claim('b', { power_cap: 500 }, B);
    desk.reconciler.poke(A);
    await desk.run(B);
    expect(desk.port.card(B).settings.power_cap).toBe(500);
    expect(desk.reconciler.isBusy(A)).toBe(true);
    expect(desk.reconciler.inFlight).toBe(1);
    for (let i = 0; i < 10; i++) desk.reconciler.poke(A);
    desk.claim('a', { power_cap: 400 }, A);
    const done = desk.run(A);
    expect(desk.port.card(A).settings.power_cap).toBe(750);
    free();
    await done;
    expect(desk.port.card(A).settings.power_cap).toBe(400);
    expect(desk.port.mostWritesAtOnce).toBe(1);
    expect(desk.port.card(A).writes).toEqual([{ power_cap: 500 }, { power_cap: 400 }]);
  });

  it('or a port that throws, is a card that does not answer', async () => {
    const desk = new Desk();
    desk.card.fault = { broken: true };
    desk.claim('a', { power_cap: 500 });
    await desk.run();
    expect(desk.last).toMatchObject({ settled: false, failed: false });
    desk.card.fault = {};
    await desk.run();
    expect(desk.last).toMatchObject({ settled: true });
  });
});

describe('a ledger that takes no commits', () => {
  it('lets nothing new be limited', async () => {
    const desk = new Desk();
    desk.isFull = true;
    desk.claim('a', { power_cap: 500 });
    await desk.pass(3);
    expect(desk.card.writes).toEqual([]);
    expect(desk.last).toMatchObject({ settled: false, failed: false });
    desk.isFull = false;
    await desk.run();
    expect(desk.card.settings.power_cap).toBe(500);
  });

  it('does not hold up what is given back, and hears of it later', async () => {
    const desk = new Desk();
    desk.claim('a', { power_cap: 500 });
    await desk.run();
    desk.isFull = true;
    desk.claim('a', {});
    await desk.run();
    expect(desk.card.settings.power_cap).toBe(750);
    expect(desk.last).toMatchObject({ restored: 'given_back' });
    expect(desk.row()).toMatchObject({ wrote: 500 });
    await desk.pass(3);
    expect(desk.card.writes).toHaveLength(2);
    desk.isFull = false;
    await desk.run();
    expect(desk.rows.knobs.size).toBe(0);
    expect(desk.history.map(({ reason }) => reason)).toEqual(['claim', 'settled', 'restore', 'given_back']);
  });

  it('loses no result of a write that it knew of', async () => {
    const desk = new Desk();
    desk.claim('a', { power_cap: 500 });
    desk.port.beforeWrite = () => {
      desk.isFull = true;
    };
    await desk.run();
    expect(desk.last).toMatchObject({ settled: true });
    expect(desk.row()).toMatchObject({ writing: 500 });
    desk.restart();
    desk.isFull = false;
    desk.claim('a', {});
    await desk.run();
    expect(desk.card.settings.power_cap).toBe(750);
  });
});

describe('a process that is killed', () => {
  const both = CRASH_POINTS.flatMap((at) => [['setting', at] as const, ['giving back', at] as const]);
  it.each(both)('while %s, at %s, leaves all that its successor needs', async (doing, at) => {
    let armed = false;
    const desk: Desk = new Desk({
      crashPoint: (name) => {
        if (!armed || name !== at) return;
        armed = false;
        desk.restart();
        throw new Error('killed');
      },
    });
    desk.claim('a', { power_cap: 500, gfx_clock: 1500 });
    if (doing === 'giving back') {
      await desk.run();
      desk.claim('a', {});
    }
    armed = true;
    await desk.run();
    expect(armed).toBe(false);
    await desk.run();
    const limited = { power_cap: 500, gfx_clock: 1500, mem_clock: 1300, level: 'manual' };
    const open = { power_cap: 750, gfx_clock: 2100, mem_clock: 1300, level: 'auto' };
    expect(desk.card.settings).toEqual(doing === 'setting' ? limited : open);
    desk.claim('a', {});
    await desk.run();
    expect(desk.card.settings).toEqual(open);
    expect(desk.rows.knobs.size).toBe(0);
  });
});

describe('the effect of a limit', () => {
  const drawing = (watts: () => number | undefined, at: () => number) => (_: string, key: string) => {
    const value = watts();
    const base = { at: at(), source: 'gpu_metrics' };
    const reading: Reading<unknown> = value === undefined ? { ...base, absent: 'timeout' } : { ...base, value };
    return key === 'power' ? reading : undefined;
  };

  it.each([
    ['comes at once', () => 500, 'ok'],
    ['is within five percent', () => 524, 'ok'],
    ['does not come', () => 700, 'none'],
    ['cannot be seen', () => undefined, undefined],
  ])('%s', async (_, watts, effect) => {
    const desk: Desk = new Desk({ reading: drawing(watts, () => desk.clock.now()) });
    desk.claim('a', { power_cap: 500 });
    await desk.run();
    expect(desk.last).toMatchObject({ settled: true, effect: 'pending' });
    await desk.clock.settle(11_000);
    expect(desk.last?.effect).toBe(effect);
    expect(desk.last).toMatchObject({ settled: true, failed: false });
  });

  it('is not seen in a reading from before the write', async () => {
    const desk: Desk = new Desk({
      reading: drawing(
        () => 100,
        () => 1,
      ),
    });
    desk.claim('a', { power_cap: 500 });
    await desk.run();
    await desk.clock.settle(11_000);
    expect(desk.last?.effect).toBeUndefined();
  });

  it('is seen once: a later peak does not take it back', async () => {
    let watts = 480;
    const desk: Desk = new Desk({
      reading: drawing(
        () => watts,
        () => desk.clock.now(),
      ),
    });
    desk.claim('a', { power_cap: 500 });
    await desk.pass(2);
    watts = 700;
    await desk.pass(20);
    expect(desk.reports.map((report) => report.effect)).toEqual(['pending', 'ok']);
  });

  it('that did not come in time is not told as come later', async () => {
    let watts = 700;
    const reading = drawing(
      () => watts,
      () => desk.clock.now(),
    );
    const desk: Desk = new Desk({ reading });
    desk.claim('a', { power_cap: 500 });
    await desk.pass(12);
    watts = 480;
    await desk.pass(5);
    expect(desk.reports.map((report) => report.effect)).toEqual(['pending', 'none']);
  });
});

describe('stopping', () => {
  it('waits for the write under way and commits its result', async () => {
    const desk = new Desk();
    let free = (): void => {};
    desk.port.beforeWrite = () =>
      new Promise<void>((resolve) => {
        free = resolve;
      });
    desk.claim('a', { power_cap: 500, gfx_clock: 1500 });
    desk.reconciler.poke(A);
    await desk.clock.settle(0);
    const stopped = desk.reconciler.stop();
    free();
    await stopped;
    expect(desk.row()).toMatchObject({ wrote: 500 });
    expect(desk.row('gfx_clock')).toBeUndefined();
    await desk.run();
    expect(desk.card.writes).toHaveLength(1);
    expect(desk.clock.pending()).toBe(0);
  });
});
