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
 * Book and ledger together: the book changes with a commit. The one exception is what undo needs: what gives something back, and
 * the waiting and renewing before it, is done whether the ledger takes it or not, and what it could not take is told to it before
 * anything else as soon as it can.
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

  /** Commits decisions and returns those that are in force now: without a ledger only what begins and tightens nothing. */
  decide(decisions: readonly Decision[]): readonly Decision[] {
    if (decisions.length === 0) return decisions;
    try {
      this.#write(decisions.flatMap((decision) => decision.changes));
      applyDecisions(this.book, decisions);
      return decisions;
    } catch {
      const rest = decisions.filter(needsNoLedger);
      // A heartbeat is kept in memory alone. Should the process end, the lease of the ledger is the older one, and ends sooner.
      const told = rest.filter(({ outcome }) => outcome !== 'renewed');
      this.#unsaved.push(...told.flatMap((decision) => decision.changes));
      applyDecisions(this.book, rest);
      return rest;
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

/**
 * What only counts down to the end of a case that is held already, or puts that off: a dwell that could not be written down would
 * never be over, one that began and could not be called off would give back a hot card, and so would a lease that was not renewed.
 */
function needsNoLedger({ outcome, changes }: Decision): boolean {
  if (outcome === 'acted' || outcome === 'pending' || outcome === 'suppressed') return false;
  return !changes.some((change) => 'put' in change && change.put === 'claims' && change.claims.length > 0);
}

function frozen(): NightshiftError {
  return new NightshiftError({
    code: 'LEDGER_FROZEN',
    fault: 'environment',
    message: 'the ledger could not be read at the start',
    hint: 'Look at it, or move it away, and start again.',
  });
}
