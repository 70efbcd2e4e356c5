import type { Reading } from './reading.ts';

/** What decides how a card's files are to be understood. `family` groups parts that share a driver file. */
export type Family =
  | 'vega'
  | 'mi50'
  | 'mi100'
  | 'mi200'
  | 'mi300'
  | 'mi350'
  | 'navi1'
  | 'navi2'
  | 'navi3'
  | 'navi4'
  | 'apu'
  | 'other';

export interface Model {
  /** Marketing name where the device id is known, e.g. `MI300X`; otherwise empty. */
  name: string;
  family: Family;
  /** `0x74a1`; empty where not readable. */
  deviceId: string;
  /** `gfx942`; empty where KFD does not say. */
  gfx: string;
}

/** One logical device of a GPU. In SPX there is one, numbered 0. */
export interface Partition {
  /** Number within the GPU (KFD location_id bits 31:28, or 2:0 on drivers that put it there). */
  number: number;
  /** Minor of /dev/dri/renderDM, where known. */
  renderMinor?: number;
  /** KFD topology node, and its gpu_id (which names files below kfd/proc). */
  kfdNode?: number;
  kfdGpuId?: number;
}

/** One PCI function driven by amdgpu. MI250's two dies are two cards with one `package`. */
export interface Card {
  /** `0000:c1:00.0`; for a GPU that only KFD shows without an address, `kfd-<gpu_id>`. */
  pci: string;
  /** Index for people: PCI order at first discovery, kept while the process lives. */
  gpu: number;
  /** PCI address of the primary die; own address where there is one die. */
  package: string;
  model: Model;
  /** A virtual function in a guest. */
  virtual: boolean;
  partitions: Partition[];
  /** Moves whenever discovery saw this card change (repartition, return, reload). */
  generation: number;
}

export type Health = 'ok' | 'silent' | 'asleep' | 'resetting' | 'gone';
export const HEALTHS: readonly Health[] = ['ok', 'silent', 'asleep', 'resetting', 'gone'];

export interface CardState {
  card: Card;
  health: Health;
  /** Keyed `quantity` or `quantity.label`, as in policies: `temperature.junction`. */
  readings: ReadonlyMap<string, Reading<unknown>>;
}
