/** How a counter moved on: what to add to a sum, and what to compare the next value with. */
export interface Step {
  added: bigint;
  next: bigint;
}

/**
 * `before` is undefined at the first sight; `whole` says that all of a first value was counted up since we looked last.
 *
 * A small step back is two reads that overtook each other: nothing is added until the old value is passed. A fall by more
 * than half is a counter that began again (the process opened the device anew), so all of it is new.
 */
export function step(before: bigint | undefined, now: bigint, whole: boolean): Step {
  if (before === undefined) return { added: whole ? now : 0n, next: now };
  if (now >= before) return { added: now - before, next: now };
  return now < before / 2n ? { added: now, next: now } : { added: 0n, next: before };
}

/** Sums that only grow, by GPU and name, in nanoseconds. */
export class Sums {
  readonly #byPci = new Map<string, Map<string, bigint>>();

  add(pci: string, name: string, nanoseconds: bigint): void {
    const sums = this.#byPci.get(pci) ?? new Map<string, bigint>();
    this.#byPci.set(pci, sums);
    sums.set(name, (sums.get(name) ?? 0n) + nanoseconds);
  }

  get(pci: string, name: string): bigint {
    return this.#byPci.get(pci)?.get(name) ?? 0n;
  }

  of(pci: string): ReadonlyMap<string, bigint> {
    return this.#byPci.get(pci) ?? new Map();
  }
}

/** Nanoseconds as seconds. */
export function seconds(nanoseconds: bigint): number {
  return Number(nanoseconds) / 1e9;
}
