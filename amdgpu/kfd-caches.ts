import { kfdCache, parseProperties } from './formats/kfd.ts';
import type { CacheKind, KfdNode } from './kfd.ts';
import type { LanePool } from './lanes/pool.ts';
import type { Item } from './lanes/protocol.ts';
import type { Paths } from './paths.ts';
import { isOurFault } from './raw.ts';

const OWNER = 'kfd';
const ASK_MS = 2000;
/** Files of one errand; between two, those who read cards have their turn. */
const FILES_AT_ONCE = 64;

/**
 * Reads the caches of the topology's nodes beside everything else: an eight-card node has five thousand files that say what
 * they are, more than all its other files together, and nothing waits for them. What was read of a node is kept.
 */
export class CacheReader {
  readonly #pool: LanePool;
  readonly #paths: Paths;
  readonly #known = new Map<string, CacheKind[]>();
  #reading: Promise<void> = Promise.resolve();
  #missing = false;

  constructor(pool: LanePool, paths: Paths) {
    this.#pool = pool;
    this.#paths = paths;
  }

  /** False where a topology did not answer. */
  get complete(): boolean {
    return !this.#missing;
  }

  /** Gives the nodes their caches; resolves when all that answered have them. What did not is asked for in the next call. */
  fill(nodes: readonly KfdNode[]): Promise<void> {
    const unknown = nodes.filter((node) => {
      node.caches = this.#known.get(keyOf(node)) ?? [];
      return !this.#known.has(keyOf(node));
    });
    this.#reading = this.#reading.then(async () => {
      this.#missing = false;
      for (const node of unknown) {
        const caches = this.#known.get(keyOf(node)) ?? (await this.#read(node));
        // A topology that does not answer is not asked for the other nodes either.
        this.#missing = caches === undefined;
        if (caches === undefined) return;
        this.#known.set(keyOf(node), caches);
        node.caches = caches;
      }
    });
    return this.#reading;
  }

  /** Undefined where some of it was not answered. */
  async #read({ node }: KfdNode): Promise<CacheKind[] | undefined> {
    const dir = `${this.#paths.sysfs}/class/kfd/kfd/topology/nodes/${node}/caches`;
    const listing = await this.#ask({ op: 'list', dirs: [dir], names: true });
    if (listing?.op !== 'list' || listing.dirs.some(isOurFault)) return undefined;
    const entries = listing.dirs[0];
    const files = typeof entries === 'object' ? entries.map(({ name }) => `${dir}/${name}/properties`) : [];
    const caches: CacheKind[] = [];
    for (let from = 0; from < files.length; from += FILES_AT_ONCE) {
      const read = await this.#ask({ op: 'read', files: files.slice(from, from + FILES_AT_ONCE) });
      if (read?.op !== 'read' || read.files.some(isOurFault)) return undefined;
      for (const file of read.files) if (typeof file !== 'number') add(caches, Buffer.from(file).toString('utf8'));
    }
    return caches;
  }

  async #ask(item: Item) {
    const [outcome] = await this.#pool.run([{ owner: OWNER, item }], ASK_MS);
    return outcome;
  }
}

/** All that decides what caches a node has, and which node it is. */
function keyOf({ node, gpuId, gfx, partition, props }: KfdNode): string {
  return [node, gpuId, gfx, partition, props.get('caches_count'), props.get('simd_count')].join(' ');
}

/** Caches of one level and kind are alike: they are counted. */
function add(caches: CacheKind[], text: string): void {
  const cache = kfdCache(parseProperties(text));
  if (cache === undefined) return;
  const { level, bytes } = cache;
  const kind = cache.data && cache.instruction ? 'unified' : cache.instruction ? 'instruction' : 'data';
  const known = caches.find((one) => one.level === level && one.kind === kind);
  if (known === undefined) caches.push({ level, kind, bytes, count: 1 });
  else known.count += 1;
}
