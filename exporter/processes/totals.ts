import type { UniqueClient } from '../../linux/process.ts';
import { Sums, step } from './counters.ts';
import type { Identity } from './identities.ts';
import type { KfdScan } from './kfd.ts';
import type { Place } from './targets.ts';

/**
 * Sums over processes that outlive them. They count from when we began: what a process had used before our first look is not
 * in them, because a restart of ours would otherwise begin at a number that is lower but not 0, and a rate would take all of
 * it for new. After the first look, what is new is counted from its own beginning. What a process uses between our
 * last look and its end is not seen.
 */

export type KfdTime = 'sdma' | 'evicted';
const KFD_TIMES: readonly KfdTime[] = ['sdma', 'evicted'];

/** Copy-engine and eviction time of compute processes. */
export class KfdTotals {
  readonly #sums = new Sums();
  readonly #known = new Map<number, { identity: Identity; isNew: boolean; last: Map<string, bigint> }>();
  /** The list of processes was read at least once, so that who is not known has opened the device since. */
  #listed = false;

  update(scan: KfdScan, identityOf: (pid: number) => Identity, placeOf: (gpuId: number) => Place): void {
    if (scan.absent !== undefined) return;
    for (const process of scan.processes.values()) {
      const identity = identityOf(process.pid);
      let known = this.#known.get(process.pid);
      if (known?.identity !== identity) {
        known = { identity, isNew: this.#listed, last: new Map() };
        this.#known.set(process.pid, known);
      }
      for (const [gpuId, use] of process.gpus) {
        for (const name of KFD_TIMES) {
          const now = use[name];
          if (now === undefined) continue;
          const key = `${name} ${gpuId}`;
          const { added, next } = step(known.last.get(key), now, known.isNew);
          known.last.set(key, next);
          this.#sums.add(placeOf(gpuId).pci, name, added);
        }
      }
    }
    if (!scan.complete) return;
    this.#listed = true;
    for (const pid of this.#known.keys()) if (!scan.processes.has(pid)) this.#known.delete(pid);
  }

  get(pci: string, name: KfdTime): bigint {
    return this.#sums.get(pci, name);
  }
}

interface Client {
  owner: Identity;
  last: Map<string, bigint>;
}

/** Engine time of DRM clients: by GPU, and by process with the clients that it has closed. */
export class DrmTotals {
  readonly #sums = new Sums();
  readonly #clients = new Map<string, Client>();
  readonly #byProcess = new WeakMap<Identity, Sums>();
  /** Largest client id of the last whole look: ids only grow, so a larger one was opened since. */
  #horizon: bigint | undefined;

  ownerOf(key: string): number | undefined {
    return this.#clients.get(key)?.owner.pid;
  }

  /** `whole`: every process was looked at. `closed` says of a client that was not met whether that is because it is closed. */
  update(
    clients: readonly UniqueClient[],
    identityOf: (pid: number) => Identity,
    placeOf: (client: UniqueClient) => Place,
    whole: boolean,
    closed: (owner: Identity) => boolean,
  ): void {
    const met = new Set<string>();
    for (const client of clients) {
      met.add(client.key);
      this.#count(client, identityOf(client.pid), placeOf(client));
    }
    for (const [key, { owner }] of this.#clients) if (!met.has(key) && closed(owner)) this.#clients.delete(key);
    if (!whole) return;
    this.#horizon ??= -1n;
    for (const { client } of clients)
      if (client.clientId !== undefined && client.clientId > this.#horizon) this.#horizon = client.clientId;
  }

  #count(unique: UniqueClient, owner: Identity, place: Place): void {
    let known = this.#clients.get(unique.key);
    const firstSight = known === undefined;
    known ??= { owner, last: new Map() };
    known.owner = owner;
    this.#clients.set(unique.key, known);
    const id = unique.client.clientId;
    const isNew = this.#horizon !== undefined && id !== undefined && id > this.#horizon;
    const own = this.#byProcess.get(owner) ?? new Sums();
    this.#byProcess.set(owner, own);
    for (const [engine, now] of unique.client.engines) {
      // An engine is printed once it was used: the first value of a client that we know is all new.
      const before = known.last.get(engine) ?? (firstSight ? undefined : 0n);
      const floor = before !== undefined && now < before ? before : now;
      const { added } = step(before, floor, isNew);
      known.last.set(engine, floor);
      this.#sums.add(place.pci, engine, added);
      own.add(placeKey(place), engine, firstSight ? floor : added);
    }
  }

  engines(pci: string): ReadonlyMap<string, bigint> {
    return this.#sums.of(pci);
  }

  /** Engine time of a process on one card or partition, its closed clients included. */
  enginesOf(owner: Identity, place: Place): ReadonlyMap<string, bigint> {
    return this.#byProcess.get(owner)?.of(placeKey(place)) ?? new Map();
  }
}

function placeKey(place: Place): string {
  return `${place.pci} ${place.partition}`;
}
