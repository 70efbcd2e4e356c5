import type { Book } from '../../model/book.ts';
import { type Knob, knobKey } from '../../model/claim.ts';
import type { Change } from '../../model/decision.ts';

/** Lines of history that are kept for a ledger that takes nothing; older ones go. */
const MAX_LINES = 1_000;

/**
 * What is committed about knobs. Giving back does not wait for a ledger: what it refused is kept here, is looked at as if it
 * were committed, and goes with the next commit.
 */
export class Records {
  readonly #book: () => Pick<Book, 'knobs'>;
  readonly #commit: (changes: readonly Change[]) => void;
  readonly #onState: (error: unknown) => void;
  #knobs = new Map<string, Change>();
  #lines: Change[] = [];

  /** `onState` hears of every commit: its error, or undefined. */
  constructor(
    book: () => Pick<Book, 'knobs'>,
    commit: (changes: readonly Change[]) => void,
    onState: (error: unknown) => void = () => {},
  ) {
    this.#book = book;
    this.#commit = commit;
    this.#onState = onState;
  }

  /** Changes that no ledger has yet. */
  get kept(): number {
    return this.#knobs.size + this.#lines.length;
  }

  /** Commits, with what was kept; false where it could not, and then nothing of it is remembered. */
  commit(changes: readonly Change[]): boolean {
    const all = [...this.#lines, ...this.#knobs.values(), ...changes];
    if (all.length === 0) return true;
    try {
      this.#commit(all);
    } catch (error) {
      this.#onState(error);
      return false;
    }
    this.#onState(undefined);
    this.#knobs.clear();
    this.#lines = [];
    return true;
  }

  /** As commit, but what could not be committed is kept. */
  keep(changes: readonly Change[]): void {
    if (this.commit(changes)) return;
    for (const change of changes) {
      const key = keyOf(change);
      if (key === undefined) this.#lines.push(change);
      else this.#knobs.set(key, change);
    }
    this.#lines.splice(0, this.#lines.length - MAX_LINES);
  }

  /** Rows of one card as they are, committed or kept. */
  rowsOf(on: string): Knob[] {
    const rows = new Map([...this.#book().knobs].filter(([, row]) => row.on === on));
    for (const [key, change] of this.#knobs) {
      if (!('put' in change)) rows.delete(key);
      else if (change.put === 'knob' && change.knob.on === on) rows.set(key, change.knob);
    }
    return [...rows.values()];
  }
}

function keyOf(change: Change): string | undefined {
  if ('put' in change && change.put === 'knob') return knobKey(change.knob.on, change.knob.knob);
  if ('drop' in change && change.drop === 'knob') return knobKey(change.on, change.knob);
  return undefined;
}
