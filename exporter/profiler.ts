import { constants } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Readings } from '../amdgpu/readings.ts';
import type { Clock } from '../base/clock.ts';
import { errnoOf, toError } from '../base/errors.ts';
import { printable } from '../linux/process.ts';
import { profiler as quantities } from '../model/quantities/profiler.ts';
import { Places, type ProcessTarget } from './processes/targets.ts';

export interface ProfilerOptions {
  /** Folder whose `*.json` files are read. Writers are to rename a finished file into it. */
  dir: string;
  /** Documents that were last written longer ago give no counters, ms. */
  maxAgeMs: number;
  clock: Clock;
}

/** What is wrong with one file, for people. */
export interface ProfilerProblem {
  file: string;
  message: string;
}

const MOST_BYTES = 4 * 2 ** 20;
const MOST_FILES = 64;
const MOST_DEVICES = 1024;
const MOST_METRICS = 4096;
/** Counters over all documents. */
const MOST_COUNTERS = 20_000;

const id = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d{1,10}$/)
      .transform(Number),
  ])
  .pipe(z.int().min(0).max(0xffff_ffff));
const metric = z.object({ Field: z.string().min(1).max(256), Value: z.union([z.string().max(64), z.number()]) });
const device = z.object({
  GpuId: id.optional(),
  DrmRenderId: id.optional(),
  LogicalNodeId: id.optional(),
  Metrics: z.array(metric).max(MOST_METRICS),
});

/** What AMD's device-counting tool prints: counters by device, all values as text. */
export const profilerDocument = z.object({ GpuMetrics: z.array(device).max(MOST_DEVICES) });
export type ProfilerDocument = z.infer<typeof profilerDocument>;

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** A decimal number; absent for everything else, `nan`, `inf` and what is too large for a number included. */
export function counterValue(text: string | number): number | undefined {
  if (typeof text === 'string' && !NUMBER.test(text.trim())) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

interface Read {
  file: string;
  mtimeMs: number;
  document?: ProfilerDocument;
}

/**
 * Hardware counters that a profiler wrote to files: sampling them needs rights that this program does not want, and takes the
 * counter hardware from others. Where two documents have the same counter of the same device, the newer is taken. Nothing is
 * thrown: what is wrong with files is in `problems` after each scan.
 */
export class ProfilerCollector {
  readonly #options: ProfilerOptions;
  readonly #tables = new Map<string, Readings>();
  readonly #node = new Readings();
  #problems: ProfilerProblem[] = [];

  constructor(options: ProfilerOptions) {
    this.#options = options;
  }

  /** Of the last scan. */
  get problems(): readonly ProfilerProblem[] {
    return this.#problems;
  }

  /** Counters of one card. */
  readings(pci: string): Readings {
    let table = this.#tables.get(pci);
    if (table === undefined) {
      table = new Readings();
      this.#tables.set(pci, table);
    }
    return table;
  }

  /** When each document was last written. */
  nodeReadings(): Readings {
    return this.#node;
  }

  async scan(targets: readonly ProcessTarget[]): Promise<void> {
    const problems: ProfilerProblem[] = [];
    const now = this.#options.clock.now();
    const read: Read[] = [];
    for (const file of await this.#files(problems)) {
      const one = await this.#read(file, now, problems);
      if (one !== undefined) read.push(one);
    }
    // Newest first: what is there already is newer.
    read.sort((a, b) => b.mtimeMs - a.mtimeMs || (a.file < b.file ? -1 : 1));
    for (const { pci } of targets) this.readings(pci);
    for (const table of [this.#node, ...this.#tables.values()]) table.begin(now);
    for (const { file, mtimeMs } of read) this.#node.put(quantities.mtime, mtimeMs / 1000, file, printable(file));
    this.#publish(read, new Places(targets), problems);
    for (const table of [this.#node, ...this.#tables.values()]) table.prune(1);
    this.#problems = problems;
  }

  async #files(problems: ProfilerProblem[]): Promise<string[]> {
    const { dir } = this.#options;
    try {
      const names = (await readdir(dir)).filter((name) => name.endsWith('.json') && !name.startsWith('.')).sort();
      if (names.length > MOST_FILES)
        problems.push({
          file: dir,
          message: `holds ${names.length} documents; only the first ${MOST_FILES} by name are read`,
        });
      return names.slice(0, MOST_FILES);
    } catch (error) {
      problems.push({ file: dir, message: `the folder cannot be listed: ${reasonFor(error)}` });
      return [];
    }
  }

  /** Absent where the file cannot be read at all; without document where it is old or malformed. */
  async #read(file: string, now: number, problems: ProfilerProblem[]): Promise<Read | undefined> {
    const problem = (message: string): void => void problems.push({ file, message });
    let handle: FileHandle | undefined;
    try {
      // Opening a FIFO would otherwise wait for its writer.
      handle = await open(join(this.#options.dir, file), constants.O_RDONLY | constants.O_NONBLOCK);
      const stats = await handle.stat();
      if (!stats.isFile()) return void problem('is no regular file');
      const { mtimeMs, size } = stats;
      const only = { file, mtimeMs };
      const age = now - mtimeMs;
      if (age > this.#options.maxAgeMs) return only;
      if (age < -this.#options.maxAgeMs) {
        problem('was written in the future, so its age cannot be told: set the clock, or write it anew');
        return only;
      }
      const text = size > MOST_BYTES ? undefined : await readAtMost(handle, MOST_BYTES);
      if (text === undefined) {
        problem(`is larger than ${MOST_BYTES} bytes`);
        return only;
      }
      const document = parseDocument(text, problem);
      return document === undefined ? only : { ...only, document };
    } catch (error) {
      // Replaced or taken away between list and read: the next scan sees what is there then.
      if (errnoOf(error) !== 'ENOENT') problem(`cannot be read: ${reasonFor(error)}`);
      return undefined;
    } finally {
      await handle?.close().catch(() => {});
    }
  }

  #publish(read: readonly Read[], places: Places, problems: ProfilerProblem[]): void {
    let counters = 0;
    for (const { file, document } of read) {
      const unknown: string[] = [];
      for (const { DrmRenderId: minor, GpuId: gpuId, Metrics } of document?.GpuMetrics ?? []) {
        const { pci, partition } = placeOf(places, minor, gpuId);
        if (pci === '') unknown.push(minor === undefined ? `KFD id ${gpuId ?? 'not told'}` : `render node ${minor}`);
        if (pci === '') continue;
        for (const { Field, Value } of Metrics) {
          const value = counterValue(Value);
          const labels = [printable(Field), partition];
          if (value === undefined || this.readings(pci).get(quantities.value, ...labels) !== undefined) continue;
          if (counters >= MOST_COUNTERS) {
            problems.push({
              file,
              message: `more than ${MOST_COUNTERS} counters in all documents: the rest is left out`,
            });
            return;
          }
          counters += 1;
          this.readings(pci).putAll(quantities.value, value, file, labels);
        }
      }
      if (unknown.length > 0)
        problems.push({
          file,
          message: `${unknown.length} of its devices are none of the known cards, the first: ${unknown[0]}`,
        });
    }
  }
}

/** The render minor is the join; KFD's id serves where the profiler does not tell it. */
function placeOf(places: Places, minor: number | undefined, gpuId: number | undefined) {
  const byMinor = places.ofMinor(minor ?? -1);
  return byMinor.pci !== '' || gpuId === undefined ? byMinor : places.ofKfd(gpuId);
}

/** Says what is wrong instead of throwing. */
function parseDocument(text: string, problem: (message: string) => void): ProfilerDocument | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    problem(`is no JSON: ${printable(toError(error).message)}`);
    return undefined;
  }
  const result = profilerDocument.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  problem(`is no profiler document: at ${issue?.path.join('.') || 'the top'}: ${issue?.message ?? 'not as expected'}`);
  return undefined;
}

/** Undefined where there is more: the file may have grown since its size was asked for. */
async function readAtMost(handle: FileHandle, most: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of handle.createReadStream({ start: 0, end: most, autoClose: false })) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
  }
  return length > most ? undefined : Buffer.concat(chunks).toString('utf8');
}

function reasonFor(error: unknown): string {
  return errnoOf(error) ?? toError(error).message;
}
