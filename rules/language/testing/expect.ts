import { formatDuration } from '../../../base/durations.ts';
import type { Settings } from '../../../model/claim.ts';
import type { Decision } from '../../../model/decision.ts';
import type { Bench, BenchCard } from './bench.ts';
import type { Expectation, ExpectedDecision } from './schema.ts';

/** As many decisions are shown where others were expected. */
const MOST_SHOWN = 8;

/** Compares what came with what was expected, look by look. */
export class Expectations {
  readonly failures: string[] = [];
  readonly #open: Expectation[];
  readonly #cards: readonly (BenchCard & { name: string })[];
  readonly #bench: Bench;
  #since: Decision[] = [];
  #writes = new Map<string, number>();

  constructor(expected: readonly Expectation[], cards: readonly (BenchCard & { name: string })[], bench: Bench) {
    this.#open = [...expected].sort((a, b) => a.at - b.at);
    this.#cards = cards;
    this.#bench = bench;
  }

  note(decisions: readonly Decision[]): void {
    this.#since.push(...decisions);
  }

  /** Looks where it is time to look, `t` ms after the beginning. */
  look(t: number): void {
    while (this.#open[0] !== undefined && this.#open[0].at <= t) this.#compare(this.#open.shift() as Expectation);
  }

  #compare({ at, decisions = [], not = [], limits = {}, writes = {} }: Expectation): void {
    const fail = (text: string): void => {
      this.failures.push(`at ${formatDuration(at)}: ${text}`);
    };
    let from = 0;
    for (const wanted of decisions) {
      const found = this.#since.findIndex((one, i) => i >= from && this.#fits(wanted, one));
      if (found < 0) fail(`expected ${textOf(wanted)}; there was ${this.#seen()}`);
      else from = found + 1;
    }
    for (const unwanted of not) {
      const found = this.#since.find((one) => this.#fits(unwanted, one));
      if (found !== undefined) fail(`did not expect ${this.#tell(found)}`);
    }
    for (const card of this.#cards) {
      const has = this.#bench.settings(card.pci);
      for (const [key, knob, unit] of KNOB_KEYS) {
        const wanted = limits[card.name]?.[key];
        if (wanted === undefined) continue;
        const value = wanted === 'none' ? card.settings[knob] : wanted;
        if (!isSame(value, has[knob])) {
          fail(`expected ${key} ${amount(value, unit)} of ${card.name}, it is ${amount(has[knob], unit)}`);
        }
      }
      const made = this.#bench.writes(card.pci) - (this.#writes.get(card.pci) ?? 0);
      const expected = writes[card.name];
      if (expected !== undefined && made !== expected) fail(`expected ${expected} writes to ${card.name}, not ${made}`);
      this.#writes.set(card.pci, this.#bench.writes(card.pci));
    }
    this.#since = [];
  }

  #fits({ policy, on, outcome, reason }: ExpectedDecision, made: Decision): boolean {
    return (
      (policy === undefined || made.policy === policy) &&
      (outcome === undefined || made.outcome === outcome) &&
      (reason === undefined || made.reason === reason) &&
      (on === undefined || this.#nameOf(made) === on)
    );
  }

  #nameOf({ target }: Decision): string {
    if (target.kind !== 'gpu') return target.kind;
    return this.#cards.find(({ pci }) => pci === target.pci)?.name ?? target.pci;
  }

  #tell(made: Decision): string {
    return `${made.policy} ${made.outcome} on ${this.#nameOf(made)} (${made.reason})`;
  }

  #seen(): string {
    if (this.#since.length === 0) return 'nothing since the last look';
    const more = this.#since.length - MOST_SHOWN;
    const shown = this.#since.slice(0, MOST_SHOWN).map((one) => this.#tell(one));
    return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  }
}

const KNOB_KEYS = [
  ['power_cap', 'power_cap', ' W'],
  ['clock_max', 'gfx_clock', ' MHz'],
  ['memory_clock_max', 'mem_clock', ' MHz'],
] as const satisfies readonly (readonly [string, keyof Settings, string])[];

const amount = (value: number | undefined, unit: string): string =>
  value === undefined ? 'not there' : `${value}${unit}`;

function isSame(a: number | undefined, b: number | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && Math.abs(a - b) < 0.5);
}

function textOf({ policy, on, outcome, reason }: ExpectedDecision): string {
  const parts = [policy ?? 'a decision', outcome, on && `on ${on}`, reason && `(${reason})`];
  return parts.filter((part) => part !== undefined).join(' ');
}
