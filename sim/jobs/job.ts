import type { Job } from '../scenario.ts';
import type { Phase, PhaseCycle } from './phases.ts';

/** One job from its start until its memory is free: what signals do to it, how it saves, how it ends. No clock, no process, no files. */

export type JobSignal = 'SIGUSR1' | 'SIGTERM' | 'SIGKILL';
export type OnTerm = Job['term'];

/** As a shell or wait(2) tells it: one of the two. */
export interface JobEnd {
  code: number | null;
  signal: string | null;
}

/** 128 and the number of SIGTERM: what a program says that ends for it in its own way. */
export const TERMINATED = 143;

/**
 * `starting`: its process is not up yet. `freeing`: it has ended and the driver still takes its memory back. `freed`: nothing is left of
 * it but a name. `gone`: nor that.
 */
export type JobState = 'starting' | 'running' | 'freeing' | 'freed' | 'gone';

export interface JobTerms {
  term: OnTerm;
  /** Bytes a second at which a checkpoint is written, and at which the driver frees memory. */
  write: number;
  free: number;
  /** Is told what happens, when it happens. */
  tell: (event: string, more: Readonly<Record<string, unknown>>) => void;
  /** It has saved and wants to end. Whoever keeps its process ends that and then calls `ended`. */
  finish: () => void;
}

/** What one step finds. */
export interface Step {
  /** Seconds of the node's life. */
  dt: number;
  t: number;
  /** Bytes that its work needs now. */
  wants: number;
  /** The firmware answers nothing: neither copies nor frees go on. */
  stuck: boolean;
  /** The memory was lost with a reset, or with the device. */
  lost: boolean;
}

export class JobRun {
  state: JobState = 'starting';
  /** Bytes of device memory. */
  held = 0;
  end: JobEnd | undefined;
  #cycle: PhaseCycle | undefined;
  #saving: { left: number; thenEnd: boolean } | undefined;
  #phase: Phase = 'compute';
  readonly #terms: JobTerms;

  constructor(terms: JobTerms, cycle: PhaseCycle | undefined) {
    this.#terms = terms;
    this.#cycle = cycle;
  }

  /** Time begins anew, and with it the phases. */
  again(cycle: PhaseCycle | undefined): void {
    this.#cycle = cycle;
  }

  get saving(): boolean {
    return this.#saving !== undefined;
  }

  /** Undefined where the work has no phases and it is not saving: then it asks for what its layer says. */
  get phase(): Phase | undefined {
    if (this.#saving !== undefined) return 'checkpoint';
    return this.#cycle && this.#phase;
  }

  begin(): void {
    this.state = 'running';
    this.#terms.tell('job start', {});
  }

  /** What it does when a signal reaches it. A process that ends by itself for SIGTERM tells that through `ended` alone. */
  signal(signal: JobSignal): 'saves' | 'ends' | 'ignores' {
    if (this.state !== 'running') return 'ignores';
    if (signal === 'SIGUSR1') this.#save('signal', false);
    else if (signal === 'SIGKILL') this.ended({ code: null, signal: 'SIGKILL' });
    else if (this.#terms.term === 'end') this.ended({ code: TERMINATED, signal: null });
    else if (this.#terms.term === 'save') this.#save('signal', true);
    else return 'ignores';
    return this.#saving === undefined ? 'ends' : 'saves';
  }

  ended(end: JobEnd): void {
    if (this.state !== 'starting' && this.state !== 'running') return;
    const saved = this.#saving;
    this.#saving = undefined;
    this.state = 'freeing';
    this.end = end;
    this.#terms.tell('job end', { ...end, held: Math.round(this.held), ...(saved && { cut: 'checkpoint' }) });
  }

  step(step: Step): void {
    if (step.lost) this.held = 0;
    if (this.state === 'running') this.#work(step);
    else if (this.state === 'freeing') this.#free(step);
  }

  #work({ dt, t, wants, stuck, lost }: Step): void {
    if (!lost && !stuck) this.held = Math.max(wants, this.held - this.#terms.free * dt);
    if (this.#cycle) {
      this.#phase = this.#cycle.at(t);
      if (this.#cycle.saves(t) && !stuck && !lost) this.#save('schedule', false);
    }
    if (this.#saving === undefined || stuck) return;
    this.#saving.left -= dt;
    if (this.#saving.left > 0) return;
    const { thenEnd } = this.#saving;
    this.#saving = undefined;
    this.#terms.tell('checkpoint end', {});
    if (thenEnd) this.#terms.finish();
  }

  #free({ dt, stuck, lost }: Step): void {
    if (stuck && !lost) return;
    this.held = Math.max(0, this.held - this.#terms.free * dt);
    if (this.held > 0) return;
    this.state = 'freed';
    this.#terms.tell('vram freed', {});
  }

  /** One checkpoint at a time; that it shall end afterwards is kept. */
  #save(by: 'signal' | 'schedule', thenEnd: boolean): void {
    if (this.#saving !== undefined) {
      this.#saving.thenEnd ||= thenEnd;
      return;
    }
    const seconds = this.held / this.#terms.write;
    this.#saving = { left: seconds, thenEnd };
    this.#terms.tell('checkpoint start', { by, bytes: Math.round(this.held), seconds: Number(seconds.toFixed(3)) });
  }
}
