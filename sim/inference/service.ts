import type { Random } from '../random.ts';

/**
 * An inference server as its clients see it: requests come, wait, are answered. A queue with so many places and a service time that
 * depends on whether the GPU does the work or the CPU must. Pure: it knows neither clock nor network. Times in seconds.
 */

/** `gpu`: its memory is there. `cpu`: it is not, so the host does the work. `stuck`: the GPU does not answer, and nothing goes on. */
export type Backend = 'gpu' | 'cpu' | 'stuck';

export const SERVICE = {
  /** Requests worked on at once. */
  places: 64,
  /** 99th percentile of the service time, of a server that is not overloaded. */
  p99: { gpu: 0.08, cpu: 2.1 },
  /** Deviation of its logarithm. */
  spread: 0.25,
  /** Share of it until the first token. */
  first: 0.35,
  /** Clients give up then. */
  patience: 10,
  /** Requests a second that keep a GPU busy all the time. */
  full: 80,
  prompt: [32, 512],
  generated: [8, 64],
} as const;

/** 99th percentile of the sum of three uniform draws, in deviations. */
const Z99 = 2.217;

export interface Request {
  arrived: number;
  prompt: number;
  generated: number;
  /** Seconds. */
  waited?: number;
  service?: number;
}

export interface Answer {
  request: Request;
  /** From the arrival. */
  latency: number;
  /** Until the first token. Absent where the client gave up before there was one. */
  firstToken?: number;
  outcome: 'length' | 'abort';
}

interface Work {
  request: Request;
  z: number;
  /** When its client has had enough. */
  leaves: number;
  /** When it is done; undefined while it waits. */
  until?: number;
  done?: ((answer: Answer) => void) | undefined;
}

export class Service {
  backend: Backend = 'gpu';
  /** Requests a second that come by themselves. */
  rate = 0;
  readonly #draw: Random;
  readonly #finished: (answer: Answer) => void;
  readonly #running: Work[] = [];
  readonly #waiting: Work[] = [];
  #now = 0;
  /** What is left until the next request, in requests: it comes the sooner the higher the rate is meanwhile. */
  #left: number;

  constructor(draw: Random, finished: (answer: Answer) => void) {
    this.#draw = draw;
    this.#finished = finished;
    this.#left = this.#gap();
  }

  get now(): number {
    return this.#now;
  }

  get running(): number {
    return this.#running.length;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Share of its cache in use: each request at work has an equal part of it. */
  get cache(): number {
    return this.#running.length / SERVICE.places;
  }

  /** Lets time pass until `t`, with rate and backend as they are. Earlier times change nothing. */
  advance(t: number): void {
    // Those who waited for a GPU that answers again.
    this.#start();
    while (this.#now < t) {
      const arrival = this.rate > 0 ? this.#now + this.#left / this.rate : Number.POSITIVE_INFINITY;
      const next = Math.min(t, arrival, this.#nextDone(), this.#nextGiveUp());
      this.#left -= this.rate * (next - this.#now);
      this.#now = next;
      this.#finish();
      this.#drop(({ leaves }) => leaves <= this.#now);
      if (next === arrival) {
        this.#left = this.#gap();
        this.submit();
      }
      this.#start();
    }
  }

  /** One request more, that comes now. With `done`, its client is told the answer and waits until it calls what is returned. */
  submit(tokens: { prompt?: number; generated?: number } = {}, done?: (answer: Answer) => void): () => void {
    const { int } = this.#draw;
    const [prompt, generated] = [int(...SERVICE.prompt), int(...SERVICE.generated)];
    const request = { arrived: this.#now, prompt, generated, ...tokens };
    const leaves = done ? Number.POSITIVE_INFINITY : this.#now + SERVICE.patience;
    const work: Work = { request, z: normal(this.#draw), leaves, done };
    this.#waiting.push(work);
    this.#start();
    return () => this.#drop((one) => one === work);
  }

  /** The process is gone, and its clients with it. */
  close(): void {
    this.#drop(() => true);
  }

  #gap(): number {
    return -Math.log(1 - this.#draw.next());
  }

  #nextDone(): number {
    let next = Number.POSITIVE_INFINITY;
    if (this.backend !== 'stuck') for (const { until = next } of this.#running) next = Math.min(next, until);
    return Math.max(this.#now, next);
  }

  #nextGiveUp(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { leaves } of this.#running) next = Math.min(next, leaves);
    for (const { leaves } of this.#waiting) next = Math.min(next, leaves);
    return next;
  }

  #start(): void {
    if (this.backend === 'stuck') return;
    while (this.#running.length < SERVICE.places) {
      const work = this.#waiting.shift();
      if (work === undefined) return;
      const service = SERVICE.p99[this.backend] * Math.exp(SERVICE.spread * (work.z - Z99));
      work.request.waited = this.#now - work.request.arrived;
      work.request.service = service;
      work.until = this.#now + service;
      this.#running.push(work);
    }
  }

  #finish(): void {
    if (this.backend === 'stuck') return;
    for (const work of take(this.#running, ({ until = 0 }) => until <= this.#now)) {
      const { waited = 0, service = 0, arrived } = work.request;
      const firstToken = waited + SERVICE.first * service;
      this.#tell(work, { request: work.request, latency: this.#now - arrived, firstToken, outcome: 'length' });
    }
  }

  #drop(meant: (work: Work) => boolean): void {
    for (const work of [...take(this.#running, meant), ...take(this.#waiting, meant)])
      this.#tell(work, { request: work.request, latency: this.#now - work.request.arrived, outcome: 'abort' });
  }

  #tell(work: Work, answer: Answer): void {
    this.#finished(answer);
    work.done?.(answer);
  }
}

/** Nearly normal, variance 1, never beyond 3. */
const normal = (draw: Random): number => 2 * (draw.next() + draw.next() + draw.next() - 1.5);

/** Takes those out of a list that are meant. */
function take<T>(list: T[], meant: (item: T) => boolean): T[] {
  if (!list.some(meant)) return [];
  const taken = list.filter(meant);
  list.splice(0, list.length, ...list.filter((item) => !meant(item)));
  return taken;
}
