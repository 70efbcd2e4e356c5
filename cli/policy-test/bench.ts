import { applyChanges, applyDecisions, emptyBook } from '../../actuator/decide/apply.ts';
import { decide } from '../../actuator/decide/decide.ts';
import type { Event } from '../../actuator/decide/event.ts';
import { scheduleTriggers } from '../../actuator/intake/schedule.ts';
import { placesInUse } from '../../actuator/settings/in-force.ts';
import { Reconciler } from '../../actuator/settings/reconcile.ts';
import { openTriggers } from '../../actuator/triggers.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Book, BookOptions } from '../../model/book.ts';
import type { Decision } from '../../model/decision.ts';
import type { CardFacts, Facts } from '../../model/facts.ts';
import type { RuleSet } from '../../model/policy.ts';
import type { Trigger } from '../../model/trigger.ts';
import type { Bench, BenchCard, BenchMoment } from '../../rules/language/testing/bench.ts';
import { TestCards } from './cards.ts';

/** As the actuator has them without flags; the rate is out of the way, for a test has hours in a second. */
const OPTIONS: BookOptions = {
  enforce: true,
  frozen: false,
  rate: { acts: 1_000_000, perMs: 60_000 },
  breaker: { failures: 1_000_000, perMs: 60_000 },
  blindMs: 10_000,
};

/** Of the reconciler's own alarms none is needed: every tick looks at every card. */
const NO_ALARMS: Clock = {
  now: () => 0,
  monotonic: () => 0,
  timer: () => ({ stop: () => {} }),
  every: () => ({ stop: () => {} }),
};

const quiet = (): void => {};
const SILENT = { info: quiet, warn: quiet, error: quiet, debug: quiet } as unknown as Log;

/** The actuator's own decisions, claims and reconciliation, on simulated cards and on time that the test tells. */
export function makeBench(rules: RuleSet, cards: readonly BenchCard[]): Bench {
  return new ActuatorBench(rules, cards);
}

class ActuatorBench implements Bench {
  readonly #book: Book;
  readonly #cards: readonly BenchCard[];
  readonly #hardware: TestCards;
  readonly #reconciler: Reconciler;
  readonly #events: Event[] = [];
  #now = 0;

  constructor(rules: RuleSet, cards: readonly BenchCard[]) {
    this.#book = emptyBook(rules, OPTIONS);
    this.#cards = cards;
    this.#hardware = new TestCards(cards);
    this.#reconciler = new Reconciler({
      port: this.#hardware,
      book: () => this.#book,
      commit: (changes) => applyChanges(this.#book, changes),
      now: () => this.#now,
      clock: NO_ALARMS,
      log: SILENT,
      onOutcome: (report) => this.#events.push({ type: 'knob', report }),
    });
  }

  trigger(trigger: Trigger, moment: BenchMoment): Promise<readonly Decision[]> {
    return this.#take([trigger], moment);
  }

  async tick(moment: BenchMoment): Promise<readonly Decision[]> {
    const { now } = moment;
    const { rules, triggers } = this.#book;
    const windows = scheduleTriggers({ windows: rules.windows, wall: now, at: now, triggers });
    const opened = await this.#take(windows, moment);
    this.#events.push({ type: 'tick' });
    return [...opened, ...(await this.#settle(moment))];
  }

  settings(pci: string): ReturnType<Bench['settings']> {
    return this.#hardware.settings(pci);
  }

  writes(pci: string): number {
    return this.#hardware.writes(pci);
  }

  meet(pci: string, writes: Parameters<Bench['meet']>[1]): void {
    this.#hardware.meet(pci, writes);
  }

  setByHand(pci: string, settings: Parameters<Bench['setByHand']>[1]): void {
    this.#hardware.setByHand(pci, settings);
  }

  #take(triggers: readonly Trigger[], moment: BenchMoment): Promise<readonly Decision[]> {
    applyChanges(this.#book, openTriggers(this.#book, triggers));
    if (triggers.length > 0) this.#events.push({ type: 'triggers', triggers });
    return this.#settle(moment);
  }

  /** One event after the other, until none is left; then the cards are looked at, whose reports are events again. */
  async #settle(moment: BenchMoment): Promise<Decision[]> {
    this.#now = moment.now;
    const made: Decision[] = [];
    while (this.#events.length > 0) {
      for (const event of this.#events.splice(0)) {
        const decisions = decide(this.#book, event, this.#facts(moment));
        applyDecisions(this.#book, decisions);
        made.push(...decisions);
      }
      for (const on of placesInUse(this.#book)) await this.#reconciler.run(on);
    }
    return made;
  }

  #facts({ now, cards: moments }: BenchMoment): Facts {
    const cards = new Map<string, CardFacts>();
    for (const { pci, gpu, model, protected: kept } of this.#cards) {
      const { health = 'gone', readings = new Map() } = moments.get(pci) ?? {};
      cards.set(pci, {
        card: {
          pci,
          gpu,
          package: pci,
          model: { name: model, family: 'other', deviceId: '', gfx: '' },
          virtual: false,
          partitions: [],
          generation: 0,
        },
        health,
        readings,
        at: now,
        stamp: String(now),
        knobs: this.#hardware.facts(pci),
        protected: kept,
        number: gpu,
        numberSince: 0,
      });
    }
    return { at: now, wall: now, node: 'test', cards, nodeReadings: new Map() };
  }
}
