import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openLedger } from '../../../actuator/ledger/ledger.ts';
import { CASE_STATES, type Case } from '../../../model/case.ts';
import { type Claim, KNOB_STATES, KNOBS, type Knob } from '../../../model/claim.ts';
import { type Breaker, type Change, type HistoryEntry, OUTCOMES, type Pause } from '../../../model/decision.ts';
import type { OpenTrigger } from '../../../model/trigger.ts';
import { aCase, aClaim, aKnob, anEntry, aTrigger, NOW, scratch } from './samples.ts';

/** Names that meet often, and names that a careless file mixes up: NULs, lone surrogates, quotes, what looks like another. */
const name = fc.constantFrom('a', 'b', 'a b', 'a\0b', 'a\0c', '\ud800', '\udbff', 'a"\\u0000', 'ü', '', '__proto__');
const text = fc.string({ unit: 'binary', maxLength: 6 });
/** Instants of a steady clock have fractions; -0 is 0 in JSON. */
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const instant = fc.double({ min: NOW, max: NOW + 1e9, noNaN: true });
const target = fc.oneof(
  name.map((pci) => ({ kind: 'gpu', pci }) as const),
  fc.constant({ kind: 'node' } as const),
  name.map((id) => ({ kind: 'workload', id }) as const),
);

const aCaseOfAny: fc.Arbitrary<Case> = fc
  .record(
    {
      state: fc.constantFrom(...CASE_STATES),
      policy: name,
      version: name,
      target,
      reason: text,
      deadline: instant,
      blind: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  .chain((more) => fc.record({ id: name, openedAt: instant }).map((own) => aCase(own.id, { ...more, ...own })));
const aPause: fc.Arbitrary<Pause> = fc.record(
  { id: name, reason: text, author: text, since: instant, until: instant, policy: name },
  { requiredKeys: ['id', 'reason', 'author', 'since'] },
);
const aBreaker: fc.Arbitrary<Breaker> = fc.record({
  open: fc.boolean(),
  reason: text,
  since: instant,
  failures: fc.array(instant, { maxLength: 3 }),
});

const change: fc.Arbitrary<Change> = fc.oneof(
  fc
    .record({ key: name, name: text, seenAt: instant, closedAt: instant }, { requiredKeys: ['key'] })
    .map(({ key, ...more }): Change => ({ put: 'trigger', trigger: aTrigger(key, more) })),
  name.map((key): Change => ({ drop: 'trigger', key })),
  aCaseOfAny.map((one): Change => ({ put: 'case', case: one })),
  fc
    .tuple(name, fc.array(number, { maxLength: 3 }))
    .map(
      ([id, limits]): Change => ({ put: 'claims', case: id, claims: limits.map((atMost) => aClaim(id, { atMost })) }),
    ),
  fc
    .record(
      {
        on: name,
        knob: fc.constantFrom(...KNOBS),
        found: number,
        writing: number,
        wrote: number,
        state: fc.constantFrom(...KNOB_STATES),
      },
      { requiredKeys: ['on', 'knob'] },
    )
    .map((more): Change => ({ put: 'knob', knob: aKnob(more) })),
  fc.record({ drop: fc.constant('knob' as const), on: name, knob: fc.constantFrom(...KNOBS) }),
  fc.record({ put: fc.constant('cooldown' as const), policy: name, target: name, until: instant }),
  fc.record({ put: fc.constant('act' as const), policy: name, target: name, at: instant }),
  aPause.map((pause): Change => ({ put: 'pause', pause })),
  name.map((id): Change => ({ drop: 'pause', id })),
  aBreaker.map((breaker): Change => ({ put: 'breaker', breaker })),
  fc.record({ put: fc.constant('policy' as const), name, version: name, source: text }),
  fc.record({ put: fc.constant('number' as const), gpu: fc.nat(3), pci: name, since: instant }),
  fc
    .record(
      {
        at: instant,
        outcome: fc.constantFrom(...OUTCOMES),
        target,
        case: name,
        detail: fc.dictionary(fc.constantFrom('x', 'y'), fc.oneof(number, text)),
      },
      { requiredKeys: [] },
    )
    .map((more): Change => ({ add: 'history', entry: anEntry(more) })),
);

const ENDED = new Set(['released', 'expired', 'overridden', 'failed', 'dropped']);

/** What a ledger is, without a file. */
class Model {
  triggers = new Map<string, OpenTrigger>();
  cases = new Map<string, Case>();
  claims = new Map<string, readonly Claim[]>();
  knobs = new Map<string, Knob>();
  cooldowns = new Map<string, number>();
  acts: { policy: string; target: string; at: number }[] = [];
  pauses = new Map<string, Pause>();
  numbers = new Map<number, { pci: string; since: number }>();
  breaker: Breaker | undefined;
  sources = new Map<string, { name: string; version: string; source: string }>();
  history: HistoryEntry[] = [];

  take(one: Change): void {
    if ('add' in one) this.history.push(one.entry);
    else if ('drop' in one) {
      if (one.drop === 'trigger') this.triggers.delete(one.key);
      if (one.drop === 'knob') this.knobs.delete(`${one.on} ${one.knob}`);
      if (one.drop === 'pause') this.pauses.delete(one.id);
    } else if (one.put === 'trigger') this.triggers.set(one.trigger.key, one.trigger);
    else if (one.put === 'case') this.cases.set(one.case.id, one.case);
    else if (one.put === 'claims' && one.claims.length > 0) this.claims.set(one.case, one.claims);
    else if (one.put === 'claims') this.claims.delete(one.case);
    else if (one.put === 'knob') this.knobs.set(`${one.knob.on} ${one.knob.knob}`, one.knob);
    else if (one.put === 'cooldown') this.cooldowns.set(`${one.policy} ${one.target}`, one.until);
    else if (one.put === 'act') this.acts.push({ policy: one.policy, target: one.target, at: one.at });
    else if (one.put === 'pause') this.pauses.set(one.pause.id, one.pause);
    else if (one.put === 'breaker') this.breaker = one.breaker;
    else if (one.put === 'number') this.numbers.set(one.gpu, { pci: one.pci, since: one.since });
    else if (one.put === 'policy') {
      const { name: policy, version, source } = one;
      this.sources.set(`${policy}@${version}`, { name: policy, version, source });
    }
  }

  state() {
    const open = [...this.cases].filter(([, { state }]) => !ENDED.has(state));
    const held = new Set(open.map(([, one]) => `${one.policy}@${one.version}`));
    const { triggers, claims, knobs, cooldowns, pauses, numbers, breaker } = this;
    const acts = [...this.acts].sort((a, b) => a.at - b.at);
    const policies = [...held].flatMap((key) => this.sources.get(key) ?? []);
    return { triggers, cases: new Map(open), claims, knobs, cooldowns, acts, pauses, numbers, breaker, policies };
  }
}

type Step = { commit: Change[]; spoiled: boolean; reopen: boolean };
const step: fc.Arbitrary<Step> = fc.record({
  commit: fc.array(change, { minLength: 1, maxLength: 12 }),
  spoiled: fc.nat(5).map((n) => n === 0),
  reopen: fc.nat(3).map((n) => n === 0),
});

const byName = <T extends { name: string; version: string }>(list: readonly T[]): T[] =>
  [...list].sort((a, b) => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1));

describe('a ledger', () => {
  it('is, opened again, what was committed to it, whatever that was', () => {
    const folder = scratch();
    let runs = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) => {
        const file = join(folder, `${runs++}.db`);
        const model = new Model();
        let ledger = openLedger(file, { now: () => NOW });
        const compare = (): void => {
          const { policies, ...state } = ledger.load();
          const { policies: expected, ...rest } = model.state();
          expect({ breaker: undefined, ...state }).toEqual(rest);
          expect(byName(policies)).toEqual(byName(expected));
          expect(
            ledger
              .history()
              .reverse()
              .map(({ seq, ...entry }) => entry),
          ).toEqual(model.history);
          expect(new Map(ledger.cases().map((one) => [one.id, one]))).toEqual(model.cases);
          for (const { name: policy, version, source } of model.sources.values()) {
            expect(ledger.policySource(policy, version)).toBe(source);
          }
        };
        for (const { commit, spoiled, reopen } of steps) {
          if (spoiled) {
            const bad: Change = { put: 'knob', knob: aKnob({ found: Number.NaN }) };
            expect(() => ledger.commit([...commit, bad])).toThrow(expect.objectContaining({ code: 'LEDGER_VALUE' }));
          } else {
            ledger.commit(commit);
            for (const one of commit) model.take(one);
          }
          if (reopen) {
            ledger.close();
            ledger = openLedger(file, { now: () => NOW });
          }
          compare();
        }
        ledger.close();
      }),
      { numRuns: 40 },
    );
  }, 60_000);
});
