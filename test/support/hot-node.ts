import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { devicePath, hwmonPath } from '../../sim/files/paths.ts';
import { fastFiles } from '../../sim/live/moving.ts';
import {
  describeNode,
  type Entry,
  type Gpu,
  type NodeDescription,
  type NodeOptions,
  writeTree,
} from '../../sim/tree.ts';
import { faultsUnavailable } from './faultfs.ts';
import { folderInMemory } from './memory.ts';
import { type Mounted, mountNode, runSteps } from './relay.ts';
import { skipUnless } from './skips.ts';

/** Sets the junction of a GPU that stands still, °C, in its description and in the files that tell it. */
function setJunction(dir: string, node: NodeDescription, gpu: Gpu, celsius: number): void {
  gpu.live.temperature.junction = celsius;
  const files = new Map<string, Entry>();
  fastFiles(node, gpu, files);
  for (const path of [`${devicePath(gpu)}/gpu_metrics`, `${hwmonPath(gpu)}/temp2_input`]) {
    const entry = files.get(path);
    if (entry === undefined || 'link' in entry) throw new Error(`${path} is not written`);
    writeFileSync(join(dir, path), entry.content);
  }
}

/** A node whose physics stand still, hot or cool as the test says, with the driver's rules behind a real mount. */
export class HotNode {
  readonly one: Mounted;

  constructor(one: Mounted) {
    this.one = one;
  }

  /** What an actuator is shown. */
  get tree(): string {
    return this.one.mount;
  }

  gpu(index = 0): Gpu {
    const gpu = this.one.node.gpus[index];
    if (gpu === undefined) throw new RangeError(`no GPU ${index}`);
    return gpu;
  }

  pci(index = 0): string {
    return this.gpu(index).pci;
  }

  /** What the driver has, whatever its files say. */
  cap(index = 0): number {
    return this.gpu(index).settings.cap;
  }

  /** All that an actuator may set. */
  settings(index = 0): Record<string, unknown> {
    const { cap, level, gfxMin, gfxMax, memMax } = this.gpu(index).settings;
    return { cap, level, gfxMin, gfxMax, memMax };
  }

  /** The file below the device folder of a GPU, `hwmon/NAME` for its sensors, from the root of the tree. */
  path(name: string, index = 0): string {
    const gpu = this.gpu(index);
    return name.startsWith('hwmon/') ? `${hwmonPath(gpu)}/${name.slice(6)}` : `${devicePath(gpu)}/${name}`;
  }

  /** Sets the junction, °C. */
  heat(celsius: number, index = 0): void {
    setJunction(this.one.dir, this.one.node, this.gpu(index), celsius);
  }

  /** What a card that comes back has lost: its cap is the one it was made with, W. */
  loseCap(watts: number, index = 0): void {
    this.gpu(index).settings.cap = watts;
    writeFileSync(join(this.one.dir, this.path('hwmon/power1_cap', index)), `${watts * 1e6}\n`);
  }

  /** Somebody else writes. */
  async byHand(name: string, text: string, index = 0): Promise<void> {
    const [ended] = await runSteps([{ write: join(this.one.mount, this.path(name, index)), text }]);
    if (ended !== 'ok') throw new Error(`${name}: ${ended}`);
  }

  capByHand(watts: number, index = 0): Promise<void> {
    return this.byHand('hwmon/power1_cap', `${watts * 1e6}\n`, index);
  }
}

/** Hot from the start. */
export async function hotNode(options: NodeOptions, prepare?: (dir: string) => void): Promise<HotNode> {
  const unavailable = faultsUnavailable();
  skipUnless(unavailable === undefined, `no FUSE: ${unavailable}`);
  const one = await mountNode(options, prepare);
  onTestFinished(one.close);
  const node = new HotNode(one);
  for (const { index } of one.node.gpus) node.heat(90, index);
  return node;
}

export interface PlainNode {
  dir: string;
  node: NodeDescription;
  pci(index?: number): string;
  /** Sets the junction, °C. */
  heat(celsius: number, index?: number): void;
  /** W, as the file says. */
  cap(index?: number): number;
}

/**
 * A node in a plain folder, hot from the start: nothing answers a write, so what is written is what is read. Only a power cap, which
 * is written as it is read, can be set on it.
 */
export function plainNode(options: NodeOptions): PlainNode {
  const dir = folderInMemory('nightshift-plain-');
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const node = describeNode({ processes: [], ...options });
  writeTree(dir, node);
  const gpuOf = (index: number): Gpu => node.gpus[index] as Gpu;
  for (const gpu of node.gpus) setJunction(dir, node, gpu, 90);
  return {
    dir,
    node,
    pci: (index = 0) => gpuOf(index).pci,
    heat: (celsius, index = 0) => setJunction(dir, node, gpuOf(index), celsius),
    cap: (index = 0) => Number(readFileSync(join(dir, hwmonPath(gpuOf(index)), 'power1_cap'), 'utf8')) / 1e6,
  };
}
