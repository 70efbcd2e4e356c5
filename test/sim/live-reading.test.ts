import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { padded, writtenPart } from '../../sim/live/bytes.ts';
import { replaceText } from '../../sim/live/in-place.ts';
import { LiveNode } from '../../sim/live/livenode.ts';
import { describeNode } from '../../sim/tree.ts';
import { startExporter } from '../support/exporter.ts';
import { folderInMemory } from '../support/memory.ts';
import { parseScrape } from '../support/scrape.ts';
import { lab } from './living.ts';

const scratch = (): string => {
  const dir = folderInMemory('nightshift-reading-');
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

/** Reads a file as fast as it can and gives back every different text that it saw, with how often. */
const WATCHER = `
const { openSync, readSync, closeSync } = require('node:fs');
const { parentPort, workerData } = require('node:worker_threads');
const seen = new Map();
const buffer = Buffer.alloc(4096);
const fd = openSync(workerData.file, 'r');
const stop = new Int32Array(workerData.stop);
let reads = 0;
while (Atomics.load(stop, 0) === 0) {
  const text = buffer.toString('latin1', 0, readSync(fd, buffer, 0, 4096, 0));
  seen.set(text, (seen.get(text) ?? 0) + 1);
  if (reads++ === 0) parentPort.postMessage('ready');
}
closeSync(fd);
parentPort.postMessage({ seen: [...seen], reads });
`;

interface Seen {
  seen: [text: string, times: number][];
  reads: number;
}

async function seenWhile(file: string, work: () => void): Promise<Seen> {
  const stop = new SharedArrayBuffer(4);
  const worker = new Worker(WATCHER, { eval: true, workerData: { file, stop } });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.on('message', (message: 'ready' | Seen) => {
      if (message !== 'ready') {
        resolve(message);
        return;
      }
      work();
      Atomics.store(new Int32Array(stop), 0, 1);
    });
  });
}

describe('a text that is replaced in place', () => {
  const line = fc.stringMatching(/^[0-9a-zA-Z:* ]{0,40}$/).map((text) => `${text}\n`);

  it('reads as the new one, filled up with blanks, whatever stood there before', () => {
    const file = join(scratch(), 'file');
    fc.assert(
      fc.property(fc.array(line, { minLength: 2, maxLength: 8 }), (texts) => {
        writeFileSync(file, texts[0] as string);
        const fd = openSync(file, 'r+');
        let standing = { content: texts[0] as string, size: (texts[0] as string).length };
        for (const text of texts.slice(1)) {
          standing = { size: replaceText(fd, standing, Buffer.from(text)), content: text };
          const shown = readFileSync(file, 'utf8');
          expect(shown).toHaveLength(standing.size);
          expect(shown.replace(/ *\n$/, '')).toBe(text.replace(/ *\n$/, ''));
          expect(shown.endsWith('\n')).toBe(true);
        }
        closeSync(fd);
      }),
      { numRuns: 100 },
    );
  });

  it('is never seen empty or cut short by somebody who reads at that moment, nor mixed but while the kernel copies', async () => {
    const file = join(scratch(), 'file');
    const texts = [
      '7\n',
      '1234567890\n',
      '0: 500Mhz *\n1: 2100Mhz \n',
      '0: 500Mhz \n1: 1808Mhz *\n2: 2100Mhz \n',
      '42\n',
    ];
    writeFileSync(file, texts[0] as string);
    const { seen, reads } = await seenWhile(file, () => {
      const fd = openSync(file, 'r+');
      let standing = { content: texts[0] as string, size: (texts[0] as string).length };
      for (let i = 1; i < 30_000; i++) {
        const text = texts[i % texts.length] as string;
        standing = { size: replaceText(fd, standing, Buffer.from(text)), content: text };
      }
      closeSync(fd);
    });
    expect(reads).toBeGreaterThan(1000);
    expect(seen.length).toBeGreaterThan(1);
    const isWhole = (text: string): boolean =>
      texts.includes(text.replace(/ *\n?$/, text.includes(':') ? ' \n' : '\n').replace('* \n', '*\n'));
    const mixed = seen.filter(([text]) => !isWhole(text));
    // The kernel copies a page without a lock: on another core a reader can meet the copying itself, and nothing else.
    expect(mixed.reduce((sum, [, times]) => sum + times, 0)).toBeLessThanOrEqual(2 + reads / 10_000);
    const lengths = new Set(texts.map(({ length }) => length));
    expect(mixed.filter(([text]) => !text.endsWith('\n') || !lengths.has(text.length))).toEqual([]);
  });

  it('tells what somebody wrote over it', () => {
    const part = (before: string, now: string): string => writtenPart(Buffer.from(before), Buffer.from(now)).toString();
    expect(part('auto    \n', 'manual\n')).toBe('manual\n');
    expect(part('perf_determinism\n', 'manual\nterminism\n')).toBe('manual\n');
    expect(part('auto\n', 'auto\nlow\n')).toBe('low\n');
    expect(part('300000000\n', '200000000\n')).toBe('200000000\n');
    expect(padded(Buffer.from('1\n'), 4).toString()).toBe('1  \n');
  });
});

describe('an exporter on a living node', () => {
  it('scrapes it a hundred times while it is written: no read fails, nothing is torn, no counter falls', async () => {
    const dir = scratch();
    const node = describeNode({ model: 'mi300x', cards: 4 });
    const live = new LiveNode({ dir, node, clock: systemClock, hz: 100, speed: 10 });
    live.start();
    const exporter = await startExporter(dir);
    onTestFinished(() => {
      exporter.close();
      live.stop();
    });
    for (const gpu of [0, 1, 2, 3]) live.load(gpu, 0.2 + 0.2 * gpu);
    await exporter.settled();
    const last = new Map<string, number>();
    const errors: string[] = [];
    const bounds: Record<string, [number, number]> = {
      amdgpu_power_watts: [100, 760],
      amdgpu_busy_ratio: [0, 1],
      amdgpu_temperature_celsius: [20, 111],
      amdgpu_clock_hertz: [20e6, 2200e6],
    };
    let series = 0;
    for (let scrape = 0; scrape < 100; scrape++) {
      const families = parseScrape(await exporter.exporter.scrape(5000));
      for (const [name, { type, samples }] of families) {
        if (name.startsWith('amdgpu_exporter_')) continue;
        for (const { labels, value } of samples) {
          const key = `${name}${JSON.stringify(labels)}`;
          const now = Number(value);
          if (name === 'amdgpu_read_errors_total' && now > 0) errors.push(`${key} ${value}`);
          if (type === 'counter' && now < (last.get(key) ?? 0))
            errors.push(`${key} fell from ${last.get(key)} to ${value}`);
          const [low, high] = bounds[name] ?? [-Infinity, Infinity];
          if (now < low || now > high) errors.push(`${key} ${value}`);
          last.set(key, now);
        }
        series += samples.length;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(errors).toEqual([]);
    expect(series / 100).toBeGreaterThan(500);
    expect(live.cost.ticks).toBeGreaterThan(50);
    expect(exporter.logged).toEqual([]);
  }, 60_000);
});

describe('what it costs', () => {
  it.each([
    ['8 cards', { model: 'mi300x', cards: 8 }, 0.05],
    ['64 partitions', { model: 'mi300x', cards: 8, partition: 'cpx' }, 0.2],
  ] as const)(
    '%s at ten updates a second',
    (title, node, bound) => {
      const { clock } = lab({ node });
      clock.advance(5000);
      const seconds = 30;
      const before = process.cpuUsage();
      clock.advance(seconds * 1000);
      const used = process.cpuUsage(before);
      const share = (used.user + used.system) / 1e6 / seconds;
      process.stdout.write(`${title}: ${(share * 100).toFixed(1)} % of a core at 10 updates a second\n`);
      // A machine under load and with another clock is given three times as much.
      expect(share).toBeLessThan(3 * bound);
    },
    60_000,
  );
});

it('writes only what has changed', () => {
  const { clock, dir, path } = lab({ node: { model: 'mi210', cards: 2 }, step: () => undefined });
  const changed = (name: string): number => statSync(join(dir, path(0, name))).ctimeMs;
  const names = ['mem_info_vram_total', 'pp_features', 'hwmon/temp2_crit', 'hwmon/temp2_input', 'pp_dpm_sclk'];
  const before = names.map(changed);
  const table = readFileSync(join(dir, path(0, 'gpu_metrics')));
  clock.advance(3000);
  expect(names.map(changed)).toEqual(before);
  // Time itself goes on.
  expect(readFileSync(join(dir, path(0, 'gpu_metrics'))).equals(table)).toBe(false);
});
