import { toError } from '../../base/errors.ts';
import { type OnceLog, onceLog } from '../../base/log.ts';
import type { Claim, KnobName, Settings } from '../../model/claim.ts';
import type { Reason } from '../../model/reading.ts';
import { Alarms } from './alarms.ts';
import { Effects } from './effect.ts';
import { ended, intended, left } from './history.ts';
import { claimsInForce } from './in-force.ts';
import type { CrashPoint, ReconcilerOptions } from './options.ts';
import { outcomeOf } from './outcome.ts';
import { type CardPlan, planCard } from './plan.ts';
import { Records } from './records.ts';
import { type KnobReport, reportOf } from './report.ts';
import { isTouching, type KnobStep, type TouchingStep } from './steps.ts';
import { Teller } from './teller.ts';
import { readCard, writeCard } from './touch.ts';
import { Turns } from './turns.ts';
import { backoffMs } from './values.ts';

export { CRASH_POINTS, type CrashPoint, type ReconcilerOptions } from './options.ts';

/** The effect of the last write is looked at so often, beside every poke. */
const EFFECT_LOOK_MS = 1_000;
/** The ledger is asked again after this time. */
const LEDGER_MS = 5_000;

/**
 * Keeps every card at its most restrictive claims, and gives back what nobody claims. For each knob: read, plan, commit the
 * intent, write, read back, commit the result. Cards do not wait for each other; one card has one run at a time.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #records: Records;
  readonly #teller: Teller;
  readonly #turns: Turns;
  readonly #effects: Effects;
  readonly #alarms: Alarms;
  readonly #once: OnceLog;
  /** Cards that were reset, with what they showed at the first look after it. */
  readonly #resets = new Map<string, Settings | undefined>();
  readonly #silent = new Map<string, number>();
  #stopped = false;

  constructor(options: ReconcilerOptions) {
    const { book, commit, log, clock, now, reading, effectMs } = options;
    this.#options = options;
    this.#once = onceLog(log, 'error');
    this.#records = new Records(book, commit, (error) => {
      this.#once.report('knobs not committed', error === undefined ? undefined : toError(error).message);
    });
    this.#effects = new Effects(reading, effectMs);
    this.#alarms = new Alarms(clock, now, (on) => this.poke(on));
    this.#teller = new Teller((report) => this.#tell(report));
    this.#turns = new Turns((on) => this.#guarded(on));
  }

  /** Cards that are being looked at or written to. */
  get inFlight(): number {
    return this.#turns.size;
  }

  isBusy(on: string): boolean {
    return this.#turns.has(on);
  }

  /** Something changed for this card, or it is time to look. Cheap; many at once are one. */
  poke(on: string, why?: 'reset'): void {
    void this.run(on, why);
  }

  /** As poke; resolves when the card was looked at, also where it did not answer. */
  run(on: string, why?: 'reset'): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    if (why === 'reset') this.#resets.set(on, undefined);
    return this.#turns.run(on);
  }

  /** Begins nothing new; resolves when what is under way has ended, which a hung card can delay. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#turns.idle();
    this.#alarms.clearAll();
  }

  async #guarded(on: string): Promise<void> {
    try {
      await this.#reconcile(on);
    } catch (error) {
      this.#options.log.error({ card: on, err: toError(error) }, 'card not reconciled');
    }
  }

  async #reconcile(on: string): Promise<void> {
    if (this.#stopped) return;
    this.#alarms.clear(on);
    if (!this.#records.commit([])) this.#alarms.in(on, LEDGER_MS);
    if (this.#isIdle(on)) return;
    let settings = await this.#read(on);
    if (settings !== undefined && this.#resets.has(on)) this.#resets.set(on, this.#resets.get(on) ?? settings);
    this.#crashPoint('after-read');
    const tried = new Set<KnobName>();
    while (settings !== undefined && !this.#stopped) {
      const { steps } = this.#plan(on, settings);
      if (!steps.some((step) => step.do === 'wait')) this.#resets.delete(on);
      for (const step of steps) this.#note(step, tried);
      // Planned anew after each write: what it met decides what may follow.
      const step = steps.find((one): one is TouchingStep => isTouching(one) && !tried.has(one.knob));
      if (step === undefined) break;
      tried.add(step.knob);
      settings = await this.#touch(step, settings);
    }
  }

  #isIdle(on: string): boolean {
    if (this.#claims(on).length > 0 || this.#records.rowsOf(on).length > 0) return false;
    this.#teller.forget(on);
    this.#resets.delete(on);
    this.#silent.delete(on);
    return true;
  }

  #plan(on: string, settings: Settings): CardPlan {
    const { port, now } = this.#options;
    const afterReset = this.#resets.get(on);
    return planCard({
      on,
      claims: this.#claims(on),
      knobs: this.#records.rowsOf(on),
      settings,
      facts: port.facts(on),
      now: now(),
      ...(afterReset === undefined ? {} : { afterReset }),
    });
  }

  async #read(on: string): Promise<Settings | undefined> {
    const read = await readCard(this.#options.port, on, this.#complain(on));
    if (read.ok) {
      this.#silent.delete(on);
      return read.settings;
    }
    this.#tellSilent(on, read.reason);
    const times = (this.#silent.get(on) ?? 0) + 1;
    this.#silent.set(on, times);
    this.#alarms.in(on, backoffMs(times));
    return undefined;
  }

  /** One write with its two commits. Answers what the card has now, or nothing where it does not say. */
  async #touch(step: TouchingStep, from: Settings): Promise<Settings | undefined> {
    const { port, now } = this.#options;
    const { on } = step;
    this.#crashPoint('before-intent');
    const cases = this.#claims(on).filter(({ knob }) => knob === step.knob);
    const intent = intended(
      step,
      cases.map((claim) => claim.case),
      now(),
    );
    if (step.do === 'restore') this.#records.keep(intent);
    else if (!this.#records.commit(intent)) {
      this.#unrecorded(step);
      return from;
    }
    this.#crashPoint('after-intent');
    const result = await writeCard(port, step, from, this.#complain(on));
    this.#crashPoint('after-write');
    const outcome = outcomeOf(step, result, now());
    this.#records.keep(ended(step, outcome, now()));
    this.#crashPoint('after-result');
    if (outcome.row !== undefined && !outcome.report.settled) this.#alarms.at(on, outcome.row.notBefore);
    this.#follow(step, outcome.report.settled && outcome.report.state === 'settled');
    this.#report(outcome.report);
    if (result.outcome === 'unanswered') return undefined;
    return result.settings ?? this.#read(on);
  }

  /** What a step says without touching the card. */
  #note(step: KnobStep, tried: ReadonlySet<KnobName>): void {
    const { on, knob } = step;
    if (step.do === 'leave') this.#records.keep(left(step, this.#options.now()));
    else if ((step.do === 'hold' || step.do === 'wait') && step.row)
      this.#records.keep([{ put: 'knob', knob: step.row }]);
    if (step.do === 'wait' && step.until !== undefined) this.#alarms.at(on, step.until);
    if (isTouching(step) || tried.has(knob) || (step.do === 'wait' && step.failing === true)) return;
    if (step.do !== 'hold') this.#effects.end(on, knob);
    this.#report(reportOf(step));
  }

  /** No limit is set that the ledger does not know of. */
  #unrecorded({ on, knob, target, from }: TouchingStep): void {
    const detail = 'not written: the ledger takes no commits';
    this.#report({ on, knob, state: 'unsettled', settled: false, failed: false, detail, target, value: from });
    this.#alarms.in(on, LEDGER_MS);
  }

  #tellSilent(on: string, reason: Reason): void {
    const rows = new Map(this.#records.rowsOf(on).map((row) => [row.knob, row.state]));
    for (const { knob } of this.#claims(on)) if (!rows.has(knob)) rows.set(knob, 'unsettled');
    const detail = `the card does not answer (${reason})`;
    for (const [knob, state] of rows) this.#report({ on, knob, state, settled: false, failed: false, detail });
  }

  #follow({ do: kind, on, knob, from, target }: TouchingStep, took: boolean): void {
    this.#effects.end(on, knob);
    if (took && kind === 'write' && target < from) this.#effects.begin(on, knob, target, this.#options.now());
  }

  #claims(on: string): Claim[] {
    return claimsInForce(this.#options.book(), on);
  }

  #report(report: KnobReport): void {
    const { on, knob } = report;
    const now = this.#options.now();
    const effect = report.settled ? this.#effects.of(on, knob, now) : undefined;
    if (effect === 'pending') this.#alarms.in(on, EFFECT_LOOK_MS);
    this.#teller.report(effect === undefined ? report : { ...report, effect }, this.#claims(on));
  }

  #tell(report: KnobReport): void {
    const { log, onOutcome } = this.#options;
    log[report.failed || report.state === 'foreign' ? 'warn' : 'info']({ ...report }, 'knob');
    try {
      onOutcome(report);
    } catch (error) {
      log.error({ card: report.on, err: toError(error) }, 'report of a knob not taken');
    }
  }

  #complain(on: string): (error: unknown) => void {
    return (error) => this.#options.log.error({ card: on, err: toError(error) }, 'card not reached');
  }

  #crashPoint(name: CrashPoint): void {
    this.#options.crashPoint?.(name);
  }
}
