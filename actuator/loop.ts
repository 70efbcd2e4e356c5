import type { Change, Decision } from '../model/decision.ts';
import type { Facts } from '../model/facts.ts';
import type { Trigger } from '../model/trigger.ts';
import { decide } from './decide/decide.ts';
import type { Event } from './decide/event.ts';
import type { Store } from './store.ts';

export interface LoopOptions {
  store: Store;
  /** Reads the cards, now. */
  look: () => Promise<Facts>;
  /** What is known without reading. */
  known: () => Facts;
  /** Something changed for what this card is to be brought to. */
  poke: (on: string) => void;
  /** Each decision once it is in force. */
  onDecision: (decision: Decision) => void;
  onError: (error: unknown) => void;
  /** For tests: a place at which to end the process. */
  crashPoint?: (name: 'before-commit' | 'after-commit') => void;
}

/**
 * One event after the other: look, decide, commit, then let the effects run, which come back as events. Triggers that wait
 * together are decided together, on one look at the cards.
 */
export class Loop {
  readonly #options: LoopOptions;
  #queue: Event[] = [];
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#queue.length;
  }

  push(event: Event): void {
    if (this.#stopped) return;
    // A tick that waits already will see whatever this one would.
    if (event.type === 'tick' && this.#queue.some((one) => one.type === 'tick')) return;
    this.#queue.push(event);
    this.#start();
  }

  #start(): void {
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined;
      // What came after the last look at the queue and before here would wait for the next event.
      if (this.#queue.length > 0) this.#start();
    });
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  stop(): void {
    this.#stopped = true;
    this.#queue = [];
  }

  async #drain(): Promise<void> {
    // One turn, so that what comes in the same breath is decided together.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const batch = together(this.#queue);
      this.#queue = [];
      const facts = await this.#look(batch);
      const rest = batch.filter((event) => event.type !== 'knob');
      const reports = [...batch.filter((event) => event.type === 'knob'), ...this.#reported()];
      for (const event of [...reports, ...rest]) this.#take(event, facts);
    }
  }

  /** What is known has to do where the cards cannot be looked at: a wish to give something back is not lost with the look. */
  async #look(batch: readonly Event[]): Promise<Facts> {
    const { look, known, onError } = this.#options;
    if (!batch.some((event) => event.type === 'triggers' || event.type === 'tick')) return known();
    try {
      return await look();
    } catch (error) {
      onError(error);
      return known();
    }
  }

  /**
   * What cards reported while they were looked at. Reports go first: one tells how a row came to go, and a tick before it would see
   * only that it went, and call a value that somebody else set one that was given back.
   */
  #reported(): Event[] {
    const reports = this.#queue.filter((event) => event.type === 'knob');
    this.#queue = this.#queue.filter((event) => event.type !== 'knob');
    return reports;
  }

  #take(event: Event, facts: Facts): void {
    const { store, poke, onDecision, onError } = this.#options;
    try {
      const made = decide(store.book, event, facts);
      if (made.length > 0) this.#options.crashPoint?.('before-commit');
      const decisions = store.decide(made);
      if (made.length > 0) this.#options.crashPoint?.('after-commit');
      const touched = new Set<string>();
      for (const decision of decisions) {
        onDecision(decision);
        for (const on of touchedBy(decision.changes)) touched.add(on);
      }
      for (const on of touched) poke(on);
    } catch (error) {
      onError(error);
    }
  }
}

/** Triggers of a batch as one event, in its place of the first; all else as it came. */
function together(queue: readonly Event[]): Event[] {
  const triggers: Trigger[] = [];
  const batch: Event[] = [];
  for (const event of queue) {
    if (event.type !== 'triggers') batch.push(event);
    else {
      if (triggers.length === 0) batch.push({ type: 'triggers', triggers });
      triggers.push(...event.triggers);
    }
  }
  return batch;
}

/** Functions whose claims these changes made, changed or took away. */
export function touchedBy(changes: readonly Change[]): Set<string> {
  const touched = new Set<string>();
  for (const change of changes) {
    if (!('put' in change)) continue;
    if (change.put === 'claims') for (const { on } of change.claims) touched.add(on);
    if (change.put === 'case' && change.case.mode === 'enforce')
      for (const { on } of change.case.knobs) touched.add(on);
  }
  return touched;
}
