import { hasOlderQueueTypes } from '../../amdgpu/formats/kfdproc.ts';
import type { Paths } from '../../amdgpu/paths.ts';
import { type UniqueClient, uniqueClients } from '../../linux/process.ts';
import type { Reason } from '../../model/reading.ts';
import type { Ask } from './ask.ts';
import { type DrmScan, listPids, scanDrm } from './drm.ts';
import { Host, Identities, type Identity, readIdentities } from './identities.ts';
import { type KfdProcess, type KfdScan, scanKfd } from './kfd.ts';
import type { OccupancyFile } from './occupancy.ts';
import { type Found, type Row, rowsOf } from './rows.ts';
import type { Places } from './targets.ts';
import { DrmTotals, KfdTotals } from './totals.ts';

/** What one look at the processes found. */
export interface Picture {
  places: Places;
  rows: Row[];
  occupancyFiles: OccupancyFile[];
  /** Why a source says nothing; `timeout` also where it said only a part. */
  kfdAbsent: Reason | undefined;
  drmAbsent: Reason | undefined;
  /** Processes whose descriptors we may not see, at the last look at all of them. */
  denied: number;
  /** Nothing went unanswered, and at least one of the sources is there. */
  success: boolean;
}

type IdentityOf = (pid: number) => Identity;

/** Looks at processes again and again, and keeps who they are and what they have used. */
export class Observer {
  readonly host = new Host();
  readonly kfdTotals = new KfdTotals();
  readonly drmTotals = new DrmTotals();
  readonly #paths: Paths;
  readonly #perProcess: boolean;
  readonly #fullScanMs: number;
  /** By the numbers of our own /proc, and by KFD's where those differ. */
  readonly #ids = new Identities();
  readonly #foreignIds = new Identities();
  #drmPids = new Set<number>();
  #procfsAbsent: Reason | undefined;
  #denied = 0;
  #olderQueueTypes = false;
  #fullScanAt: number | undefined;

  constructor(options: { paths: Paths; perProcess: boolean; fullScanMs: number }) {
    this.#paths = options.paths;
    this.#perProcess = options.perProcess;
    this.#fullScanMs = options.fullScanMs;
  }

  /** `now` is monotonic, ms. */
  async look(ask: Ask, places: Places, now: number): Promise<Picture> {
    const kfd = await scanKfd(ask, this.#paths.sysfs, this.#perProcess);
    const { pids, full } = await this.#whomToAsk(ask, [...kfd.processes.keys()], now);
    const drm = await scanDrm(ask, this.#paths.procfs, pids);
    if (full) this.#denied = drm.denied;
    const holders = new Set(drm.descriptors.map(({ pid }) => pid));
    const { ofKfd, ofProc } = await this.#identify(ask, kfd, holders);

    this.kfdTotals.update(kfd, ofKfd, (gpuId) => places.ofKfd(gpuId));
    const compute = [...kfd.processes.values()].map((process) => ({ process, identity: ofKfd(process.pid) }));
    this.#olderQueueTypes ||= hasOlderQueueTypes(
      compute.flatMap(({ process }) => process.queues?.map(({ type }) => type) ?? []),
    );
    const rows = rowsOf({
      kfd: compute,
      clients: this.#clients(drm, places, ofProc, full ? new Set(pids) : undefined),
      placeOf: (gpuId) => places.ofKfd(gpuId),
      olderQueueTypes: this.#olderQueueTypes,
      computing: this.host.foreign ? drm.computing : new Set(),
    });
    this.#remember(kfd, drm, holders);
    const isWhole = kfd.complete && drm.complete && this.#procfsAbsent !== 'timeout';
    return {
      places,
      rows,
      occupancyFiles: compute.flatMap(occupancyFiles),
      kfdAbsent: kfd.complete ? kfd.absent : 'timeout',
      drmAbsent: drm.complete ? this.#procfsAbsent : 'timeout',
      denied: this.#denied,
      success: isWhole && (kfd.absent === undefined || this.#procfsAbsent === undefined),
    };
  }

  /** All processes where a full scan is due; else those that hold, or by KFD's word may hold, a GPU. */
  async #whomToAsk(ask: Ask, kfdPids: readonly number[], now: number): Promise<{ pids: number[]; full: boolean }> {
    if (this.#fullScanAt === undefined || now - this.#fullScanAt >= this.#fullScanMs) {
      await this.host.look(ask, this.#paths.procfs);
      const pids = await listPids(ask, this.#paths.procfs);
      this.#procfsAbsent = typeof pids === 'string' ? pids : undefined;
      if (typeof pids !== 'string') {
        this.#fullScanAt = now;
        return { pids, full: true };
      }
    }
    const some = new Set([...this.#drmPids, ...(this.host.foreign ? [] : kfdPids)]);
    return { pids: [...some], full: false };
  }

  /** Who the processes are, by KFD's numbers and by those of our /proc. */
  async #identify(
    ask: Ask,
    kfd: KfdScan,
    holders: ReadonlySet<number>,
  ): Promise<{ ofKfd: IdentityOf; ofProc: IdentityOf }> {
    const { foreign } = this.host;
    const pids = new Set([...holders, ...(foreign ? [] : kfd.processes.keys())]);
    const told = await readIdentities(ask, this.#paths.procfs, [...pids]);
    const known = new Map([...told].map(([pid, one]) => [pid, this.#ids.resolve(pid, one)]));
    const ofProc: IdentityOf = (pid) => known.get(pid) ?? this.#ids.resolve(pid, {});
    return { ofKfd: foreign ? (pid) => this.#foreignIds.resolve(pid, {}) : ofProc, ofProc };
  }

  /** `all`: every process there is, where all were looked at. */
  #clients(drm: DrmScan, places: Places, identityOf: IdentityOf, all: Set<number> | undefined): Found['clients'] {
    const isOlder = (pid: number, than: number): boolean => {
      const [a, b] = [identityOf(pid).start, identityOf(than).start];
      return a !== undefined && b !== undefined && a !== b ? a < b : pid < than;
    };
    const placeOf = ({ client, renderMinor }: UniqueClient) => places.ofDrm(client.pci, renderMinor);
    const unique = uniqueClients(drm.descriptors, (key) => this.drmTotals.ownerOf(key), isOlder);
    const whole = all !== undefined && drm.complete;
    const closed = ({ pid }: Identity) => drm.seen.has(pid) || (whole && !all.has(pid));
    this.drmTotals.update(unique, identityOf, placeOf, whole, closed);
    return unique.map((client) => ({ unique: client, identity: identityOf(client.pid), place: placeOf(client) }));
  }

  /** Who holds a GPU is looked at again without a full scan. Nobody is forgotten by a look that missed somebody. */
  #remember(kfd: KfdScan, drm: DrmScan, holders: ReadonlySet<number>): void {
    this.#drmPids = drm.complete ? new Set(holders) : new Set([...this.#drmPids, ...holders]);
    if (!kfd.complete || !drm.complete) return;
    const compute = new Set(kfd.processes.keys());
    this.#ids.keep(this.host.foreign ? holders : new Set([...holders, ...compute]));
    this.#foreignIds.keep(compute);
  }
}

function occupancyFiles({ process, identity }: { process: KfdProcess; identity: Identity }): OccupancyFile[] {
  return [...process.gpus].flatMap(([gpuId, { occupancyFile }]) =>
    occupancyFile === undefined ? [] : [{ path: occupancyFile, identity, gpuId }],
  );
}
