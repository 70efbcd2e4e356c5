import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeClock } from '../../base/clock.ts';
import { LiveNode } from '../../sim/live/livenode.ts';
import { describeNode, renderNode } from '../../sim/tree.ts';
import { folderInMemory } from '../support/memory.ts';
import { lab } from './living.ts';

const text = (path: string): string => readFileSync(path, 'utf8');

describe('a living node', () => {
  it('moves: its table, counters and clocks go on, ten times a second', () => {
    const { clock, read, number, dir, path } = lab({ node: { model: 'mi300x', cards: 2 } });
    const before = readFileSync(join(dir, path(0, 'gpu_metrics')));
    clock.advance(100);
    expect(readFileSync(join(dir, path(0, 'gpu_metrics'))).equals(before)).toBe(false);
    expect(number(0, 'hwmon/power1_input')).toBeGreaterThan(100e6);
    expect(read(0, 'pp_dpm_sclk')).toMatch(/^\d: \d+Mhz/);
  });

  it('keeps every file where it is: no inode changes but of those that come and go', () => {
    const { clock, dir, node } = lab({ node: { model: 'mi210', cards: 2 } });
    const inodes = (): Map<string, number> =>
      new Map(
        [...renderNode(node)].flatMap(([path, entry]) =>
          'link' in entry ? [] : [[path, statSync(join(dir, path)).ino] as const],
        ),
      );
    const before = inodes();
    clock.advance(30_000);
    expect(inodes()).toEqual(before);
  });

  it.each([
    ['but for blanks before the last newline', false],
    ['exactly, where a relay opens the files for each reader', true],
  ])('shows what its description says, %s', (_, relayed) => {
    const { live, clock, dir, node, path } = lab({ node: { model: 'mi250x', cards: 2 }, relayed });
    clock.advance(20_000);
    // After an event also what is looked at seldom is.
    live.event('ambient', 24);
    const cap = path(0, 'hwmon/power1_cap');
    expect(live.write(cap, '90000000\n')).toMatchObject({ ok: true });
    const expected = (text: string): string => (relayed ? text : text.replace(/ +\n$/, '\n'));
    const wrong = [...renderNode(node)].filter(([path, entry]) => {
      if ('link' in entry) return false;
      const shown = readFileSync(join(dir, path));
      if (typeof entry.content !== 'string') return !shown.equals(Buffer.from(entry.content));
      return expected(shown.toString('utf8')) !== expected(entry.content);
    });
    expect(wrong.map(([path]) => path)).toEqual([]);
    expect(readFileSync(join(dir, cap), 'utf8')).toBe(relayed ? '90000000\n' : '90000000 \n');
  });

  it('lives the same life for the same seed, and another for another', () => {
    const life = (seed: number): string => {
      const { clock, seconds } = lab({ node: { model: 'mi300x', cards: 2 }, seed, scenario: 'night-shift', speed: 60 });
      clock.advance(20_000);
      return JSON.stringify(seconds());
    };
    expect(life(7)).toBe(life(7));
    expect(life(7)).not.toBe(life(8));
  });

  it('counts energy as the integral of its power', () => {
    const { clock, node, seconds } = lab({ node: { model: 'mi210', cards: 1 }, scenario: 'fabric-saturated' });
    let joules = 0;
    for (let step = 0; step < 900; step++) {
      clock.advance(100);
      // The mean of the step that has just gone by.
      joules += (node.gpus[0]?.live.power ?? 0) * 0.1;
    }
    const last = seconds().at(-1);
    expect(last?.t).toBeCloseTo(90, 5);
    expect(Math.abs((last?.energy[0] ?? 0) / joules - 1)).toBeLessThan(0.001);
  });

  it('counts in the time of its readers, however fast it lives', () => {
    const { clock, node } = lab({ node: { model: 'mi300x', cards: 1 }, speed: 60 });
    clock.advance(1000);
    const gpu = node.gpus[0];
    const [ticks, energy, uptime] = [gpu?.counters.ticks ?? 0, gpu?.counters.energy ?? 0, node.boot.uptime];
    clock.advance(10_000);
    expect((gpu?.counters.ticks ?? 0) - ticks).toBeCloseTo(10_000, -2);
    expect(node.boot.uptime - uptime).toBeCloseTo(10, 1);
    const watts = ((gpu?.counters.energy ?? 0) - energy) / 10;
    expect(watts).toBeGreaterThan(100);
    expect(watts).toBeLessThan(760);
  });

  it('leaves its files standing when it stops, and begins anew in the same folder', () => {
    const { live, clock, dir, read } = lab({ node: { model: 'mi210', cards: 1 } });
    clock.advance(1000);
    live.stop();
    const shown = read(0, 'hwmon/temp2_input');
    expect(clock.pending()).toBe(0);
    expect(shown).toMatch(/^\d+$/);
    const again = new LiveNode({ dir, node: describeNode({ model: 'mi100', cards: 1 }), clock });
    again.start();
    expect(existsSync(join(dir, 'sys/devices/pci0000:10/0000:10:01.1/0000:1e:00.0/gpu_metrics'))).toBe(true);
    again.stop();
    expect(readdirSync(dir).sort()).toEqual(['.simulated-node', 'driver.log', 'proc', 'sys', 'truth.jsonl']);
  });

  it('stops and says so when its folder is taken away', () => {
    const failures: Error[] = [];
    const { clock, dir } = lab({ node: { model: 'mi210', cards: 1 }, onFail: (error) => failures.push(error) });
    rmSync(dir, { recursive: true });
    clock.advance(3000);
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatchObject({ code: 'SIMULATION_UNWRITABLE' });
    expect(clock.pending()).toBe(0);
    expect(existsSync(join(dir, 'sys'))).toBe(false);
  });
});

describe('whose folder it is', () => {
  const fresh = (dir: string): LiveNode =>
    new LiveNode({ dir, node: describeNode({ model: 'mi210', cards: 1 }), clock: fakeClock() });
  const scratch = (): string => {
    const dir = folderInMemory('nightshift-owner-');
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    return dir;
  };

  it('never writes to a folder with somebody else’s files', () => {
    const dir = scratch();
    writeFileSync(join(dir, 'thesis.tex'), 'mine');
    expect(() => fresh(dir).start()).toThrow(/did not write/);
    expect(readdirSync(dir)).toEqual(['thesis.tex']);
  });

  it('is kept alive by one process at a time', () => {
    const { dir, live } = lab({ node: { model: 'mi210', cards: 1 } });
    expect(() => fresh(dir).start()).toThrow(/kept alive by process \d+ already/);
    live.stop();
    const next = fresh(dir);
    next.start();
    next.stop();
  });

  it('is free again after a crash, also when the pid belongs to somebody else by now', () => {
    const dir = scratch();
    const crashed = fresh(dir);
    crashed.start();
    crashed.stop();
    for (const owner of [`{"pid":${2 ** 22 + 1},"start":"1"}`, `{"pid":${process.pid},"start":"1"}`, 'half a li']) {
      writeFileSync(join(dir, '.owner'), owner);
      const next = fresh(dir);
      next.start();
      next.stop();
    }
    expect(existsSync(join(dir, '.owner'))).toBe(false);
  });
});

describe('what is written to a control file in a plain folder', () => {
  it('reaches the card: a lower cap lowers its power', () => {
    const { live, clock, dir, path, number } = lab({ node: { model: 'mi210', cards: 1 } });
    live.load(0, 1);
    clock.advance(5000);
    expect(number(0, 'hwmon/power1_average')).toBeGreaterThan(250e6);
    writeFileSync(join(dir, path(0, 'hwmon/power1_cap')), '180000000\n');
    clock.advance(5000);
    expect(number(0, 'hwmon/power1_cap')).toBe(180e6);
    expect(number(0, 'hwmon/power1_average')).toBeLessThan(185e6);
    expect(text(join(dir, 'driver.log'))).toBe('');
  });

  it('is put back where the driver refuses, and noted with time, path, text and errno', () => {
    const { clock, dir, path, read } = lab({ node: { model: 'mi210', cards: 1 } });
    writeFileSync(join(dir, path(0, 'hwmon/power1_cap')), '999000000\n');
    clock.advance(100);
    expect(read(0, 'hwmon/power1_cap')).toBe('300000000');
    expect(text(join(dir, 'driver.log'))).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:.]+Z sys\S+power1_cap "999000000\\n" EINVAL\n$/,
    );
  });

  it('is taken in the order in which it was written, whatever the files are called', async () => {
    const { clock, dir, path, read } = lab({ node: { model: 'mi210', cards: 1 } });
    writeFileSync(join(dir, path(0, 'power_dpm_force_performance_level')), 'manual\n');
    // Far enough apart for the time stamps of the file system.
    await new Promise((resolve) => setTimeout(resolve, 20));
    writeFileSync(join(dir, path(0, 'pp_dpm_sclk')), '0\n');
    clock.advance(100);
    expect(text(join(dir, 'driver.log'))).toBe('');
    expect(read(0, 'power_dpm_force_performance_level')).toBe('manual');
    clock.advance(2000);
    expect(read(0, 'pp_dpm_sclk')).toMatch(/500Mhz \*/);
  });

  it('may be several commands for the clock table', () => {
    const { clock, dir, path, read } = lab({ node: { model: 'mi300x', cards: 1 } });
    writeFileSync(join(dir, path(0, 'power_dpm_force_performance_level')), 'manual\n');
    clock.advance(100);
    writeFileSync(join(dir, path(0, 'pp_od_clk_voltage')), 's 1 1500\nc\n');
    clock.advance(100);
    expect(read(0, 'pp_od_clk_voltage')).toContain('1: 1500Mhz');
  });

  it('is nothing where a file was only opened for writing', () => {
    const { clock, dir, path, read } = lab({ node: { model: 'mi210', cards: 1 } });
    writeFileSync(join(dir, path(0, 'power_dpm_force_performance_level')), '');
    clock.advance(1000);
    expect(read(0, 'power_dpm_force_performance_level')).toBe('auto');
    expect(text(join(dir, 'driver.log'))).toBe('');
  });

  it.each([
    ['appended', (file: string) => appendFileSync(file, 'manual\n')],
    [
      'moved over it by an editor',
      (file: string) => {
        writeFileSync(`${file}~`, 'manual\n');
        renameSync(`${file}~`, file);
      },
    ],
    ['written without a newline', (file: string) => writeFileSync(file, 'manual')],
  ])('counts when it was %s', (_how, write) => {
    const { clock, dir, path, read } = lab({ node: { model: 'mi210', cards: 1 } });
    clock.advance(1000);
    write(join(dir, path(0, 'power_dpm_force_performance_level')));
    clock.advance(200);
    expect(read(0, 'power_dpm_force_performance_level')).toBe('manual');
    clock.advance(1000);
    expect(read(0, 'power_dpm_force_performance_level')).toBe('manual');
    expect(text(join(dir, 'driver.log'))).toBe('');
  });

  it('is answered at once when it comes through a relay', () => {
    const { live, path, read } = lab({ node: { model: 'mi210', cards: 1 } });
    expect(live.write(path(0, 'hwmon/power1_cap'), '200000000\n')).toMatchObject({ ok: true });
    expect(read(0, 'hwmon/power1_cap')).toBe('200000000');
    expect(live.write(path(0, 'hwmon/power1_cap'), 'much\n')).toEqual({ ok: false, errno: 'EINVAL' });
    expect(live.write(path(0, 'gpu_metrics'), 'x')).toEqual({ ok: false, errno: 'EACCES' });
    expect(live.write('sys/no/such', 'x')).toEqual({ ok: false, errno: 'ENOENT' });
  });
});
