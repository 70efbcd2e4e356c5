import { describe, NightshiftError } from '../base/errors.ts';
import type { OnceLog } from '../base/log.ts';
import type { Book } from '../model/book.ts';
import type { Change, Decision } from '../model/decision.ts';
import { applyChanges, applyDecisions } from './decide/apply.ts';

/** The part of the ledger that this needs. */
export interface Committer {
  commit(changes: readonly Change[]): void;
}

export interface StoreOptions {
  book: Book;
  /** Undefined where the ledger could not be read: nothing can be committed, and nothing is begun. */
  ledger: Committer | undefined;
  once: OnceLog;
  onCommit(seconds: number): void;
  onFailure(): void;
  monotonic: () => number;
}

/**
 * Book and ledger together: the book changes with a commit. The one exception is undo: what gives something back is done
 * whether the ledger takes it or not, and what it could not take is told to it before anything else as soon as it can.
 */
export class Store {
  readonly book: Book;
  readonly #options: StoreOptions;
  #unsaved: Change[] = [];

  constructor(options: StoreOptions) {
    this.book = options.book;
    this.#options = options;
  }

  /** The ledger takes commits. */
  get healthy(): boolean {
    return this.#options.ledger !== undefined && this.#unsaved.length === 0;
  }

  /** All or nothing, durable when it returns; throws, and then nothing has changed. */
  commit(changes: readonly Change[]): void {
    if (changes.length === 0 && this.#unsaved.length === 0) return;
    this.#write(changes);
    applyChanges(this.book, changes);
  }

  /** As commit, for what must not wait for the ledger. */
  commitUndo(changes: readonly Change[]): void {
    try {
      this.#write(changes);
    } catch {
      this.#unsaved.push(...changes);
    }
    applyChanges(this.book, changes);
  }

  /** Commits decisions and returns those that are in force now: without a ledger only those that let go of something. */
  decide(decisions: readonly Decision[]): readonly Decision[] {
    if (decisions.length === 0) return decisions;
    try {
      this.#write(decisions.flatMap((decision) => decision.changes));
      applyDecisions(this.book, decisions);
      return decisions;
    } catch {
      const undo = decisions.filter(letsGo);
      this.#unsaved.push(...undo.flatMap((decision) => decision.changes));
      applyDecisions(this.book, undo);
      return undo;
    }
  }

  /** Tells the ledger what it missed; true where nothing is missing any more. */
  catchUp(): boolean {
    if (this.#unsaved.length === 0) return true;
    try {
      this.#write([]);
      return true;
    } catch {
      return false;
    }
  }

  #write(changes: readonly Change[]): void {
    const { ledger, monotonic, once, onCommit, onFailure } = this.#options;
    if (ledger === undefined) throw frozen();
    const start = monotonic();
    try {
      ledger.commit([...this.#unsaved, ...changes]);
    } catch (error) {
      onFailure();
      once.report('ledger', `the ledger takes nothing, so nothing new is begun: ${describe(error)}`);
      throw error;
    }
    this.#unsaved = [];
    once.report('ledger', undefined);
    onCommit((monotonic() - start) / 1000);
  }
}

function letsGo({ outcome }: Decision): boolean {
  return outcome === 'released' || outcome === 'failed' || outcome === 'closed' || outcome === 'dropped';
}

function frozen(): NightshiftError {
  return new NightshiftError({
    code: 'LEDGER_FROZEN',
    fault: 'environment',
    message: 'the ledger could not be read at the start',
    hint: 'Look at it, or move it away, and start again.',
  });
}
