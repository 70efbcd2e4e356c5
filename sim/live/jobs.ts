import { environmentError } from '../../base/errors.ts';
import { JobRun, type JobSignal } from '../jobs/job.ts';
import { inPhase, PhaseCycle } from '../jobs/phases.ts';
import { MODELS, type ModelSpec } from '../models.ts';
import { describeProcesses, type SimProcess } from '../process.ts';
import { type Random, random } from '../random.ts';
import { commandOf, describeJobs, type JobProcess, jobProcesses } from '../scenario/jobs.ts';
import type { LayerDemand } from '../scenario/run.ts';
import { type Amount, type Job, type Scenario, type Selector, selected } from '../scenario.ts';
import type { NodeDescription } from '../tree.ts';
import type { StartWorker, Worker } from './children.ts';
import { grant } from './memory.ts';
import type { Health, World } from './world.ts';

/** The jobs of a scenario on this node: which run, what each asks for and holds, and the processes that stand for them. */

export interface JobsOptions {
  node: NodeDescription;
  scenario: Scenario | undefined;
  seed: number;
  /** Makes real processes, for the jobs that are to have one. */
  startWorker?: StartWorker | undefined;
  /** All batch jobs are to have one. */
  realJobs?: boolean | undefined;
  tell: (event: string, more: Readonly<Record<string, unknown>>) => void;
}

export interface LiveJob {
  /** Position among all. */
  readonly index: number;
  readonly layer: number;
  readonly gpu: number;
  readonly job: Job;
  readonly real: boolean;
  /** Words of its command line. */
  command: readonly string[];
  run: JobRun;
  pid: number;
  worker?: Worker;
  process?: SimProcess;
  /** Bytes that it got of what it holds by its own books: fewer where the GPU is full. */
  granted: number;
}

/** Bytes a second that one direction of the host link carries, by the model's data: at this pace memory is cleared and given back. */
export const linkRate = ({ pcie: { speed, width } }: ModelSpec): number => (speed * width * 1e9 * (128 / 130)) / 8;

const SIGNALS = { usr1: 'SIGUSR1', term: 'SIGTERM', kill: 'SIGKILL' } as const satisfies Record<string, JobSignal>;

export class Jobs {
  readonly #options: JobsOptions;
  readonly #spec: ModelSpec;
  readonly #list: LiveJob[];
  #round = 0;
  #client = 1000;
  #lastPid: number;
  #stopped = false;
  #waiting: { resolve: () => void; reject: (error: Error) => void } | undefined;
  /** Bytes that inference misses, by GPU, where others filled the memory. */
  readonly short = new Map<number, number>();
  /** Processes came, went or changed. */
  changed = false;

  constructor(options: JobsOptions) {
    const { node, scenario, realJobs = false, startWorker } = options;
    this.#options = options;
    this.#spec = MODELS[node.model];
    const all: JobProcess[] = scenario ? jobProcesses(scenario, node.gpus.length) : [];
    this.#lastPid = Math.max(0, ...all.map(({ pid }) => pid));
    this.#list = all.map(({ pid, layer, gpu }, index) => {
      const job = scenario?.load[layer]?.job as Job;
      const real = startWorker !== undefined && (job.real || (realJobs && job.class === 'batch'));
      const process = real ? undefined : node.processes.find((one) => one.pid === pid);
      const command = commandOf(job);
      const made = { index, layer, gpu, job, real, pid, command, granted: 0, ...(process && { process }) } as LiveJob;
      made.run = this.#newRun(made);
      return made;
    });
    const real = new Set(this.#list.filter((job) => job.real).map(({ pid }) => pid));
    // A real one is shown from the moment on in which it hears signals.
    node.processes = node.processes.filter(({ pid }) => !real.has(pid));
    for (const job of this.#list) if (!job.real) job.run.begin();
  }

  get all(): readonly LiveJob[] {
    return this.#list;
  }

  of(pid: number): LiveJob | undefined {
    return this.#list.find((job) => job.pid === pid && job.process !== undefined);
  }

  /** Starts the real processes. */
  start(): void {
    for (const job of this.#list) if (job.real) this.#fork(job);
  }

  /** Resolves when all real processes are up; rejects with SIMULATION_JOB_FAILED where one ended before. */
  ready(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#look();
    });
  }

  /** The scenario begins anew: all jobs are there, and their phases begin. */
  begin(round: number): void {
    this.#round = round;
    for (const job of this.#list) {
      if (job.run.state === 'running' || job.run.state === 'starting') job.run.again(this.#cycle(job));
      else this.#startAnew(job);
    }
  }

  /** Lets `dt` seconds of the node's life pass for all of them; what each layer asks for, as its jobs then do it. */
  advance(demands: readonly LayerDemand[], dt: number, t: number, world: World): LayerDemand[] {
    const found = demands.map((demand) => {
      const job = this.#list.find(({ layer, gpu }) => layer === demand.index && gpu === demand.gpu);
      return job === undefined
        ? demand
        : { ...demand, amount: this.#advance(job, demand.amount, dt, t, world.health(demand.gpu)) };
    });
    grant(this.#options.node, this.#list, found, this.short);
    return found;
  }

  #advance({ run, job }: LiveJob, amount: Amount, dt: number, t: number, health: Health): Amount {
    const { vram } = this.#spec;
    const lost = health === 'gone' || health === 'resetting' || health === 'restarting';
    run.step({ dt, t, wants: (amount.vram ?? 0) * vram, stuck: health === 'hung' || health === 'asleep', lost });
    const share = run.held / vram;
    if (run.state !== 'running') return { vram: share };
    const { phase } = run;
    const { speed, width } = this.#spec.pcie;
    const written = Math.min(1, (job.write * 8) / (speed * width));
    return { ...(phase === undefined ? amount : inPhase(amount, phase, written)), vram: share };
  }

  /** After each look: names of those whose memory is free go, one look after their entry in KFD. */
  settle(): void {
    for (const job of this.#list) {
      const { run, process } = job;
      if (process === undefined) continue;
      if (run.state === 'freeing') this.#mark(process);
      else if (run.state === 'gone') this.#remove(job, process);
      else if (run.state === 'freed') {
        this.#mark(process);
        process.kfd = false;
        run.state = 'gone';
        this.changed = true;
      }
    }
  }

  #mark(process: SimProcess): void {
    if (process.zombie) return;
    process.zombie = true;
    for (const use of process.gpus) use.queues = [];
    this.changed = true;
  }

  #remove(job: LiveJob, process: SimProcess): void {
    const { node } = this.#options;
    node.processes = node.processes.filter((one) => one !== process);
    delete job.process;
    this.changed = true;
  }

  /** What a signal to the jobs of a class on some GPUs does. One sentence. */
  signal(gpus: Selector, name: keyof typeof SIGNALS, kind: Job['class']): string {
    const signal = SIGNALS[name];
    const met = this.#picked(gpus, kind).filter(({ run }) => run.state === 'running');
    for (const job of met) {
      if (job.worker) job.worker.kill(signal);
      else job.run.signal(signal);
    }
    const pids = met.map(({ pid }) => pid).join(', ');
    return met.length === 0 ? `${signal}: no ${kind} job runs there` : `${signal} to ${kind} job ${pids}`;
  }

  /** Starts those again that have ended, as new processes. One sentence. */
  restart(gpus: Selector, kind: Job['class']): string {
    const ended = this.#picked(gpus, kind).filter(({ run }) => run.state !== 'running' && run.state !== 'starting');
    for (const job of ended) this.#startAnew(job);
    return ended.length === 0 ? `no ${kind} job has ended there` : `${ended.length} ${kind} job(s) start again`;
  }

  #picked(gpus: Selector, kind: Job['class']): LiveJob[] {
    const wanted = selected(gpus, this.#options.node.gpus.length);
    return this.#list.filter((job) => job.job.class === kind && wanted.includes(job.gpu));
  }

  /** The agents are others now: the processes that live take up their work on the new partitions. */
  relaid(): void {
    for (const job of this.#list) {
      if (job.process === undefined) continue;
      const { gpus } = this.#describe(job);
      job.process.gpus = job.run.state === 'running' ? gpus : [];
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const { worker } of this.#list) worker?.kill('SIGKILL');
  }

  #cycle({ job: { phases }, layer }: Pick<LiveJob, 'job' | 'layer'>): PhaseCycle | undefined {
    const draw = (name: string): Random => random(this.#options.seed, name, this.#round, layer);
    return phases && new PhaseCycle(phases, draw('phases'), draw('saves'));
  }

  #newRun(job: LiveJob): JobRun {
    const { gpu, layer } = job;
    const { term, write } = job.job;
    const run: JobRun = new JobRun(
      {
        term,
        write: write * 1e9,
        free: linkRate(this.#spec),
        tell: (event, more) => this.#options.tell(event, { gpu, layer, pid: job.pid, ...more }),
        finish: () => {
          if (job.worker) job.worker.finish();
          else run.ended({ code: 0, signal: null });
        },
      },
      this.#cycle(job),
    );
    return run;
  }

  /** What is left of the one before goes at once: its memory is the new one's. */
  #startAnew(job: LiveJob): void {
    if (job.process) this.#remove(job, job.process);
    job.run = this.#newRun(job);
    if (job.real) {
      this.#fork(job);
      return;
    }
    this.#lastPid += 1;
    job.pid = this.#lastPid;
    this.#show(job);
    job.run.begin();
  }

  #fork(job: LiveJob): void {
    const { startWorker, scenario } = this.#options;
    if (startWorker === undefined) return;
    const { run } = job;
    const { environ, comm } = this.#describe(job);
    const title = `nightshift simulated job: ${comm} of ${scenario?.name ?? 'a scenario'} on GPU ${job.gpu}`;
    job.worker = startWorker(
      { term: job.job.term, title, environ },
      {
        ready: () => {
          this.#show(job);
          run.begin();
          this.#look();
        },
        heard: (signal) => void run.signal(signal),
        ended: (end) => {
          if (this.#stopped) return;
          const early = run.state === 'starting';
          delete job.worker;
          run.ended(end);
          if (early) this.#waiting?.reject(jobFailed(`ended with ${end.signal ?? end.code ?? 'no process'}`));
        },
      },
    );
    job.pid = job.worker.pid ?? 0;
  }

  #show(job: LiveJob): void {
    const { node } = this.#options;
    job.process = this.#describe(job);
    node.processes = [...node.processes, job.process];
    this.changed = true;
  }

  /** As a process that begins now. */
  #describe({ index, gpu, pid, real, command }: LiveJob): SimProcess {
    const { node, scenario } = this.#options;
    const partition = node.gpus[gpu]?.compute;
    const options = describeJobs(scenario as Scenario, { model: node.model, gpus: node.gpus.length, partition });
    const all = describeProcesses(options);
    const described = all[index] as SimProcess;
    const there = node.gpus[gpu]?.partitions ?? [];
    return {
      ...described,
      pid,
      cmdline: command,
      ...(real && { uid: process.getuid?.() ?? described.uid, gid: process.getgid?.() ?? described.gid }),
      // The start is shown in hundredths of a second, and must not move while time goes on.
      age: node.boot.uptime % 0.01,
      gpus: described.gpus
        .filter((use) => there[use.partition] !== undefined)
        .map((use) => {
          this.#client += 1;
          return { ...use, clientId: this.#client };
        }),
    };
  }

  #look(): void {
    if (this.#list.every(({ run }) => run.state !== 'starting')) this.#waiting?.resolve();
  }
}

/** `what` happened to a process that was to stand for a job. */
export const jobFailed = (what: string): Error =>
  environmentError(
    'SIMULATION_JOB_FAILED',
    `a real process for a simulated job ${what}`,
    'Look for limits on processes and memory, or leave --real-jobs out.',
  );
