import { type Answer, type Backend, SERVICE, Service } from '../inference/service.ts';
import { MODELS } from '../models.ts';
import { random } from '../random.ts';
import type { LayerDemand } from '../scenario/run.ts';
import type { NodeDescription } from '../tree.ts';
import { type Jobs, type LiveJob, linkRate } from './jobs.ts';
import type { World } from './world.ts';

/**
 * The inference servers of a node, one for each inference job: what a GPU's load asks of them, and where they do it. They live in the time of
 * their readers, however fast the node does: a request takes the same seconds, and rates are right as they are read.
 */

/** Seconds over which the latency in the truth is taken. */
const WINDOW = 10;

/** What one server does now. Seconds. */
export interface ServerState {
  gpu: number;
  pid: number;
  backend: Backend | 'down';
  /** Requests a second. */
  rate: number;
  running: number;
  waiting: number;
  /** 99th percentile of the latency of the last ten seconds' answers; null without one. */
  p99: number | null;
}

export class InferenceServer {
  readonly job: LiveJob;
  readonly service: Service;
  readonly model: string;
  /** Are told each answer. */
  readonly listeners: ((answer: Answer) => void)[] = [];
  /** Seconds until what the model needs is back in the GPU's memory. */
  loading = 0;
  #recent: { at: number; latency: number }[] = [];

  constructor(job: LiveJob, model: string, seed: number) {
    this.job = job;
    this.model = model;
    this.service = new Service(random(seed, 'inference', job.layer, job.gpu), (answer) => {
      if (answer.outcome === 'length') this.#recent.push({ at: this.service.now, latency: answer.latency });
      for (const listener of this.listeners) listener(answer);
    });
  }

  /** The command line says so too. */
  listensOn(port: string): void {
    const { job } = this;
    job.command = job.command.map((word, index) => (job.command[index - 1] === '--port' ? port : word));
    if (job.process) job.process.cmdline = job.command;
  }

  get up(): boolean {
    return this.job.run.state === 'running';
  }

  state(): ServerState {
    const { service, job } = this;
    this.#recent = this.#recent.filter(({ at }) => at > service.now - WINDOW);
    const sorted = this.#recent.map(({ latency }) => latency).sort((a, b) => a - b);
    const p99 = sorted[Math.ceil(0.99 * sorted.length) - 1];
    return {
      gpu: job.gpu,
      pid: job.pid,
      backend: this.up ? service.backend : 'down',
      rate: Number(service.rate.toFixed(1)),
      running: service.running,
      waiting: service.waiting,
      p99: p99 === undefined ? null : Number(p99.toFixed(4)),
    };
  }
}

export class InferenceServers {
  readonly all: readonly InferenceServer[];
  readonly #jobs: Jobs;
  readonly #link: number;
  readonly #tell: (event: string, more: Readonly<Record<string, unknown>>) => void;

  constructor(
    node: NodeDescription,
    jobs: Jobs,
    seed: number,
    tell: (event: string, more: Readonly<Record<string, unknown>>) => void,
  ) {
    this.#jobs = jobs;
    this.#link = linkRate(MODELS[node.model]);
    this.#tell = tell;
    const served = jobs.all.filter(({ job }) => job.class === 'inference');
    this.all = served.map((job) => new InferenceServer(job, modelOf(job), seed));
  }

  /** What is left for the GPUs: requests that the host works on ask nothing of them. */
  leave(demands: readonly LayerDemand[]): readonly LayerDemand[] {
    const away = new Set<number>();
    for (const { job, service } of this.all) if (service.backend === 'cpu') away.add(job.gpu);
    if (away.size === 0) return demands;
    return demands.map((demand) => {
      if (!away.has(demand.gpu) || !isRequests(demand)) return demand;
      const { vram } = demand.amount;
      return { ...demand, amount: { busy: 0, memory: 0, ...(vram !== undefined && { vram }) } };
    });
  }

  /** Lets them live until `t`, seconds of the readers' time, with what the layers ask for now. */
  advance(t: number, demands: readonly LayerDemand[], world: World): void {
    for (const server of this.all) {
      const { job, service } = server;
      if (!server.up) {
        service.rate = 0;
        service.close();
      } else {
        const here = this.all.filter((other) => other.job.gpu === job.gpu && other.up).length;
        const busy = demands.filter((demand) => demand.gpu === job.gpu && isRequests(demand));
        const load = busy.reduce((sum, { amount }) => sum + (amount.busy ?? 0), 0);
        service.rate = (Math.min(1, load) * SERVICE.full) / here;
        this.#settle(server, t, world);
      }
      service.advance(t);
    }
  }

  #settle(server: InferenceServer, t: number, world: World): void {
    const { job, service } = server;
    const before = service.backend;
    const short = this.#jobs.short.get(job.gpu) ?? 0;
    if (short > 0) server.loading = job.run.held / this.#link;
    else server.loading = Math.max(0, server.loading - (t - service.now));
    service.backend = world.health(job.gpu) !== 'ok' ? 'stuck' : server.loading > 0 ? 'cpu' : 'gpu';
    if (service.backend === before) return;
    this.#tell('inference', { gpu: job.gpu, pid: job.pid, backend: service.backend, ...(short > 0 && { short }) });
  }
}

/** Work that comes as requests: that of inference jobs, and that of nobody's process. */
const isRequests = ({ layer: { job } }: LayerDemand): boolean => job === undefined || job.class === 'inference';

/** The word behind `serve`, as in `vllm serve MODEL`. */
function modelOf({ command }: LiveJob): string {
  const at = command.indexOf('serve');
  return (at >= 0 ? command[at + 1] : undefined) ?? command.at(-1) ?? '';
}
