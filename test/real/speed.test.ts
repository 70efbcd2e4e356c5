import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../base/log.ts';
import { createExporter } from '../../exporter/app.ts';
import { COLLECTORS } from '../../exporter/collectors.ts';
import { type Program, startNightshift, startPlainServer } from '../bench/program.ts';
import { measureReading } from '../bench/reading.ts';
import { folderInMemory, type Subject, writeSubject } from '../bench/subjects.ts';
import { timeEach } from '../bench/times.ts';

/**
 * What must not become slow. Nothing is held against a clock: each time is compared with that of a program that does the
 * least possible, taken in the same moment, and the best of several rounds counts, for other work on the machine makes both
 * slower at its own whim. The bench has the absolute times.
 */

const ROUNDS = 6;

let folder: string;
let subject: Subject;
beforeAll(() => {
  folder = folderInMemory();
  subject = writeSubject(folder, '8 x MI300X', { model: 'mi300x', cards: 8 });
});
// A worker is ended by its pool, and then nothing is removed at its exit.
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a lane reads its best pass in at most four times what a C program usually needs for the same files', async () => {
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { lane, floor, files } = await measureReading({ createExporter, createLog, COLLECTORS }, subject, 100);
    expect(files).toBeGreaterThan(80);
    expect(floor.failed).toBe(0);
    // The floor's passes follow each other with warm caches; the lane's stand between scrapes, and only its best has them too.
    ratios.push(lane.best / floor.p50);
  }
  expect(Math.min(...ratios)).toBeLessThanOrEqual(4);
});

describe('the program', () => {
  let nightshift: Program;
  let plain: Program;
  let bytes: number;

  beforeAll(async () => {
    nightshift = await startNightshift(subject.tree, subject.cards);
    bytes = (await nightshift.client.ask('identity')).bytes;
    plain = await startPlainServer(bytes);
  });
  afterAll(async () => {
    await nightshift?.stop();
    await plain?.stop();
  });

  const scrape = async (program: Program): Promise<void> => {
    expect((await program.client.ask('identity')).status).toBe(200);
  };

  it('holds no more memory after 2,000 scrapes than after 500', async () => {
    const privates: number[] = [];
    await timeEach(2000, async (round) => {
      await scrape(nightshift);
      if (round >= 300 && round % 20 === 0) privates.push(nightshift.memory().private);
    });
    // A heap breathes by some MiB between two great collections, so high points are compared, and coarsely: what each scrape
    // would leave behind to be seen is 11 KiB, a twentieth of its text.
    const early = Math.max(...privates.slice(0, 10));
    const late = Math.max(...privates.slice(-10));
    expect(late - early).toBeLessThan(16);
  });

  it('answers a scrape of eight cards in a small multiple of what a server needs that has the bytes ready', async () => {
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const ours = await timeEach(60, () => scrape(nightshift));
      const least = await timeEach(60, () => scrape(plain));
      ratios.push(ours.p50 / least.p50);
    }
    expect(Math.min(...ratios)).toBeLessThanOrEqual(20);
  });

  it('is at its first good scrape in a small multiple of the time in which Node starts a server', async () => {
    const ratios: number[] = [];
    for (let round = 0; round < 3; round++) {
      const ours = await startNightshift(subject.tree, subject.cards);
      await ours.stop();
      const least = await startPlainServer(bytes);
      await least.stop();
      ratios.push(ours.startMs / least.startMs);
    }
    expect(Math.min(...ratios)).toBeLessThanOrEqual(15);
  });
});
