import {
  closeSync,
  cpSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { pathsOfGpu } from '../../sim/driver/unplug.ts';
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
    replace(join(dir, path), entry.content);
  }
}

/** Without a moment in which a reader finds it empty. */
function replace(path: string, content: string | Uint8Array): void {
  const bytes = Buffer.from(content);
  const fd = openSync(path, 'r+');
  try {
    writeSync(fd, bytes, 0, bytes.length, 0);
    ftruncateSync(fd, bytes.length);
  } finally {
    closeSync(fd);
  }
}

/** What a driver must stand behind: all other files are as good in a plain folder, and a hundred times faster there. */
const CONTROLS = ['power1_cap', 'pp_od_clk_voltage', 'power_dpm_force_performance_level'];

/** Makes `view` look as the node in `dir`, each file being that of the folder, or of the mount where its name is among these. */
function showThrough(view: string, dir: string, mount: string, names: readonly string[]): void {
  mkdirSync(view);
  for (const name of readdirSync(dir)) {
    const [from, to] = [join(dir, name), join(view, name)];
    const status = lstatSync(from);
    if (status.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
    else if (status.isDirectory()) showThrough(to, from, join(mount, name), names);
    else symlinkSync(names.includes(name) ? join(mount, name) : from, to);
  }
}

/** A node whose physics stand still, hot or cool as the test says, with the driver's rules behind a real mount. */
export class HotNode {
  readonly one: Mounted;
  /** What an actuator is shown. */
  readonly tree: string;

  constructor(one: Mounted, tree: string) {
    this.one = one;
    this.tree = tree;
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
    replace(join(this.one.dir, this.path('hwmon/power1_cap', index)), `${watts * 1e6}\n`);
  }

  /** Takes a card off the bus; what gives it back, with other files under the same names. */
  unplug(index = 0): () => void {
    const stash = folderInMemory('nightshift-unplugged-');
    const places = [this.one.dir, this.tree].flatMap((root, i) =>
      pathsOfGpu(this.one.node, index).map((path) => ({ here: join(root, path), there: join(stash, String(i), path) })),
    );
    for (const { here, there } of places) {
      if (lstatSync(here, { throwIfNoEntry: false })) cpSync(here, there, { recursive: true, verbatimSymlinks: true });
      rmSync(here, { recursive: true, force: true });
    }
    return () => {
      for (const { here, there } of places) {
        if (lstatSync(there, { throwIfNoEntry: false }))
          cpSync(there, here, { recursive: true, verbatimSymlinks: true });
      }
      rmSync(stash, { recursive: true, force: true });
    };
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

/** Hot from the start. Files with these names, beside those that can be set, go through the mount, and so can be made to fail. */
export async function hotNode(options: NodeOptions, through: readonly string[] = []): Promise<HotNode> {
  const unavailable = faultsUnavailable();
  skipUnless(unavailable === undefined, `no FUSE: ${unavailable}`);
  const one = await mountNode(options);
  onTestFinished(one.close);
  const view = folderInMemory('nightshift-view-');
  onTestFinished(() => rmSync(view, { recursive: true, force: true }));
  const tree = join(view, 'node');
  showThrough(tree, one.dir, one.mount, [...CONTROLS, ...through]);
  const node = new HotNode(one, tree);
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
