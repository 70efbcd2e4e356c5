import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type Daemon, Lifecycle, type RunOptions, runUntilSignal, startOrRelease } from '../../base/app.ts';
import { fakeClock, sleep, systemClock } from '../../base/clock.ts';
import { configurationError } from '../../base/errors.ts';
import { createLog } from '../../base/log.ts';

const never = () => new Promise<never>(() => undefined);

describe('Lifecycle', () => {
  it('releases in reverse order, each after the one before is done', async () => {
    const seen: string[] = [];
    const life = new Lifecycle();
    for (const name of ['a', 'b', 'c']) {
      life.add(name, async () => {
        seen.push(`${name} begins`);
        await sleep(systemClock, 1, { keepAlive: true });
        seen.push(`${name} ends`);
      });
    }
    expect(await life.release()).toEqual([]);
    expect(seen).toEqual(['c begins', 'c ends', 'b begins', 'b ends', 'a begins', 'a ends']);
  });

  it('collects errors, thrown at once or later, and goes on', async () => {
    const life = new Lifecycle();
    let last = false;
    life.add('last', () => {
      last = true;
    });
    life.add('later', () => Promise.reject(new Error('later')));
    life.add('at once', () => {
      throw new Error('at once');
    });
    const errors = await life.release();
    expect(errors.map((error) => error.message)).toEqual([
      'at once did not stop cleanly: at once',
      'later did not stop cleanly: later',
    ]);
    expect(last).toBe(true);
  });

  it('leaves one that hangs behind after its own time and still has time for the others', async () => {
    const clock = fakeClock();
    const life = new Lifecycle(clock);
    const at: Record<string, number> = {};
    life.add('first', () => {
      at.first = clock.monotonic();
    });
    life.add('hangs', never, { limitMs: 200 });
    const release = life.release(900);
    await clock.settle(1_000);
    const errors = await release;
    expect(errors).toEqual([expect.objectContaining({ code: 'RELEASE_TIMEOUT' })]);
    expect(errors[0]!.message).toContain('hangs did not stop within 200 ms');
    expect(at).toEqual({ first: 200 });
  });

  it('calls the rest when the total time is over, without waiting', async () => {
    const clock = fakeClock();
    const life = new Lifecycle(clock);
    const called: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      life.add(name, () => {
        called.push(name);
        return never();
      });
    }
    const release = life.release(900);
    await clock.settle(900);
    const errors = await release;
    expect(called).toEqual(['e', 'd', 'c', 'b', 'a']);
    expect(errors).toHaveLength(5);
    expect(clock.monotonic()).toBe(900);
  });

  it('releases a latecomer on the spot and releases nothing twice', async () => {
    const life = new Lifecycle();
    let count = 0;
    life.add('one', () => count++);
    await Promise.all([life.release(), life.release()]);
    expect(count).toBe(1);
    expect(life.ended).toBe(true);
    life.add('late', () => count++);
    expect(count).toBe(2);
  });

  it('undoes a start that failed half way and throws its error', async () => {
    const seen: string[] = [];
    const start = startOrRelease((life) => {
      life.add('a', () => seen.push('a'));
      life.add('b', () => seen.push('b'));
      throw new Error('no c');
    });
    await expect(start).rejects.toThrow('no c');
    expect(seen).toEqual(['b', 'a']);
  });
});

function run(start: RunOptions['start'], more: Partial<RunOptions> = {}) {
  const exits: number[] = [];
  const lines: string[] = [];
  const host = Object.assign(new EventEmitter(), { exit: (code: number) => exits.push(code) });
  const log = createLog({ destination: { write: (line) => void lines.push(line) } });
  const result = runUntilSignal({ start, log, host, clock: more.clock ?? systemClock, ...more });
  return { host, exits, lines, result };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

describe('runUntilSignal', () => {
  it.each(['SIGTERM', 'SIGINT'])('stops cleanly at %s and exits with 0', async (signal) => {
    let released = false;
    const { host, exits, result } = run(({ life }: Daemon) => {
      life.add('x', () => {
        released = true;
      });
    });
    await tick();
    expect(exits).toEqual([]);
    host.emit(signal);
    expect(await result).toBe(0);
    expect(exits).toEqual([0]);
    expect(released).toBe(true);
    expect(host.eventNames()).toEqual([]);
  });

  it('exits with 2 where the start fails for its configuration, and undoes what was begun', async () => {
    const seen: string[] = [];
    const { lines, result } = run(({ life }: Daemon) => {
      life.add('x', () => seen.push('x'));
      throw configurationError('CONF_BAD', 'the file is bad', 'Mend it.');
    });
    expect(await result).toBe(2);
    expect(seen).toEqual(['x']);
    expect(lines[0]).toContain('msg="CONF_BAD: the file is bad. Mend it."');
  });

  it('stops at a signal although the start hangs', async () => {
    const { host, result } = run(never);
    host.emit('SIGTERM');
    expect(await result).toBe(0);
  });

  it('exits within its time although a release hangs', async () => {
    const clock = fakeClock();
    const { host, exits, result } = run(({ life }: Daemon) => life.add('x', never, { limitMs: 5_000 }), { clock });
    await tick();
    host.emit('SIGTERM');
    await clock.settle(899);
    expect(exits).toEqual([]);
    await clock.settle(1);
    expect(await result).toBe(1);
  });

  it('exits at once at the second signal', async () => {
    const { host, exits } = run(({ life }: Daemon) => life.add('x', never));
    await tick();
    host.emit('SIGTERM');
    host.emit('SIGINT');
    expect(exits).toEqual([130]);
  });

  it('reloads at SIGHUP, one at a time, and survives a reload that fails', async () => {
    let running = 0;
    let most = 0;
    let count = 0;
    const { host, lines, result } = run(() => undefined, {
      reload: async () => {
        count += 1;
        running += 1;
        most = Math.max(most, running);
        await tick();
        running -= 1;
        if (count === 1) throw configurationError('CONF_BAD', 'bad', 'Mend it.');
      },
    });
    await tick();
    for (let i = 0; i < 3; i++) host.emit('SIGHUP');
    for (let i = 0; i < 10; i++) await tick();
    expect({ most, count }).toEqual({ most: 1, count: 2 });
    expect(lines.join('')).toContain('reload failed, what was in force stays: CONF_BAD');
    host.emit('SIGTERM');
    expect(await result).toBe(0);
  });

  it('keeps a SIGHUP that comes before the start is through', async () => {
    let count = 0;
    let through: () => void = () => undefined;
    const { host, result } = run(() => new Promise<void>((resolve) => (through = resolve)), { reload: () => count++ });
    host.emit('SIGHUP');
    await tick();
    expect(count).toBe(0);
    through();
    await tick();
    expect(count).toBe(1);
    host.emit('SIGTERM');
    await result;
  });

  it('releases and exits with 1 at an uncaught error and when a component gives up', async () => {
    let daemon: Daemon | undefined;
    const first = run(() => undefined);
    first.host.emit('uncaughtException', new TypeError('boom'));
    expect(await first.result).toBe(1);
    expect(first.lines.join('')).toContain('BUG: TypeError: boom');
    const second = run((given) => {
      daemon = given;
    });
    await tick();
    daemon?.fail(new Error('lost'));
    expect(await second.result).toBe(1);
  });
});
