import { describe, expect, it } from 'vitest';
import { LanePool, type Outcome, type PoolOptions, type Task, type WriteOutcome } from '../../../amdgpu/lanes/pool.ts';
import { type FakeClock, fakeClock } from '../../../base/clock.ts';
import { FakeLane, item, type World, world, writeOf } from './fake-lane.ts';

const HANG = Number.POSITIVE_INFINITY;

interface Bench {
  clock: FakeClock;
  world: World;
  pool: LanePool;
  /** Runs one item a name, owned by itself (`a/2` by `a`); time goes on until all are known. */
  run(names: readonly string[], deadline?: number): Promise<Record<string, Outcome['op']> & { ms: number }>;
}

function bench(options: Partial<PoolOptions> = {}): Bench {
  const clock = fakeClock();
  const w = world(clock);
  const pool = new LanePool({ clock, itemDeadline: 400, makeLane: () => new FakeLane(w), ...options });
  return {
    clock,
    world: w,
    pool,
    async run(names, deadline = 5000) {
      const tasks: Task[] = names.map((name) => ({ owner: name.split('/')[0] as string, item: item(name) }));
      const start = clock.monotonic();
      let outcomes: Outcome[] | undefined;
      void pool.run(tasks, deadline).then((all) => {
        outcomes = all;
      });
      while (outcomes === undefined) await clock.settle(1);
      const ops = Object.fromEntries(names.map((name, i) => [name, outcomes?.[i]?.op as Outcome['op']]));
      return { ...ops, ms: clock.monotonic() - start } as Record<string, Outcome['op']> & { ms: number };
    },
  };
}

const begunOn = ({ world: w }: Bench, name: string): number[] =>
  w.begun.filter((one) => one.name === name).map((one) => one.lane);

describe('one lane for all', () => {
  it('does everything on one lane, in order, while nothing is slow', async () => {
    const b = bench();
    await b.run(['a', 'b', 'c']);
    await b.run(['a', 'b', 'c']);
    expect(b.world.begun.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
    expect(b.pool.stats).toEqual({ lanes: 1, stuck: [], splits: 0 });
  });

  it('gives each outcome in the place of its task, also when tasks are answered out of order', async () => {
    const b = bench();
    b.world.takes.set('b', 300);
    const seen: number[] = [];
    const tasks = ['a', 'b', 'c'].map((name): Task => ({ owner: name, item: item(name) }));
    const all = b.pool.run(tasks, 5000, (index) => seen.push(index));
    await b.clock.settle(1000);
    const texts = (await all).map((one) => (one.op === 'read' ? String(one.files[0]) : one.op));
    expect(texts).toEqual(['a', 'b', 'c']);
    expect(seen).toEqual([0, 2, 1]);
  });
});

describe('an owner that hangs', () => {
  it('costs the others one deadline once, and nothing afterwards', async () => {
    const b = bench();
    b.world.takes.set('b', HANG);
    const first = await b.run(['a', 'b', 'c', 'd']);
    expect(first).toMatchObject({ a: 'read', b: 'timeout', c: 'read', d: 'read' });
    expect(first.ms).toBeLessThan(450);
    for (let i = 0; i < 10; i++) {
      const again = await b.run(['a', 'b', 'c', 'd']);
      expect(again).toMatchObject({ a: 'read', b: 'timeout', c: 'read', d: 'read' });
      expect(again.ms).toBeLessThan(10);
    }
    expect(begunOn(b, 'b')).toEqual([1]);
    expect(b.pool.stats).toEqual({ lanes: 2, stuck: ['b'], splits: 1 });
  });

  it('is asked again when its lane answers, and goes back to the shared lane after five quick answers', async () => {
    const b = bench();
    b.world.takes.set('b', HANG);
    await b.run(['a', 'b']);
    b.world.takes.set('b', 0);
    await b.clock.settle(5);
    expect(b.pool.stats).toEqual({ lanes: 2, stuck: [], splits: 1 });
    for (let i = 0; i < 5; i++) expect(await b.run(['a', 'b'])).toMatchObject({ a: 'read', b: 'read' });
    expect(b.pool.stats).toEqual({ lanes: 1, stuck: [], splits: 1 });
    expect(await b.run(['a', 'b'])).toMatchObject({ a: 'read', b: 'read' });
    expect(b.world.lanes.map(({ lost }) => lost)).toEqual([true, false]);
  });

  it('is not read again by what stood behind it in its batch, nor are the others', async () => {
    const b = bench();
    b.world.takes.set('a', HANG);
    await b.run(['a', 'a/2', 'b', 'c']);
    b.world.takes.set('a', 0);
    await b.clock.settle(50);
    expect(begunOn(b, 'a/2')).toEqual([]);
    expect(begunOn(b, 'b')).toEqual([2]);
  });

  it('does not hold up a second one that hangs beside it, and neither gets a second lane', async () => {
    const b = bench();
    b.world.takes.set('a', HANG).set('c', HANG);
    const first = await b.run(['a', 'b', 'c', 'd']);
    expect(first).toMatchObject({ a: 'timeout', b: 'read', c: 'timeout', d: 'read' });
    expect(first.ms).toBeLessThan(850);
    b.world.takes.set('a', 0);
    await b.clock.settle(5);
    expect(b.pool.stats.stuck).toEqual(['c']);
    expect(await b.run(['a', 'b', 'c', 'd'])).toMatchObject({ a: 'read', b: 'read', c: 'timeout', d: 'read' });
    expect(begunOn(b, 'c')).toHaveLength(1);
  });

  it('hands work that waited behind it to the next lane', async () => {
    const b = bench();
    b.world.takes.set('a', HANG);
    const scrape = b.run(['a', 'b']);
    const other = b.pool.run([{ owner: 'kfd', item: item('kfd') }], 2000);
    const start = b.clock.monotonic();
    await scrape;
    expect(await other).toMatchObject([{ op: 'read' }]);
    expect(b.clock.monotonic() - start).toBeLessThan(450);
  });

  it('is not started on a second lane by work of its own that waited', async () => {
    const b = bench();
    b.world.takes.set('a', HANG).set('a/costly', HANG);
    const scrape = b.run(['a', 'b']);
    const costly = b.pool.run([{ owner: 'a', item: item('a/costly') }], 3000);
    await scrape;
    expect(await costly).toMatchObject([{ op: 'timeout' }]);
    expect(begunOn(b, 'a/costly')).toEqual([]);
  });

  it('leaves time for the others also under a short deadline', async () => {
    const b = bench();
    b.world.takes.set('a', HANG);
    const result = await b.run(['a', 'b', 'c'], 100);
    expect(result).toMatchObject({ a: 'timeout', b: 'read', c: 'read' });
    expect(result.ms).toBeLessThanOrEqual(101);
  });

  it('loses its lane when it is dismissed', async () => {
    const b = bench();
    b.world.takes.set('a', HANG);
    await b.run(['a', 'b']);
    b.pool.dismiss('a');
    expect(b.pool.stats).toMatchObject({ lanes: 1, stuck: [] });
    expect(b.world.lanes[0]?.lost).toBe(true);
  });
});

describe('an owner that is slow', () => {
  it('is complete within its deadline, while the others do not wait for it', async () => {
    const b = bench();
    b.world.takes.set('a', 300);
    const known: string[] = [];
    const tasks = ['a', 'b', 'c'].map((name): Task => ({ owner: name, item: item(name) }));
    const all = b.pool.run(tasks, 5000, (index) => known.push(tasks[index]?.owner ?? ''));
    await b.clock.settle(240);
    expect(known).toEqual(['b', 'c']);
    await b.clock.settle(100);
    expect((await all).map(({ op }) => op)).toEqual(['read', 'read', 'read']);
  });

  it('keeps its lane as long as it is slow: it does not go to and fro', async () => {
    const b = bench();
    b.world.takes.set('a', 1200);
    for (let i = 0; i < 20; i++) {
      await b.run(['a', 'b']);
      await b.clock.settle(1000);
    }
    expect(b.pool.stats).toEqual({ lanes: 2, stuck: [], splits: 1 });
    expect(await b.run(['a', 'b'])).toMatchObject({ a: 'read', b: 'read' });
  });

  it('has what else there is for it done behind the slow item', async () => {
    const b = bench();
    b.world.takes.set('a', 300);
    expect(await b.run(['a', 'a/2', 'b'])).toMatchObject({ a: 'read', 'a/2': 'read', b: 'read' });
  });

  it('is not called stuck while it works within its time', async () => {
    const b = bench({ apart: ['proc'] });
    b.world.takes.set('proc', 1000);
    const run = b.run(['proc']);
    await b.clock.settle(500);
    expect(b.pool.stats).toEqual({ lanes: 1, stuck: [], splits: 0 });
    expect(await run).toMatchObject({ proc: 'read' });
  });

  it('is waited for, not given up, when other work of its own is before it in its lane', async () => {
    const b = bench();
    b.world.takes.set('a', 300);
    await b.run(['a', 'b']);
    b.world.takes.set('a/costly', 150);
    const costly = b.pool.run([{ owner: 'a', item: item('a/costly') }], 3000);
    b.world.takes.set('a', 0);
    expect(await b.run(['a', 'b'])).toMatchObject({ a: 'read', b: 'read' });
    expect(await costly).toMatchObject([{ op: 'read' }]);
  });
});

describe('a lane that ends', () => {
  it('is replaced, and what it had not answered is done again', async () => {
    const b = bench();
    b.world.kills.set('b', 1);
    expect(await b.run(['a', 'b', 'c'])).toMatchObject({ a: 'read', b: 'read', c: 'read' });
    expect(begunOn(b, 'a')).toEqual([1]);
    expect(begunOn(b, 'b')).toEqual([1, 2]);
  });

  it('costs an item that ends every lane, and no other', async () => {
    const b = bench();
    b.world.kills.set('b', HANG);
    expect(await b.run(['a', 'b', 'c'])).toMatchObject({ a: 'read', b: 'lost', c: 'read' });
    expect(begunOn(b, 'b')).toHaveLength(2);
  });

  it('is replaced for an owner that has one of its own too', async () => {
    const b = bench({ apart: ['proc'] });
    await b.run(['proc']);
    b.world.lanes[0]?.kill();
    expect(await b.run(['proc'])).toMatchObject({ proc: 'read' });
    b.world.kills.set('proc', 1);
    expect(await b.run(['proc'])).toMatchObject({ proc: 'read' });
  });

  it('says that all is lost where no lane can be started at all, and tries twice only', async () => {
    const clock = fakeClock();
    const w = world(clock);
    const makeLane = (): FakeLane => {
      const lane = new FakeLane(w);
      lane.started = false;
      lane.lost = true;
      return lane;
    };
    const pool = new LanePool({ clock, itemDeadline: 400, makeLane });
    const tasks = ['a', 'b', 'c'].map((name): Task => ({ owner: name, item: item(name) }));
    expect((await pool.run(tasks, 5000)).map(({ op }) => op)).toEqual(['lost', 'lost', 'lost']);
    expect(w.lanes.length).toBeLessThanOrEqual(2);
  });
});

describe('a write', () => {
  const writing = (): Bench => {
    const b = bench({ writable: true });
    b.pool.warm();
    return b;
  };

  /** What became of it, and after how long; time goes on until that is known. */
  async function write(b: Bench, name: string, deadline = 2000): Promise<{ op: string; ms: number }> {
    const start = b.clock.monotonic();
    const owner = name.split('/')[0] as string;
    let outcome: WriteOutcome | undefined;
    void b.pool.write(owner, writeOf(name), deadline).then((one) => {
      outcome = one;
    });
    while (outcome === undefined) await b.clock.settle(1);
    return { op: outcome.op, ms: b.clock.monotonic() - start };
  }

  it('goes over the lane that reads its card, behind the reading that is going on', async () => {
    const b = writing();
    b.world.takes.set('a', 30);
    const pass = b.run(['a', 'b']);
    const written = write(b, 'a/cap');
    await Promise.all([pass, written]);
    expect(b.world.begun).toEqual([
      { lane: 1, name: 'a' },
      { lane: 1, name: 'b' },
      { lane: 1, name: 'a/cap' },
    ]);
  });

  it('that hangs costs another card less than 100 ms, for a spare lane is up already', async () => {
    const b = writing();
    b.world.takes.set('a/cap', HANG);
    const hung = write(b, 'a/cap');
    const other = await write(b, 'b/cap');
    expect(other.op).toBe('write');
    expect(other.ms).toBeLessThan(100);
    expect(await hung).toMatchObject({ op: 'timeout' });
    expect(begunOn(b, 'a/cap')).toEqual([1]);
    expect(begunOn(b, 'b/cap')).toEqual([2]);
  });

  it('is waited for to its deadline, longer than a reading is', async () => {
    const b = writing();
    b.world.takes.set('a/cap', 1500);
    const { op, ms } = await write(b, 'a/cap');
    expect({ op, late: ms >= 1500 && ms < 1550 }).toEqual({ op: 'write', late: true });
    expect((await write(b, 'a/cap')).op).toBe('write');
    expect(begunOn(b, 'a/cap')).toEqual([1, 1]);
  });

  it('is not sent to a card whose lane is stuck, and no second lane touches that card', async () => {
    const b = writing();
    b.world.takes.set('a', HANG);
    await b.run(['a', 'b']);
    const { op, ms } = await write(b, 'a/cap');
    expect({ op, atOnce: ms < 5 }).toEqual({ op: 'timeout', atOnce: true });
    expect(begunOn(b, 'a/cap')).toEqual([]);
    b.world.takes.set('a', 0);
    await b.clock.settle(5);
    expect((await write(b, 'a/cap')).op).toBe('write');
    expect(begunOn(b, 'a/cap')).toEqual([1]);
  });

  it('that was slow once does not make its card look stuck while the next one is at work', async () => {
    const b = writing();
    b.world.takes.set('a/cap', 200);
    expect((await write(b, 'a/cap')).op).toBe('write');
    expect(b.pool.stats.splits).toBe(1);
    const next = write(b, 'a/cap');
    expect(b.pool.stats.stuck).toEqual([]);
    expect(await b.run(['a', 'b'])).toMatchObject({ a: 'read', b: 'read' });
    expect((await next).op).toBe('write');
  });

  it('that hung leaves its card unread until it has answered', async () => {
    const b = writing();
    b.world.takes.set('a/cap', HANG);
    expect((await write(b, 'a/cap')).op).toBe('timeout');
    expect(await b.run(['a', 'b'])).toMatchObject({ a: 'timeout', b: 'read' });
    expect(begunOn(b, 'a')).toEqual([]);
    b.world.takes.set('a/cap', 0);
    await b.clock.settle(5);
    expect(await b.run(['a', 'b'])).toMatchObject({ a: 'read', b: 'read' });
  });

  it.each([
    ['on the shared lane', false],
    ['on a lane of its own', true],
  ])('is never tried twice: where its lane ends at it %s, it is lost', async (_where, own) => {
    const b = writing();
    if (own) {
      b.world.takes.set('a', 300);
      await b.run(['a', 'b']);
      b.world.takes.delete('a');
    }
    b.world.kills.set('a/cap', 1);
    expect((await write(b, 'a/cap')).op).toBe('lost');
    expect(begunOn(b, 'a/cap')).toHaveLength(1);
    expect((await write(b, 'a/cap')).op).toBe('write');
  });

  it('that waited unsent behind another card that hangs goes to the next lane', async () => {
    const b = writing();
    b.world.takes.set('a', HANG);
    const pass = b.run(['a', 'b']);
    expect(await write(b, 'b/cap')).toMatchObject({ op: 'write' });
    await pass;
    expect(begunOn(b, 'b/cap')).toEqual([2]);
  });

  it('says how long it may take when it is sent, not when it was asked for', async () => {
    const b = writing();
    b.world.takes.set('a', 40);
    const pass = b.run(['a']);
    await write(b, 'a/cap', 500);
    await pass;
    expect(b.world.left).toHaveLength(2);
    expect(b.world.left[1]).toBeLessThanOrEqual(460);
  });

  it('is not done once the pool is closed', async () => {
    const b = writing();
    b.pool.close();
    expect(b.world.lanes.every(({ lost }) => lost)).toBe(true);
    expect((await write(b, 'a/cap')).op).toBe('timeout');
  });
});

it('starts nothing any more once it is closed', async () => {
  const b = bench({ apart: ['proc'] });
  await b.run(['a', 'proc']);
  b.pool.close();
  b.pool.warm();
  expect(await b.run(['a', 'proc'])).toMatchObject({ a: 'timeout', proc: 'timeout' });
  expect(b.world.lanes).toHaveLength(2);
  expect(b.world.lanes.every(({ lost }) => lost)).toBe(true);
});
