import { constants } from 'node:os';
import { parseUint } from '../../amdgpu/formats/scalar.ts';
import type { Reason } from '../../model/reading.ts';
import type { Ask } from './ask.ts';
import type { Identity } from './identities.ts';

/** One `cu_occupancy` file: compute units that have a wave of this process on this node now. A count, not a share. */
export interface OccupancyFile {
  path: string;
  identity: Identity;
  gpuId: number;
}

/** The last sample. Each read samples hardware registers, so samples are taken rarely and kept until the next. */
export class Occupancy {
  #state: 'none' | 'partial' | 'whole' = 'none';
  #values = new Map<Identity, Map<number, number>>();
  /** Nodes whose chip has ever told, and those where the file was missing. */
  readonly #telling = new Set<number>();
  #missing = new Set<number>();

  async sample(ask: Ask, files: readonly OccupancyFile[]): Promise<void> {
    const texts = await ask.read(files.map((file) => file.path));
    this.#values = new Map();
    this.#missing = new Set();
    files.forEach(({ identity, gpuId }, i) => {
      const text = texts[i];
      if (text === constants.errno.ENOENT) this.#missing.add(gpuId);
      const value = typeof text === 'string' ? parseUint(text) : undefined;
      if (value === undefined) return;
      this.#telling.add(gpuId);
      const own = this.#values.get(identity) ?? new Map<number, number>();
      this.#values.set(identity, own.set(gpuId, value));
    });
    this.#state = texts.includes(undefined) ? 'partial' : 'whole';
  }

  /** Of one process, over these nodes. */
  of(identity: Identity, gpuIds: readonly number[]): number | undefined {
    const own = this.#values.get(identity);
    const values = gpuIds.map((gpuId) => own?.get(gpuId)).filter((value) => value !== undefined);
    return values.length === 0 ? undefined : values.reduce((a, b) => a + b, 0);
  }

  /** Sum over the processes that are there now; one that came after the sample is not in it. */
  sum(identities: readonly Identity[], gpuIds: readonly number[]): { value: number } | { absent: Reason } {
    if (this.#state !== 'whole') return { absent: 'timeout' };
    const values = identities.map((identity) => this.of(identity, gpuIds)).filter((value) => value !== undefined);
    // A file that is missing with its process says nothing about the chip, unless the chip never told.
    const isMissing = gpuIds.some((gpuId) => this.#missing.has(gpuId) && !this.#telling.has(gpuId));
    if (values.length === 0 && isMissing) return { absent: 'unsupported' };
    return { value: values.reduce((a, b) => a + b, 0) };
  }
}
