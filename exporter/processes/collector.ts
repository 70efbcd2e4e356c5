import type { LanePool } from '../../amdgpu/lanes/pool.ts';
import type { Paths } from '../../amdgpu/paths.ts';
import { Readings } from '../../amdgpu/readings.ts';
import type { Clock } from '../../base/clock.ts';
import { Ask } from './ask.ts';
import { Observer, type Picture } from './observer.ts';
import { Occupancy } from './occupancy.ts';
import { capped, publishSums, seriesOf, shownRows } from './publish.ts';
import type { Row } from './rows.ts';
import { Places, type ProcessTarget } from './targets.ts';

export type { ProcessTarget } from './targets.ts';

export interface ProcessOptions {
  pool: Pick<LanePool, 'run'>;
  paths: Paths;
  clock: Clock;
  /** Series of single processes, beside the sums. */
  perProcess: boolean;
  /** Most series of single processes, over all cards. */
  maxSeries: number;
  /** Least time between two samples of compute-unit occupancy, ms. */
  occupancyMs: number;
  /** Least time between two looks at every process of the node, ms. */
  fullScanMs: number;
  /** How long one scan may take, ms; a sample of occupancy has as long again. */
  deadlineMs: number;
}

export interface ListedProcess {
  pid: number;
  comm: string;
  /** Empty, and `gpu` absent, for a GPU that is none of the known cards. */
  pci: string;
  gpu?: number;
  /** Empty where not known. */
  partition: string;
  /** Absent where nobody tells. */
  vramBytes?: number;
  source: 'kfd' | 'fdinfo';
}

/** Passes after which the slots of an ended process are forgotten. */
const PRUNE = 2;

/**
 * Processes on the cards: compute processes as KFD lists them, the others by their DRM descriptors.
 *
 * Everything is read through the process lane. KFD's list and the DRM clients already known are looked at in every scan, all
 * processes of the node every `fullScanMs`, compute-unit occupancy (each read samples hardware registers) every
 * `occupancyMs`, after the scan and with a deadline of its own.
 *
 * What belongs to a GPU that is none of the targets stands in the table of PCI address ''.
 */
export class ProcessCollector {
  readonly #options: ProcessOptions;
  readonly #observer: Observer;
  readonly #occupancy = new Occupancy();
  readonly #tables = new Map<string, Readings>();
  #occupancyAt: number | undefined;
  #running: Promise<void> | undefined;
  #picture: Picture | undefined;
  #dropped = 0;
  #droppedNow = 0;
  #seconds = 0;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#observer = new Observer(options);
  }

  /** Series of single processes left out because of `maxSeries`, added up over all scans. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Those of the last scan. */
  get droppedNow(): number {
    return this.#droppedNow;
  }

  /** The last scan had an answer to everything, and KFD's list or /proc could be read. */
  get success(): boolean {
    return this.#picture?.success ?? false;
  }

  /** How long the last scan took, without the sample of occupancy. */
  get seconds(): number {
    return this.#seconds;
  }

  /** Processes whose descriptors we may not see, at the last look at all of them. */
  get denied(): number {
    return this.#picture?.denied ?? 0;
  }

  /** Scans and fills one table per card. A scan that is asked for during another is that other. */
  scan(targets: readonly ProcessTarget[]): Promise<void> {
    this.#running ??= this.#scan(targets).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Readings of the card's processes; for '' of those on no known card. */
  readings(pci: string): Readings {
    let table = this.#tables.get(pci);
    if (table === undefined) {
      table = new Readings();
      this.#tables.set(pci, table);
    }
    return table;
  }

  list(): ListedProcess[] {
    const { rows = [], places } = this.#picture ?? {};
    return rows.map(({ identity, place, vram, source }) => {
      const gpu = places?.card(place.pci)?.gpu;
      return {
        pid: identity.pid,
        comm: identity.comm,
        ...place,
        ...(gpu === undefined ? {} : { gpu }),
        ...(vram === undefined ? {} : { vramBytes: vram }),
        source,
      };
    });
  }

  async #scan(targets: readonly ProcessTarget[]): Promise<void> {
    const { clock, deadlineMs, pool } = this.#options;
    const begin = clock.monotonic();
    const picture = await this.#observer.look(new Ask(pool, clock, deadlineMs), new Places(targets), begin);
    this.#picture = picture;
    this.#seconds = (clock.monotonic() - begin) / 1000;
    this.#publish(targets, picture);
    this.#dropped += this.#droppedNow;
    if (!this.#occupancyIsDue(picture, begin)) return;
    this.#occupancyAt = begin;
    await this.#occupancy.sample(new Ask(pool, clock, deadlineMs), picture.occupancyFiles);
    this.#publish(targets, picture);
  }

  #occupancyIsDue(picture: Picture, now: number): boolean {
    if (picture.kfdAbsent !== undefined) return false;
    return this.#occupancyAt === undefined || now - this.#occupancyAt >= this.#options.occupancyMs;
  }

  #publish(targets: readonly ProcessTarget[], picture: Picture): void {
    const at = this.#options.clock.now();
    const byPci = new Map<string, Row[]>(targets.map((target) => [target.pci, []]));
    for (const row of picture.rows) {
      const rows = byPci.get(row.place.pci);
      if (rows === undefined) byPci.set(row.place.pci, [row]);
      else rows.push(row);
    }
    for (const pci of new Set([...this.#tables.keys(), ...byPci.keys()])) this.readings(pci).begin(at);
    for (const [pci, rows] of byPci) this.#publishSums(pci, rows, picture);
    if (this.#options.perProcess) this.#publishProcesses(picture);
    for (const table of this.#tables.values()) table.prune(PRUNE);
  }

  #publishSums(pci: string, rows: Row[], picture: Picture): void {
    const { kfdTotals, drmTotals } = this.#observer;
    const engines = drmTotals.engines(pci);
    // Where processes are hidden from us and none that we see has a client here, nothing seen is no 0.
    const isHidden = picture.denied > 0 && engines.size === 0 && !rows.some((row) => row.gtt !== undefined);
    const compute = rows.filter((row) => row.source === 'kfd');
    const gpuIds = [...new Set(compute.flatMap((row) => row.gpuIds))];
    const sums = {
      sdma: kfdTotals.get(pci, 'sdma'),
      evicted: kfdTotals.get(pci, 'evicted'),
      engines,
      occupancy: this.#occupancy.sum([...new Set(compute.map((row) => row.identity))], gpuIds),
    };
    const drm = picture.drmAbsent ?? (isHidden ? 'denied' : undefined);
    publishSums(this.readings(pci), rows, sums, { kfd: picture.kfdAbsent, drm });
  }

  #publishProcesses(picture: Picture): void {
    const { drmTotals, host } = this.#observer;
    const started = new Set<string>();
    const shown = shownRows(picture.rows);
    const series = shown.map((row) => {
      const key = `${row.place.pci} ${row.identity.pid} ${row.identity.comm}`;
      const isFirst = !started.has(key);
      started.add(key);
      return seriesOf(row, {
        engines: drmTotals.enginesOf(row.identity, row.place),
        occupancy: row.source === 'kfd' ? this.#occupancy.of(row.identity, row.gpuIds) : undefined,
        start: isFirst ? host.started(row.identity) : undefined,
      });
    });
    const { kept, dropped } = capped(series, this.#options.maxSeries);
    this.#droppedNow = dropped;
    kept.forEach((own, i) => {
      const table = this.readings((shown[i] as Row).place.pci);
      for (const { quantity, value, source, labels } of own) table.putAll(quantity, value, source, labels);
    });
  }
}
