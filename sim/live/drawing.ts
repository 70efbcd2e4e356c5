import { devicePath } from '../files/paths.ts';
import { type Entry, type NodeDescription, renderNode } from '../tree.ts';
import type { LiveFiles } from './files.ts';
import type { Life } from './life.ts';
import { fastFiles, processFiles, silence, slowFiles } from './moving.ts';
import { present } from './view.ts';

/** Seconds after which everything that may have moved is looked at. */
const SLOW_S = 1;

/** Draws a life in files: what the firmware measures at each step, the rest each second, all of it when files come or go. */
export class Drawing {
  readonly #life: Life;
  readonly #files: LiveFiles;
  readonly #relayed: boolean;
  #slowDue = 0;
  #structure: string;
  #gone = '';

  /** `relayed`: GPUs that do not answer are somebody else's to show. */
  constructor(life: Life, files: LiveFiles, relayed: boolean) {
    this.#life = life;
    this.#files = files;
    this.#relayed = relayed;
    this.#structure = this.#structureNow();
    const tree = renderNode(life.node);
    files.adopt(tree);
    this.#watch(tree);
  }

  /** `all`: also what is otherwise looked at once a second. */
  draw(all: boolean): void {
    if (this.#structureNow() !== this.#structure) {
      this.#redraw();
      return;
    }
    const { node, world, passed } = this.#life;
    const view = present(node, world.gone);
    const slow = all || passed >= this.#slowDue;
    if (slow) this.#slowDue = passed + SLOW_S;
    const entries = new Map<string, Entry>();
    for (const gpu of view.gpus) {
      if (slow) slowFiles(view, gpu, entries);
      if (gpu.live.runtimeStatus !== 'suspended') fastFiles(view, gpu, entries);
      if (this.#isSilent(gpu.index)) silence(gpu, entries);
    }
    if (slow) processFiles(view, entries);
    this.#files.update(entries);
  }

  /** KFD counts every GPU that goes or comes. */
  #redraw(): void {
    const { node, world } = this.#life;
    const gone = goneOf(world.gone);
    if (gone !== this.#gone) node.generation += 1;
    this.#gone = gone;
    this.#structure = this.#structureNow();
    const view = present(node, world.gone);
    const tree = renderNode(view);
    for (const gpu of view.gpus) if (this.#isSilent(gpu.index)) silence(gpu, tree);
    this.#files.restructure(tree);
    this.#watch(tree);
    this.#life.changed = true;
  }

  /** In a plain folder nobody can be refused a read: what the firmware must answer is there and empty. */
  #isSilent(gpu: number): boolean {
    const health = this.#life.world.health(gpu);
    return (health === 'hung' || health === 'resetting') && !this.#relayed;
  }

  /** Changes with whatever makes files come or go. */
  #structureNow(): string {
    const { node, world } = this.#life;
    return `${node.generation}/${goneOf(world.gone)}/${node.processes.map(processKey).join()}`;
  }

  #watch(tree: ReadonlyMap<string, Entry>): void {
    const devices = this.#life.node.gpus.map((gpu) => `${devicePath(gpu)}/`);
    const paths: string[] = [];
    for (const [path, entry] of tree) {
      if ('link' in entry || ((entry.mode ?? 0) & 0o222) === 0 || path.includes('/drm/')) continue;
      if (devices.some((device) => path.startsWith(device))) paths.push(path);
    }
    this.#files.watch(paths);
  }
}

const processKey = ({ pid, kfd, zombie = false }: NodeDescription['processes'][number]): string =>
  `${pid}${kfd ? 'k' : ''}${zombie ? 'z' : ''}`;
const goneOf = (gone: ReadonlySet<number>): string => [...gone].sort().join();
