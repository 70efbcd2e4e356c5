import type { Partition } from '../../model/card.ts';

/** A card as it is known now. */
export interface ProcessTarget {
  pci: string;
  gpu: number;
  partitions: readonly Partition[];
}

/** Whose a number in a file is. `pci` is empty for a GPU that is none of the known cards, `partition` where it is unknown. */
export interface Place {
  pci: string;
  partition: string;
}

export const NOWHERE: Place = { pci: '', partition: '' };

/** Finds cards and partitions by what process files call them. */
export class Places {
  readonly #cards = new Map<string, ProcessTarget>();
  readonly #byKfd = new Map<number, Place>();
  readonly #byMinor = new Map<number, Place>();

  constructor(targets: readonly ProcessTarget[]) {
    for (const target of targets) {
      this.#cards.set(target.pci, target);
      for (const partition of target.partitions) {
        const place = { pci: target.pci, partition: String(partition.number) };
        if (partition.kfdGpuId) this.#byKfd.set(partition.kfdGpuId, place);
        if (partition.renderMinor !== undefined) this.#byMinor.set(partition.renderMinor, place);
      }
    }
  }

  card(pci: string): ProcessTarget | undefined {
    return this.#cards.get(pci);
  }

  ofKfd(gpuId: number): Place {
    return this.#byKfd.get(gpuId) ?? NOWHERE;
  }

  ofMinor(renderMinor: number): Place {
    return this.#byMinor.get(renderMinor) ?? NOWHERE;
  }

  /** Partitions report their parent's address: the render node that was opened tells which one it is, or there is only one. */
  ofDrm(pci: string | undefined, renderMinor: number | undefined): Place {
    const card = pci === undefined ? undefined : this.#cards.get(pci);
    if (card === undefined) return NOWHERE;
    const opened = renderMinor === undefined ? undefined : this.#byMinor.get(renderMinor);
    if (opened?.pci === card.pci) return opened;
    const only = card.partitions.length === 1 ? card.partitions[0] : undefined;
    return { pci: card.pci, partition: only === undefined ? '' : String(only.number) };
  }
}
