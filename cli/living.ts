import { accessSync, constants, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Daemon } from '../base/app.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { configurationError, environmentError, errnoOf, NightshiftError } from '../base/errors.ts';
import type { FlagDef, FlagValues } from '../base/flags.ts';
import type { Log } from '../base/log.ts';
import { DRIVERS, type DriverGeneration } from '../sim/driver.ts';
import { SERVED_FILE } from '../sim/inference/place.ts';
import { startChild } from '../sim/live/children.ts';
import { Console } from '../sim/live/console.ts';
import { LiveNode, type LiveNodeOptions } from '../sim/live/livenode.ts';
import { ownerOf } from '../sim/live/owner.ts';
import { type ComputeMode, type MemoryMode, MODELS, SIM_MODELS, type SimModel } from '../sim/models.ts';
import { describeJobs } from '../sim/scenario/jobs.ts';
import { loadScenario } from '../sim/scenario.ts';
import { describeNode, isSimulatedTree } from '../sim/tree.ts';

/** A living node for the commands that show one. */

const MODES = ['spx', 'dpx', 'tpx', 'qpx', 'cpx'] as const satisfies readonly ComputeMode[];
const MEMORY_MODES = ['nps1', 'nps2', 'nps4', 'nps8'] as const satisfies readonly MemoryMode[];

/** What node lives, and how fast. */
export const NODE_FLAGS = [
  { name: 'partition', kind: 'string', choices: MODES, help: 'compute partitioning of all GPUs, MI300 and later' },
  { name: 'memory-partition', kind: 'string', choices: MEMORY_MODES, help: 'memory partitioning, MI300 and later' },
  {
    name: 'driver',
    kind: 'string',
    choices: DRIVERS,
    help: 'generation of the driver; the newest that the model is known with',
  },
  { name: 'gpu-metrics', kind: 'string', help: 'revision of gpu_metrics, as 1.8; by default what that driver writes' },
  { name: 'seed', kind: 'int', default: 1, min: 0, help: 'the same seed gives the same life' },
  { name: 'speed', kind: 'int', default: 1, min: 1, max: 3600, help: 'seconds of its life that pass in one second' },
  { name: 'hz', kind: 'int', default: 10, min: 1, max: 100, help: 'updates of the files a second' },
  {
    name: 'real-jobs',
    kind: 'boolean',
    default: false,
    help: 'a real process for each batch job of the scenario, which signals reach',
  },
] as const satisfies readonly FlagDef[];

export const INFERENCE_FLAG = {
  name: 'inference.listen',
  kind: 'string',
  help: 'serve the inference servers at 127.0.0.1:0, or from a first port on; by default they are not served',
} as const satisfies FlagDef;

export const MODEL_FLAG = { name: 'model', kind: 'string', choices: SIM_MODELS, help: 'which product' } as const;

export interface Living {
  dir: string;
  model: SimModel;
  /** Packages: an MI250X has two GPUs. */
  cards: number;
  partition?: ComputeMode | undefined;
  memory?: MemoryMode | undefined;
  driver?: DriverGeneration | undefined;
  gpuMetrics?: string | undefined;
  /** Name or file. */
  scenario?: string | undefined;
  seed: number;
  speed: number;
  hz: number;
  /** Each batch job is a real process. */
  realJobs?: boolean | undefined;
}

/** What the flags say of the node, under its own names. */
export const wishesOf = (
  given: FlagValues<typeof NODE_FLAGS>,
): Omit<Living, 'dir' | 'model' | 'cards' | 'scenario'> => ({
  partition: given.partition,
  memory: given['memory-partition'],
  driver: given.driver,
  gpuMetrics: given['gpu-metrics'],
  seed: given.seed,
  speed: given.speed,
  hz: given.hz,
  realJobs: given['real-jobs'],
});

/** A described node with its scenario, not started yet. What is wrong with the wishes is a configuration error. */
export function livingNode(
  wishes: Living,
  more: Pick<LiveNodeOptions, 'onFail' | 'onChange' | 'relayed' | 'truthBytes'> & { clock?: Clock } = {},
): LiveNode {
  const { dir, model, cards, partition, memory, driver, gpuMetrics, seed, speed, hz, realJobs = false } = wishes;
  const gpus = cards * MODELS[model].dies;
  const scenario = wishes.scenario === undefined ? undefined : loadScenario(wishes.scenario, gpus);
  try {
    const node = describeNode({
      model,
      cards,
      seed,
      ...(partition && { partition }),
      ...(memory && { memory }),
      ...(driver && { driver }),
      ...(gpuMetrics && { gpuMetrics }),
      ...(scenario && { processes: describeJobs(scenario, { model, gpus, partition }) }),
    });
    return new LiveNode({
      ...{ dir, node, clock: systemClock, seed, speed, hz, realJobs, startWorker: startChild },
      ...(scenario && { scenario }),
      ...more,
    });
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const hint = 'See nightshift sim start --help.';
    throw configurationError('SIMULATION_OPTION_INVALID', `no such node: ${cause.message}`, hint, { cause });
  }
}

/** Writes its files and lets it live. */
export function begin(node: LiveNode): void {
  try {
    node.start();
    // Of one that was killed: its ports are gone.
    rmSync(join(node.dir, SERVED_FILE), { force: true });
  } catch (cause) {
    if (cause instanceof NightshiftError || errnoOf(cause) === undefined) throw cause;
    throw unwritable(node.dir, cause);
  }
}

/** Ends a node that lives already with the daemon, and gives it a console to be spoken to. Its real processes are up then. */
export async function keepAlive(node: LiveNode, daemon: Pick<Daemon, 'life'>): Promise<void> {
  daemon.life.add('simulated node', () => node.stop());
  const console = new Console(node.dir, node);
  await console.start();
  daemon.life.add('console', () => console.stop());
  await node.ready();
}

/** Serves the node's inference servers, on loopback, until the daemon ends. One line for each. */
export async function serveInferenceOf(
  node: LiveNode,
  listen: string,
  daemon: Pick<Daemon, 'life'>,
  log: Log,
): Promise<string[]> {
  const { serveInference } = await import('../sim/inference/serve.ts');
  const { dir, inference: servers } = node;
  const serving = await serveInference({ servers, listen, dir, log, clock: systemClock, now: () => node.passed });
  daemon.life.add('inference servers', () => serving.stop());
  return serving.served.map(({ gpu, model, url }) => `${url}/metrics   GPU ${gpu}, ${model}`);
}

function unwritable(place: string, cause: unknown): Error {
  return environmentError(
    'SIMULATION_UNWRITABLE',
    `a simulated node cannot be written below ${place} (${errnoOf(cause) ?? 'unknown error'})`,
    `${errnoOf(cause) === 'ENOSPC' ? 'Free some space there' : 'Use a folder that this user may write to'}; for the demo TMPDIR chooses it.`,
    { cause },
  );
}

/** Five thousand small files take seconds on a disk and a tenth of one in memory. */
const IN_MEMORY = '/dev/shm';

function placeForTree(): string {
  if (process.env.TMPDIR !== undefined) return tmpdir();
  try {
    accessSync(IN_MEMORY, constants.W_OK | constants.X_OK);
    return IN_MEMORY;
  } catch {
    return tmpdir();
  }
}

const PREFIX = 'nightshift-simulated-';
/** A folder as young as this may be another process's that has not put its name to it yet. */
const YOUNG_MS = 60_000;

/** Takes away what processes left that were killed: nothing but memory may hold it. */
function sweep(place: string): void {
  for (const name of readdirSync(place).filter((entry) => entry.startsWith(PREFIX))) {
    const dir = join(place, name);
    try {
      const age = systemClock.now() - statSync(dir).mtimeMs;
      if (age > YOUNG_MS && isSimulatedTree(dir) && !ownerOf(dir)) rmSync(dir, { recursive: true, force: true });
    } catch {
      // Another user's, or gone meanwhile.
    }
  }
}

/** A new folder; however this process ends, but by SIGKILL, the folder goes with it. */
export function temporaryFolder(): string {
  const place = placeForTree();
  try {
    sweep(place);
    const dir = mkdtempSync(join(place, PREFIX));
    process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
    return dir;
  } catch (cause) {
    throw unwritable(place, cause);
  }
}
