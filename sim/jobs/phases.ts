import type { Random } from '../random.ts';
import { MEMORY_OF_BUSY } from '../scenario/run.ts';
import type { Amount } from '../scenario.ts';

/** What a training job does by turns: it computes, exchanges gradients with its peers, and now and then saves its state. */

export type Phase = 'compute' | 'communicate' | 'checkpoint';

/** Seconds of the node's life. */
export interface PhaseTerms {
  compute: number;
  communicate: number;
  checkpoint_every?: number | undefined;
}

/** Lengths are drawn within this share of what is asked for, so that nothing comes on the beat of somebody's clock. */
const SPREAD = 0.2;

/** The turns of one job. All processes of a job draw the same, for they wait for each other. Time only goes on. */
export class PhaseCycle {
  readonly #terms: PhaseTerms;
  readonly #draw: Random;
  readonly #saves: Random;
  #phase: Exclude<Phase, 'checkpoint'> = 'compute';
  #until: number;
  #save: number;

  /** Two streams, so that how often it saves does not decide when it communicates. */
  constructor(terms: PhaseTerms, draw: Random, saves: Random) {
    this.#terms = terms;
    this.#draw = draw;
    this.#saves = saves;
    this.#until = this.#length(draw, terms.compute);
    this.#save = this.#length(saves, terms.checkpoint_every ?? Number.POSITIVE_INFINITY);
  }

  at(t: number): Exclude<Phase, 'checkpoint'> {
    while (t >= this.#until) {
      this.#phase = this.#phase === 'compute' ? 'communicate' : 'compute';
      this.#until += this.#length(this.#draw, this.#terms[this.#phase]);
    }
    return this.#phase;
  }

  /** Whether a checkpoint has fallen due since this was last asked. */
  saves(t: number): boolean {
    const due = t >= this.#save;
    while (t >= this.#save) this.#save += this.#length(this.#saves, this.#terms.checkpoint_every ?? t);
    return due;
  }

  #length(draw: Random, seconds: number): number {
    return seconds * draw.real(1 - SPREAD, 1 + SPREAD);
  }
}

/** Collectives keep shaders busy, but read half as much memory; most of what the links carry is theirs. */
const COMMUNICATE = { busy: 0.85, memory: 0.5, fabric: 0.8 } as const;
/** Copies to the host leave the shaders nearly idle. */
const CHECKPOINT = { busy: 0.04, memory: 0.06 } as const;

/** What a job asks for in a phase, of the amounts that its layer names. `written`: share of the PCIe link that saving takes. */
export function inPhase(amount: Amount, phase: Phase, written: number): Amount {
  const { busy = 0, memory = busy * MEMORY_OF_BUSY, fabric = COMMUNICATE.fabric, ...rest } = amount;
  switch (phase) {
    case 'compute':
      return { ...rest, busy, memory, fabric: 0 };
    case 'communicate':
      return { ...rest, busy: busy * COMMUNICATE.busy, memory: memory * COMMUNICATE.memory, fabric };
    default:
      return { ...rest, busy: busy * CHECKPOINT.busy, memory: memory * CHECKPOINT.memory, fabric: 0, pcie: written };
  }
}
