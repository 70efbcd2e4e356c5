import type { KnobPort } from '../../amdgpu/knobs/port.ts';
import type { Case } from '../../model/case.ts';
import { type Claim, type Knob, type KnobName, knobKey, type Settings } from '../../model/claim.ts';
import type { Change } from '../../model/decision.ts';
import type { Instant } from '../../model/instant.ts';
import { ended, intended, left } from './history.ts';
import { outcomeOf } from './outcome.ts';
import { planCard } from './plan.ts';
import { Records } from './records.ts';
import type { KnobStep, RestoreStep } from './steps.ts';
import { readCard, writeCard } from './touch.ts';

/** What a dead actuator left: rows of its ledger. */
export interface OfflineRows {
  knobs: readonly Knob[];
  cases: readonly Case[];
  claims: readonly Claim[];
}

export interface OfflineOptions {
  now: () => Instant;
  /** Only what no case with a running lease claims. */
  onlyExpired: boolean;
  /** Makes the changes durable. Where it throws the card is given back all the same. */
  commit?: (changes: readonly Change[]) => void;
  /** What the port threw, or a commit. */
  onError?: (error: unknown) => void;
}

export interface OfflineResult {
  on: string;
  knob: KnobName;
  /** `kept`: its lease runs. `failed`: refused or ignored, still ours. `unanswered`: the card says nothing. */
  outcome: 'given_back' | 'overridden' | 'kept' | 'failed' | 'unanswered';
  detail: string;
}

/**
 * Gives back what the rows say is ours, by the same plan as the living actuator: compare, write, read back. Cards do not wait
 * for each other. Each knob is tried once. Cases and claims are not changed: who reverts a ledger for good ends them too.
 */
export async function revertOffline(
  rows: OfflineRows,
  port: KnobPort,
  options: OfflineOptions,
): Promise<OfflineResult[]> {
  // A pause after failures was the dead process's; a person who asks now is answered now.
  const knobs = new Map(rows.knobs.map((row) => [knobKey(row.on, row.knob), { ...row, attempts: 0 }]));
  const records = new Records(
    () => ({ knobs }),
    committing(knobs, options),
    (error) => {
      if (error !== undefined) options.onError?.(error);
    },
  );
  const kept = options.onlyExpired ? runningClaims(rows, options.now()) : [];
  const cards = [...new Set(rows.knobs.map((row) => row.on))];
  const reverts = cards.map((on) => new Revert(on, records, kept, port, options).run());
  const results = (await Promise.all(reverts)).flat();
  records.commit([]);
  return results;
}

/** Claims whose lease runs, or whose sensor is blind: no clock gives back heat that nobody sees. */
function runningClaims({ cases, claims }: OfflineRows, now: Instant): Claim[] {
  const open = new Map(cases.map((one) => [one.id, one]));
  return claims.filter((claim) => {
    const one = open.get(claim.case);
    return one?.mode === 'enforce' && (one.deadline > now || (claim.safety && one.blindFrom !== undefined));
  });
}

function committing(knobs: Map<string, Knob>, { commit }: OfflineOptions): (changes: readonly Change[]) => void {
  return (changes) => {
    commit?.(changes);
    for (const change of changes) {
      if ('put' in change && change.put === 'knob') knobs.set(knobKey(change.knob.on, change.knob.knob), change.knob);
      if ('drop' in change && change.drop === 'knob') knobs.delete(knobKey(change.on, change.knob));
    }
  };
}

/** One card. */
class Revert {
  readonly #on: string;
  readonly #records: Records;
  readonly #kept: readonly Claim[];
  readonly #port: KnobPort;
  readonly #now: () => Instant;
  readonly #onError: (error: unknown) => void;
  readonly #results = new Map<KnobName, OfflineResult>();

  constructor(on: string, records: Records, kept: readonly Claim[], port: KnobPort, options: OfflineOptions) {
    this.#on = on;
    this.#records = records;
    this.#kept = kept.filter((claim) => claim.on === on);
    this.#port = port;
    this.#now = options.now;
    this.#onError = options.onError ?? (() => {});
  }

  async run(): Promise<OfflineResult[]> {
    let settings = await this.#read();
    while (settings !== undefined) {
      const knobs = this.#records.rowsOf(this.#on);
      const facts = this.#port.facts(this.#on);
      const { steps } = planCard({ on: this.#on, claims: this.#kept, knobs, settings, facts, now: this.#now() });
      for (const step of steps) this.#note(step);
      const step = steps.find((one): one is RestoreStep => one.do === 'restore' && !this.#results.has(one.knob));
      if (step === undefined) break;
      settings = await this.#restore(step, settings);
    }
    for (const { knob } of this.#records.rowsOf(this.#on)) {
      if (!this.#results.has(knob)) this.#tell(knob, 'unanswered', 'the card does not answer');
    }
    return [...this.#results.values()];
  }

  #note(step: KnobStep): void {
    if (this.#kept.some(({ knob }) => knob === step.knob)) this.#tell(step.knob, 'kept', 'its lease runs');
    else if (step.do === 'leave' && step.restored !== undefined) {
      this.#records.keep(left(step, this.#now()));
      this.#tell(step.knob, step.restored, step.detail);
    } else if (step.do === 'wait' && !this.#results.has(step.knob)) this.#tell(step.knob, 'failed', step.detail);
  }

  async #restore(step: RestoreStep, from: Settings): Promise<Settings | undefined> {
    this.#records.keep(intended(step, [], this.#now()));
    const result = await writeCard(this.#port, step, from, this.#onError);
    const outcome = outcomeOf(step, result, this.#now());
    this.#records.keep(ended(step, outcome, this.#now()));
    const { restored, detail } = outcome.report;
    this.#tell(step.knob, restored ?? (result.outcome === 'unanswered' ? 'unanswered' : 'failed'), detail);
    return result.outcome === 'unanswered' ? undefined : (result.settings ?? this.#read());
  }

  async #read(): Promise<Settings | undefined> {
    const read = await readCard(this.#port, this.#on, this.#onError);
    return read.ok ? read.settings : undefined;
  }

  #tell(knob: KnobName, outcome: OfflineResult['outcome'], detail: string): void {
    this.#results.set(knob, { on: this.#on, knob, outcome, detail });
  }
}
