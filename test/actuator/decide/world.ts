import { applyChanges, applyDecisions, emptyBook } from '../../../actuator/decide/apply.ts';
import { decide } from '../../../actuator/decide/decide.ts';
import type { Event } from '../../../actuator/decide/event.ts';
import { openTriggers } from '../../../actuator/triggers.ts';
import type { Book, BookOptions } from '../../../model/book.ts';
import type { Health } from '../../../model/card.ts';
import { type Knob, type KnobFacts, knobKey } from '../../../model/claim.ts';
import type { Change, Decision } from '../../../model/decision.ts';
import type { CardFacts, Facts } from '../../../model/facts.ts';
import type { Reading } from '../../../model/reading.ts';
import type { Trigger } from '../../../model/trigger.ts';
import { loadRules } from '../../../rules/language/load.ts';

export const START = Date.UTC(2026, 2, 5, 21);

/** A policy as operators write it; keys given replace those of the example, `undefined` takes one away. */
export function policyYaml(changes: Record<string, string | undefined> = {}): string {
  const keys: Record<string, string | undefined> = {
    name: 'hot',
    description: 'a test',
    mode: 'enforce',
    on: '[{ alert: Hot }]',
    target: 'gpu',
    when: '{ ">=": [{ var: gpu.temperature.junction }, 60] }',
    do: '[{ throttle: { power_cap: 70% } }]',
    until: '{ "<": [{ var: gpu.temperature.junction }, 55] }',
    dwell: '2s',
    lease: '2m',
    cooldown: '10s',
    limits: '{ gpus: 8, percent: 100 }',
    ...changes,
  };
  const lines = Object.entries(keys).flatMap(([key, value]) => (value === undefined ? [] : [`${key}: ${value}`]));
  return `  - ${lines.join('\n    ')}\n`;
}

export interface FakeCard {
  junction: number | undefined;
  health: Health;
  stamp: number;
  numberSince: number;
  protected: boolean;
  adjustable: boolean;
  /** Why not, where it is not. */
  why?: string;
}

const OPTIONS: BookOptions = {
  enforce: true,
  frozen: false,
  rate: { acts: 60, perMs: 60_000 },
  breaker: { failures: 3, perMs: 600_000 },
  blindMs: 10_000,
};

/** A node of cards whose temperature a test sets, whose knobs do what they are told, and a book that is decided upon. */
export class World {
  readonly book: Book;
  readonly cards = new Map<string, FakeCard>();
  now = START;
  wall = START;
  /** All decisions so far. */
  readonly decided: Decision[] = [];
  /** Reports of knobs that the card did as told; off where a test plays the card. */
  obedient = true;

  constructor(policies: string, count = 2, options: Partial<BookOptions> = {}, more: Record<string, string> = {}) {
    const files = [
      { file: 'p.yaml', text: `version: 1\npolicies:\n${policies}` },
      ...Object.entries(more).map(([file, text]) => ({ file, text })),
    ];
    const { rules, problems } = loadRules(files);
    if (rules === undefined) throw new Error(problems.map(({ code, message }) => `${code} ${message}`).join('; '));
    this.book = emptyBook(rules, { ...OPTIONS, ...options });
    for (let i = 0; i < count; i++) {
      this.cards.set(pciOf(i), {
        junction: 40,
        health: 'ok',
        stamp: 1,
        numberSince: 0,
        protected: false,
        adjustable: true,
      });
    }
  }

  card(i: number): FakeCard {
    return this.cards.get(pciOf(i)) as FakeCard;
  }

  facts(): Facts {
    const cards = new Map([...this.cards].map(([pci, fake], i) => [pci, factsOf(pci, i, fake, this.now)]));
    return { at: this.now, wall: this.wall, node: 'n1', cards, nodeReadings: new Map() };
  }

  /** Decides on one event and brings the book to what was decided. */
  step(event: Event): Decision[] {
    const decisions = decide(this.book, event, this.facts());
    applyDecisions(this.book, decisions);
    this.decided.push(...decisions);
    if (this.obedient) this.#obey(decisions.flatMap((decision) => decision.changes));
    return decisions;
  }

  /** As the door does: the trigger is in the book before it is decided on. */
  trigger(trigger: Partial<Trigger> & { phase?: Trigger['phase'] } = {}): Decision[] {
    const whole: Trigger = {
      source: 'alert',
      name: 'Hot',
      key: 'f1@1',
      phase: 'open',
      target: { kind: 'gpu', pci: pciOf(0) },
      since: this.now,
      at: this.now,
      values: {},
      trusted: true,
      ...trigger,
    };
    applyChanges(this.book, openTriggers(this.book, [whole]));
    return this.step({ type: 'triggers', triggers: [whole] });
  }

  /** Lets time pass, one tick a second. */
  pass(seconds: number): Decision[] {
    const made: Decision[] = [];
    for (let i = 0; i < seconds; i++) {
      this.now += 1000;
      this.wall += 1000;
      for (const card of this.cards.values()) card.stamp += 1;
      made.push(...this.step({ type: 'tick' }));
    }
    return made;
  }

  put(...changes: Change[]): void {
    applyChanges(this.book, changes);
  }

  /** Claims in force on a card's cap, in W. */
  cap(i: number): number | undefined {
    const wishes = [...this.book.claims.values()].flat().filter((claim) => claim.on === pciOf(i));
    return wishes.length === 0 ? undefined : Math.min(...wishes.map((claim) => claim.atMost));
  }

  states(): string[] {
    return [...this.book.cases.values()].map((one) => one.state);
  }

  /** Every card takes what is claimed, and gives back what is not. */
  #obey(changes: readonly Change[]): void {
    const touched = changes.some((change) => 'put' in change && (change.put === 'claims' || change.put === 'case'));
    if (!touched) return;
    const wanted = new Map<string, Knob>();
    for (const [id, claims] of this.book.claims) {
      if (this.book.cases.get(id)?.mode !== 'enforce') continue;
      for (const { on, knob, atMost } of claims) {
        const row = { on, knob, found: 100, wrote: atMost, state: 'settled', attempts: 0, notBefore: 0, at: this.now };
        wanted.set(knobKey(on, knob), row as Knob);
      }
    }
    for (const [key, row] of this.book.knobs) {
      if (wanted.has(key)) continue;
      this.put({ drop: 'knob', on: row.on, knob: row.knob });
      this.report(row.on, { settled: true, restored: 'given_back' });
    }
    for (const knob of wanted.values()) {
      this.put({ put: 'knob', knob });
      this.report(knob.on, { settled: true });
    }
  }

  report(
    on: string,
    said: { settled?: boolean; failed?: boolean; restored?: 'given_back' | 'overridden'; value?: number },
  ): Decision[] {
    const report = {
      on,
      knob: 'power_cap',
      state: 'settled',
      settled: false,
      failed: false,
      detail: 'test',
      ...said,
    } as const;
    return this.step({ type: 'knob', report });
  }
}

export const pciOf = (i: number): string => `0000:${(16 + i).toString(16).padStart(2, '0')}:00.0`;

function factsOf(pci: string, gpu: number, fake: FakeCard, at: number): CardFacts {
  const reading = { at, source: 'test' };
  const junction: Reading =
    fake.junction === undefined ? { ...reading, absent: 'timeout' } : { ...reading, value: fake.junction };
  const cap: KnobFacts = fake.adjustable
    ? { knob: 'power_cap', on: pci, adjustable: true, min: 0, max: 100, default: 100, floor: 40 }
    : { knob: 'power_cap', on: pci, adjustable: false, why: fake.why ?? 'virtual_function' };
  return {
    card: {
      pci,
      gpu,
      package: pci,
      model: { name: 'MI300X', family: 'mi300', deviceId: '0x74a1', gfx: 'gfx942' },
      virtual: false,
      partitions: [],
      generation: 1,
    },
    health: fake.health,
    readings: fake.health === 'ok' ? new Map([['temperature.junction', junction]]) : new Map(),
    at,
    stamp: String(fake.stamp),
    knobs: new Map([['power_cap', cap]]),
    protected: fake.protected,
    number: gpu,
    numberSince: fake.numberSince,
  };
}
