import { Reconciler, type ReconcilerOptions } from '../../../actuator/settings/reconcile.ts';
import type { KnobReport } from '../../../actuator/settings/report.ts';
import { type FakeClock, fakeClock } from '../../../base/clock.ts';
import { createLog } from '../../../base/log.ts';
import type { Book } from '../../../model/book.ts';
import type { Case } from '../../../model/case.ts';
import { type Claim, type Knob, type KnobName, knobKey } from '../../../model/claim.ts';
import type { Change, HistoryEntry } from '../../../model/decision.ts';
import { FakePort } from './fake-card.ts';

export const A = '0000:c1:00.0';
export const B = '0000:c6:00.0';

type Rows = Pick<Book, 'knobs' | 'claims' | 'cases'>;

/** A reconciler at fake cards, with a ledger that is a map and can be full. */
export class Desk {
  readonly clock: FakeClock = fakeClock();
  readonly port: FakePort;
  readonly reports: KnobReport[] = [];
  readonly history: HistoryEntry[] = [];
  /** What the ledger has; a new process begins with it. */
  readonly rows: Rows = { knobs: new Map(), claims: new Map(), cases: new Map() };
  isFull = false;
  commits = 0;
  reconciler: Reconciler;
  #life = 0;
  readonly #more: Partial<ReconcilerOptions>;

  constructor(more: Partial<ReconcilerOptions> = {}, port: FakePort = new FakePort(A, B)) {
    this.port = port;
    this.#more = more;
    this.reconciler = this.#begin();
  }

  /** Only the reconciler of this life reaches ledger and cards; the last one is dead, wherever it was. */
  #begin(): Reconciler {
    this.#life += 1;
    const life = this.#life;
    const alive = (): void => {
      if (life !== this.#life) throw new Error('dead');
    };
    const { port } = this;
    return new Reconciler({
      port: {
        facts: (on) => port.facts(on),
        read: async (on) => {
          alive();
          return port.read(on);
        },
        write: async (on, from, to) => {
          alive();
          return port.write(on, from, to);
        },
      },
      book: () => this.rows as Book,
      commit: (changes) => {
        alive();
        if (this.isFull) throw new Error('ledger full');
        this.commits += 1;
        for (const change of changes) this.#apply(change);
      },
      now: () => this.clock.now(),
      clock: this.clock,
      log: createLog({ level: 'error', destination: { write: () => {} } }),
      onOutcome: (report) => {
        if (life === this.#life) this.reports.push(report);
      },
      ...this.#more,
    });
  }

  restart(): void {
    this.reconciler = this.#begin();
  }

  #apply(change: Change): void {
    if ('add' in change) this.history.push(change.entry);
    else if ('drop' in change && change.drop === 'knob') this.rows.knobs.delete(knobKey(change.on, change.knob));
    else if ('put' in change && change.put === 'knob')
      this.rows.knobs.set(knobKey(change.knob.on, change.knob.knob), change.knob);
  }

  /** The decision's side: a case claims these, or nothing any more. */
  claim(id: string, claims: Partial<Record<KnobName, number>>, on: string = A, mode: Case['mode'] = 'enforce'): void {
    const made = Object.entries(claims).map(
      ([knob, atMost]): Claim => ({ case: id, on, knob: knob as KnobName, atMost, safety: false }),
    );
    this.rows.cases.set(id, { id, mode, state: 'applying' } as Case);
    if (made.length > 0) this.rows.claims.set(id, made);
    else this.rows.claims.delete(id);
  }

  row(knob: KnobName = 'power_cap', on: string = A): Knob | undefined {
    return this.rows.knobs.get(knobKey(on, knob));
  }

  get card(): ReturnType<FakePort['card']> {
    return this.port.card(A);
  }

  get last(): KnobReport | undefined {
    return this.reports.at(-1);
  }

  run(on: string = A, why?: 'reset'): Promise<void> {
    return this.reconciler.run(on, why);
  }

  /** Time passes, with a look every so many seconds, as the loop does it. */
  async pass(seconds: number, on: string = A, every = 1): Promise<void> {
    for (let second = 0; second < seconds; second += every) {
      await this.clock.settle(1_000 * Math.min(every, seconds - second));
      await this.run(on);
    }
  }
}
