import type { Clock, Stoppable } from '../../base/clock.ts';
import { environmentError, errnoOf, toError } from '../../base/errors.ts';
import { parseEvent, type Scenario } from '../scenario.ts';
import { claimDirectory, type NodeDescription, writeTree } from '../tree.ts';
import type { StartWorker } from './children.ts';
import type { Driver, StepNode, WriteResult } from './contracts.ts';
import { Controls } from './controls.ts';
import { Drawing } from './drawing.ts';
import { LiveFiles } from './files.ts';
import type { InferenceServer } from './inference.ts';
import { jobFailed } from './jobs.ts';
import { Life } from './life.ts';
import { checkFolder, leaveFolder, takeFolder } from './owner.ts';
import { Truth } from './truth.ts';
import type { Health } from './world.ts';

export interface LiveNodeOptions {
  dir: string;
  /** Changed in place from the start on. */
  node: NodeDescription;
  clock: Clock;
  /** Default 1. */
  seed?: number;
  /** Seconds of the node's life that pass in one second. Default 1. */
  speed?: number;
  scenario?: Scenario;
  /** Updates a second. Default 10. */
  hz?: number;
  /** Most bytes of truth.jsonl before it is begun anew; one older file is kept. */
  truthBytes?: number;
  /** A relay stands before the files: it lets the reads of a hung GPU hang, which files alone cannot. */
  relayed?: boolean;
  /** Something other than time changed: an event, a write, a GPU that came or went. */
  onChange?: () => void;
  /** The folder can no longer be written to; the node has stopped. */
  onFail?: (error: Error) => void;
  step?: StepNode;
  driver?: Driver;
  /** Every batch job is a real process; a scenario may ask so for single ones. */
  realJobs?: boolean;
  /** Makes them. Default: none are made, and all jobs are files alone. */
  startWorker?: StartWorker;
}

/** Time that real processes may take to come up, ms. */
const UP_MS = 20_000;
/** A machine that slept does not make up for it, seconds. */
const LONGEST_GAP = 2;

interface Running {
  files: LiveFiles;
  drawing: Drawing;
  controls: Controls;
  timer: Stoppable;
}

/**
 * A node that lives in a folder: jobs and room move, physics follows, files are updated in place, and what is written to the
 * control files is answered by the driver's rules.
 */
export class LiveNode {
  readonly node: NodeDescription;
  readonly dir: string;
  readonly #clock: Clock;
  readonly #hz: number;
  readonly #life: Life;
  readonly #options: LiveNodeOptions;
  #truth: Truth | undefined;
  #running: Running | undefined;
  #last = 0;
  #truthDue = 0;
  /** Time that the steps took, ms: longest and sum, for whoever measures. */
  readonly cost = { ticks: 0, longest: 0, sum: 0 };

  /** Throws RangeError for a `speed` or `hz` that cannot be. */
  constructor(options: LiveNodeOptions) {
    const { dir, node, clock, seed = 1, speed = 1, hz = 10, scenario, step, driver, realJobs, startWorker } = options;
    if (!(speed > 0 && speed <= 3600)) throw new RangeError(`speed must be above 0 and at most 3600, not ${speed}`);
    if (!(hz >= 1 && hz <= 100)) throw new RangeError(`hz must be from 1 to 100, not ${hz}`);
    this.#options = options;
    this.dir = dir;
    this.node = node;
    this.#clock = clock;
    this.#hz = hz;
    const tell = (event: string, more: Readonly<Record<string, unknown>>): void =>
      this.#truth?.event(this.#now(), event, more);
    this.#life = new Life({ node, seed, speed, scenario, step, driver, realJobs, startWorker, tell });
  }

  /** What really happened; whole in DIR/truth.jsonl. */
  get truth(): Truth {
    if (this.#truth === undefined) throw new Error('the node has not started');
    return this.#truth;
  }

  /** Writes the tree and lets it live. Throws where the folder is somebody else's, or kept alive by another process. */
  start(): void {
    checkFolder(this.dir);
    claimDirectory(this.dir);
    takeFolder(this.dir);
    try {
      this.#begin();
    } catch (error) {
      this.stop();
      throw error;
    }
  }

  #begin(): void {
    const { seed = 1, speed = 1, scenario, relayed = false, truthBytes } = this.#options;
    this.#truth = new Truth(this.dir, truthBytes);
    const { model } = this.node;
    const gpus = this.node.gpus.length;
    this.#truth.event(this.#now(), 'start', { model, gpus, seed, speed, scenario: scenario?.name });
    this.#life.settle(0);
    writeTree(this.dir, this.node);
    const files = new LiveFiles(this.dir, { exact: relayed });
    const answer = (path: string, text: string): WriteResult => this.#life.write(path, text);
    this.#running = {
      files,
      drawing: new Drawing(this.#life, files, relayed),
      controls: new Controls(this.dir, files, answer, () => this.#now()),
      timer: this.#clock.every(1000 / this.#hz, () => this.#tick(), { keepAlive: true }),
    };
    this.#last = this.#clock.monotonic();
    this.#life.jobs.start();
  }

  /** Resolves when the real processes of its jobs are up. Rejects with SIMULATION_JOB_FAILED. */
  async ready(): Promise<void> {
    const late = (): Error => jobFailed(`did not come up within ${UP_MS / 1000} s`);
    let limit: Stoppable | undefined;
    const over = new Promise<never>((_, reject) => {
      limit = this.#clock.timer(UP_MS, () => reject(late()), { keepAlive: true });
    });
    try {
      await Promise.race([this.#life.jobs.ready(), over]);
    } finally {
      limit?.stop();
    }
    this.#draw(true);
  }

  /** Its inference servers, each of which can be asked. */
  get inference(): readonly InferenceServer[] {
    return this.#life.inference.all;
  }

  /** Seconds that it has been read, also between two updates: the time in which its inference servers live. */
  get passed(): number {
    if (this.#running === undefined) return this.#life.passed;
    return this.#life.passed + Math.min(LONGEST_GAP, (this.#clock.monotonic() - this.#last) / 1000);
  }

  /** The tree stays as it is then; real processes end. */
  stop(): void {
    this.#life.jobs.stop();
    const running = this.#running;
    this.#running = undefined;
    running?.timer.stop();
    running?.controls.close();
    running?.files.close();
    if (running) this.#truth?.event(this.#now(), 'stop');
    this.#truth?.close();
    leaveFolder(this.dir);
  }

  /** Holds a GPU at a busy share from 0 to 1, whatever the scenario asks. */
  load(gpu: number, busy: number): string {
    return this.event('load', gpu, busy);
  }

  /** An event by name, as on the command line. Throws SIMULATION_EVENT_INVALID; else one sentence about what it did. */
  event(name: string, ...args: (string | number)[]): string {
    const said = this.#life.apply(parseEvent(name, args, this.node.gpus.length), 'hand');
    this.#life.settle(0);
    this.#draw(true);
    return said;
  }

  /** One write to a file, as the driver answers it; `path` is relative to the folder. What changed shows at once. */
  write(path: string, text: string): WriteResult {
    const result = this.#life.write(path, text);
    this.#running?.controls.note(path, text, result);
    this.#draw(true);
    return result;
  }

  /** What a read of a file does before it is answered: in debugfs there is one that resets GPUs. */
  read(path: string): WriteResult {
    const result = this.#life.read(path);
    this.#draw(true);
    return result;
  }

  /** `ok`, or what keeps the GPU from working. */
  health(gpu: number): Health {
    return this.#life.world.health(gpu);
  }

  #tick(): void {
    const began = performance.now();
    try {
      const now = this.#clock.monotonic();
      const seconds = Math.min(LONGEST_GAP, (now - this.#last) / 1000);
      this.#last = now;
      const heard = this.#running?.controls.hear() ?? [];
      this.#life.live(seconds);
      this.#draw(heard.length > 0);
      this.#running?.controls.putBack(heard);
      this.#summarise();
    } catch (cause) {
      this.#fail(cause);
    }
    const took = performance.now() - began;
    this.cost.ticks += 1;
    this.cost.sum += took;
    this.cost.longest = Math.max(this.cost.longest, took);
  }

  #draw(all: boolean): void {
    this.#running?.drawing.draw(all || this.#life.changed);
    if (!this.#life.changed) return;
    this.#life.changed = false;
    this.#options.onChange?.();
  }

  #summarise(): void {
    // Tenths of a second do not add up to whole ones exactly.
    const lived = this.#life.lived + 1e-6;
    if (lived < this.#truthDue) return;
    this.#truthDue = Math.floor(lived) + 1;
    this.#truth?.second(this.#now(), this.#life.summary());
  }

  #now(): { time: string; t: number; at: number } {
    const { time, lived } = this.#life;
    return {
      time: new Date(time * 1000).toISOString(),
      t: Number(lived.toFixed(3)),
      at: Math.round(this.#clock.now()),
    };
  }

  #fail(cause: unknown): void {
    const errno = errnoOf(cause);
    const error = errno
      ? environmentError(
          'SIMULATION_UNWRITABLE',
          `the simulated node in ${this.dir} can no longer be written (${errno})`,
          'Free some space there, or name another folder.',
          { cause },
        )
      : toError(cause);
    try {
      this.stop();
    } catch {
      // What it could not write it cannot close in order either.
    }
    if (this.#options.onFail === undefined) throw error;
    this.#options.onFail(error);
  }
}
