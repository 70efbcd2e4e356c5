import type { Health } from '../../../model/card.ts';
import type { Settings } from '../../../model/claim.ts';
import type { Decision } from '../../../model/decision.ts';
import type { Instant } from '../../../model/instant.ts';
import type { Policy, RuleSet } from '../../../model/policy.ts';
import type { Trigger } from '../../../model/trigger.ts';
import { canonical } from '../canonical.ts';
import type { Bench, BenchCard, BenchMoment, CardMoment, MakeBench } from './bench.ts';
import type { Coverage } from './coverage.ts';
import { Expectations } from './expect.ts';
import { readFact, readingOf } from './facts.ts';
import type { PolicyTest, TestCard, TestEvent } from './schema.ts';

/** What became of one test. */
export interface TestResult {
  name: string;
  /** What was expected and did not come; empty: it passed. */
  failures: string[];
}

const TICK_MS = 1_000;
/** Alertmanager's repeat_interval as the route has it. */
const HEARTBEAT_MS = 120_000;
/** A Monday at noon. */
const STARTS = Date.UTC(2026, 0, 5, 12);

/** Runs one test in steps of a second, as fast as it goes. */
export async function runTest(
  test: PolicyTest,
  rules: RuleSet,
  makeBench: MakeBench,
  coverage: Coverage,
): Promise<TestResult> {
  const cards = benchCards(test.cards);
  const bench = makeBench(
    { ...rules, policies: rules.policies.map((one) => coverage.observe(inMode(one, test))) },
    cards,
  );
  const run = new TestRun(test, cards, bench, coverage);
  return { name: test.name, failures: await run.run() };
}

function inMode(policy: Policy, { mode }: PolicyTest): Policy {
  return policy.mode === 'off' || mode === 'as_written' ? policy : { ...policy, mode };
}

function benchCards(cards: Readonly<Record<string, TestCard>>): (BenchCard & { name: string })[] {
  return Object.entries(cards).map(([name, { model, power_cap, clock, memory_clock, protected: kept }], gpu) => {
    const settings: Settings = {
      ...(power_cap === undefined ? {} : { power_cap }),
      ...(clock === undefined ? {} : { gfx_clock: clock }),
      ...(memory_clock === undefined ? {} : { mem_clock: memory_clock }),
      level: 'auto',
    };
    const pci = `0000:${(gpu + 1).toString(16).padStart(2, '0')}:00.0`;
    return { name, pci, gpu, model, protected: kept, settings };
  });
}

interface World {
  health: Health;
  values: Map<string, number | string | null>;
}

class TestRun {
  readonly #test: PolicyTest;
  readonly #bench: Bench;
  readonly #coverage: Coverage;
  readonly #pciOf: ReadonlyMap<string, string>;
  readonly #world = new Map<string, World>();
  /** Triggers that are being told, by what they are. */
  readonly #telling = new Map<string, Trigger>();
  readonly #expectations: Expectations;

  constructor(test: PolicyTest, cards: readonly (BenchCard & { name: string })[], bench: Bench, coverage: Coverage) {
    this.#test = test;
    this.#bench = bench;
    this.#coverage = coverage;
    this.#pciOf = new Map(cards.map(({ name, pci }) => [name, pci]));
    for (const [name, { facts = {} }] of Object.entries(test.cards)) {
      this.#world.set(name, { health: 'ok', values: new Map() });
      this.#set(name, facts);
    }
    this.#expectations = new Expectations(test.expect, cards, bench);
  }

  async run(): Promise<string[]> {
    const { timeline, expect, starts = STARTS } = this.#test;
    const end = Math.max(...expect.map(({ at }) => at));
    const steps = [...timeline].sort((a, b) => a.at - b.at);
    for (let t = 0; t < end + TICK_MS; t += TICK_MS) {
      const now = starts + t;
      while (steps[0] !== undefined && steps[0].at <= t) await this.#take(steps.shift() as (typeof steps)[0], now);
      await this.#repeat(now);
      this.#note(await this.#bench.tick(this.#moment(now)));
      this.#expectations.look(t);
    }
    return this.#expectations.failures;
  }

  async #take(step: PolicyTest['timeline'][number], now: Instant): Promise<void> {
    for (const [name, facts] of Object.entries(step.set ?? {})) this.#set(name, facts);
    for (const [name, health] of Object.entries(step.health ?? {})) {
      const world = this.#world.get(name);
      if (world !== undefined) world.health = health;
    }
    for (const [name, writes] of Object.entries(step.writes ?? {})) this.#bench.meet(this.#pci(name), writes);
    for (const [name, { power_cap, clock_max }] of Object.entries(step.by_hand ?? {})) {
      this.#bench.setByHand(this.#pci(name), {
        ...(power_cap === undefined ? {} : { power_cap }),
        ...(clock_max === undefined ? {} : { gfx_clock: clock_max }),
      });
    }
    for (const event of step.falls_silent ?? []) this.#telling.delete(canonical(event));
    for (const event of step.ends ?? []) {
      const trigger = this.#telling.get(canonical(event)) ?? this.#triggerOf(event, now);
      this.#telling.delete(canonical(event));
      await this.#tell({ ...trigger, phase: 'close', at: now }, now);
    }
    for (const event of step.fires ?? []) {
      const trigger = this.#triggerOf(event, now);
      this.#telling.set(canonical(event), trigger);
      await this.#tell(trigger, now);
    }
  }

  async #repeat(now: Instant): Promise<void> {
    for (const trigger of this.#telling.values()) {
      const age = now - trigger.since;
      if (age > 0 && age % HEARTBEAT_MS === 0) await this.#tell({ ...trigger, phase: 'renew', at: now }, now);
    }
  }

  async #tell(trigger: Trigger, now: Instant): Promise<void> {
    this.#note(await this.#bench.trigger(trigger, this.#moment(now)));
  }

  #note(decisions: readonly Decision[]): void {
    for (const decision of decisions) this.#coverage.note(decision);
    this.#expectations.note(decisions);
  }

  #triggerOf(event: TestEvent, now: Instant): Trigger {
    const { alert, signal, manual, on, labels = {}, value } = event;
    const source = alert !== undefined ? 'alert' : signal !== undefined ? 'signal' : 'manual';
    const name = alert ?? signal ?? manual ?? '';
    return {
      source,
      name,
      key: `${canonical(event)}@${new Date(now).toISOString()}`,
      phase: 'open',
      ...(on === undefined ? {} : { target: { kind: 'gpu', pci: this.#pci(on) } }),
      since: now,
      at: now,
      values: {
        ...(alert === undefined ? {} : { alertname: alert }),
        ...labels,
        ...(value === undefined ? {} : { value }),
      },
      trusted: true,
    };
  }

  #set(name: string, facts: Readonly<Record<string, string | number | boolean | null>>): void {
    for (const [key, written] of Object.entries(facts)) {
      const read = readFact(key, written);
      if ('value' in read) this.#world.get(name)?.values.set(key, read.value);
    }
  }

  #pci(name: string): string {
    return this.#pciOf.get(name) ?? '';
  }

  #moment(now: Instant): BenchMoment {
    const cards = new Map<string, CardMoment>();
    for (const [name, { health, values }] of this.#world) {
      const answers = health === 'ok' ? [...values] : [];
      const readings = new Map(answers.map(([key, value]) => [key, readingOf(key, value, now)]));
      cards.set(this.#pci(name), { health, readings });
    }
    return { now, cards };
  }
}
