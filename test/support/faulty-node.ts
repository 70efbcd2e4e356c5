import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished, TestRunner } from 'vitest';
import { createLog } from '../../base/log.ts';
import { createExporter, type Exporter, type ExporterOptions } from '../../exporter/app.ts';
import { COLLECTORS } from '../../exporter/collectors.ts';
import { describeNode, type NodeDescription, type NodeOptions, writeTree } from '../../sim/tree.ts';
import { type FaultFs, mountFaults } from './faultfs.ts';
import { type Family, parseScrape } from './scrape.ts';

/** A simulated node in memory, some subtrees of which are on a file system that can fail. */
export interface FaultyNode {
  node: NodeDescription;
  /** The tree that an exporter reads. */
  path: string;
  /** Device directory of a GPU, from the root of the tree: `sys/devices/…/0000:05:00.0`. */
  dir(gpu: number): string;
  /** The file system below this directory, which was named when the node was made. */
  faults(dir: string): FaultFs;
  /** Where that subtree can be written: what is mounted at `path` is read-only. */
  source(dir: string): string;
  remove(): Promise<void>;
}

/** In memory where the machine has such a place: a tree has thousands of files. */
export function scratch(name: string): string {
  return mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), `${name}-`));
}

export function deviceDir(node: NodeDescription, gpu: number): string {
  const one = node.gpus[gpu];
  if (one === undefined) throw new RangeError(`no GPU ${gpu}`);
  return `sys/devices/${one.root}/${one.port}/${one.pci}`;
}

/** `faulty` says which directories can fail. */
export async function faultyNode(
  options: NodeOptions,
  faulty: (node: NodeDescription) => readonly string[],
): Promise<FaultyNode> {
  const base = scratch('faulty-node');
  const path = join(base, 'tree');
  const node = describeNode(options);
  writeTree(path, node);
  const mounts = new Map<string, { fs: FaultFs; source: string }>();
  for (const dir of faulty(node)) {
    const source = join(base, `source-${mounts.size}`);
    renameSync(join(path, dir), source);
    mkdirSync(join(path, dir));
    mounts.set(dir, { source, fs: await mountFaults(source, join(path, dir)) });
  }
  const mount = (dir: string): { fs: FaultFs; source: string } => {
    const found = mounts.get(dir);
    if (found === undefined) throw new RangeError(`${dir} was not asked to fail`);
    return found;
  };
  return {
    node,
    path,
    dir: (gpu) => deviceDir(node, gpu),
    faults: (dir) => mount(dir).fs,
    source: (dir) => mount(dir).source,
    async remove() {
      for (const { fs } of mounts.values()) await fs.unmount();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** Long: a fault file system on a busy machine is slow. Tests of hangs set their own. */
const LANE_DEADLINE_MS = 8_000;

/** What each test sets for itself; the lanes are real, the process collector is left out unless asked for. */
export type ExporterChanges = Partial<Omit<ExporterOptions, 'paths' | 'log'>>;

export interface Running {
  exporter: Exporter;
  /** Lines of the log, `warn` and above. */
  logged: string[];
  scrape(deadlineMs?: number): Promise<Scrape>;
  /** Scrapes until what is asked for holds; undefined where it does not within twenty seconds. */
  until(holds: (scrape: Scrape) => boolean): Promise<Scrape | undefined>;
  close(): void;
}

/** Starts the exporter in this process on `path`/sys and `path`/proc; in a test it is closed when that ends. */
export async function runExporter(path: string, changes: ExporterChanges = {}): Promise<Running> {
  const running = prepareExporter(path, changes);
  await running.exporter.start();
  return running;
}

export function prepareExporter(path: string, changes: ExporterChanges = {}): Running {
  const logged: string[] = [];
  const names = COLLECTORS.filter((one) => one.byDefault && one.name !== 'process').map((one) => one.name);
  const exporter = createExporter({
    paths: { sysfs: `${path}/sys`, procfs: `${path}/proc` },
    node: 'test',
    version: '0.0.0',
    revision: 'test',
    log: createLog({ level: 'warn', destination: { write: (line) => void logged.push(line) } }),
    collectors: new Set(names),
    laneDeadlineMs: LANE_DEADLINE_MS,
    scrapeDeadlineMs: 10_000,
    ...changes,
  });
  if (TestRunner.getCurrentTest()) onTestFinished(() => exporter.close());
  const scrape = async (deadlineMs = 10_000): Promise<Scrape> => new Scrape(await exporter.scrape(deadlineMs));
  return {
    exporter,
    logged,
    scrape,
    async until(holds) {
      const end = performance.now() + 20_000;
      do {
        const now = await scrape();
        if (holds(now)) return now;
        await sleep(50);
      } while (performance.now() < end);
      return undefined;
    },
    close: () => exporter.close(),
  };
}

/** Serves the exporter's pages on a free port of loopback until the test ends; the URL without a slash at its end. */
export async function serve({ exporter }: Running): Promise<string> {
  const server = createServer(exporter.app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Labels = Readonly<Record<string, string | number>>;

/** A scrape to be asked for its values. */
export class Scrape {
  readonly text: string;
  readonly families: ReadonlyMap<string, Family>;

  constructor(text: string) {
    this.text = text;
    this.families = parseScrape(text);
  }

  /** Samples that have at least these labels. */
  samples(name: string, labels: Labels = {}): { labels: Readonly<Record<string, string>>; value: number }[] {
    const wanted = Object.entries(labels);
    return (this.families.get(name)?.samples ?? [])
      .filter((sample) => wanted.every(([key, value]) => sample.labels[key] === String(value)))
      .map((sample) => ({ labels: sample.labels, value: Number(sample.value) }));
  }

  /** The one sample that has these labels; undefined where there is none. */
  value(name: string, labels: Labels = {}): number | undefined {
    const found = this.samples(name, labels);
    if (found.length > 1) throw new Error(`${name}${JSON.stringify(labels)} is not one series but ${found.length}`);
    return found[0]?.value;
  }

  health(gpu: number): string | undefined {
    return this.samples('amdgpu_health', { gpu }).find(({ value }) => value === 1)?.labels.state;
  }

  errors(gpu: number, source: string, reason: string): number {
    return this.value('amdgpu_read_errors_total', { gpu, source, reason }) ?? 0;
  }

  /** Names of the families that have a series of this GPU. */
  familiesOf(gpu: number): string[] {
    return [...this.families.keys()].filter((name) => this.samples(name, { gpu }).length > 0).sort();
  }

  /** GPUs that have a power reading: those that were read. */
  read(): number[] {
    return this.samples('amdgpu_power_watts')
      .map(({ labels }) => Number(labels.gpu))
      .sort((a, b) => a - b);
  }
}
