import { z } from 'zod';
import { HEALTHS } from '../../../model/card.ts';
import { DECISION_REASONS, OUTCOMES } from '../../../model/decision.ts';
import { version } from '../schema.ts';
import { check } from '../shape.ts';
import type { Sheet } from '../sheet.ts';
import { clock, duration, name, power, wrong } from '../values.ts';
import { readFact } from './facts.ts';

/** The shape of `*.test.yaml`: what happens to some cards, and what policies must make of it. */

const DAY_MS = 86_400_000;
const AT_MAX_MS = 2 * DAY_MS;

const at = (description: string) => duration(description, ['0s', '10s', '1h30m'], { maxMs: AT_MAX_MS });

const cardName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,62}$/, 'use small letters, digits, - and _, beginning with a letter')
  .meta({ examples: ['gpu0'] });

const fact = z.union([z.string(), z.number(), z.boolean(), z.null()]).meta({
  description: 'A value, with its unit where it has one; null: there is no reading.',
  examples: ['90°C', 0.5],
});

/** Keyed without `gpu.`: `temperature.junction`. */
const facts = z.record(z.string().min(1).max(200), fact).meta({
  description: 'Readings, named as in conditions without gpu.',
  examples: [{ 'temperature.junction': '90°C' }],
});

const watts = power.transform((value, context): number => {
  if ('watts' in value) return value.watts;
  wrong(context, value, 'must be in W', 'Write it like 300W.');
  return z.NEVER;
});

const card = z
  .strictObject({
    model: z
      .string()
      .min(1)
      .max(40)
      .meta({ description: 'Model, as modes name it.', examples: ['MI210'] })
      .default('MI300X'),
    power_cap: watts
      .meta({ description: 'Its default, which it also has as the test begins.', examples: ['300W'] })
      .optional(),
    clock: clock('Its highest graphics clock, without limit as the test begins.').optional(),
    memory_clock: clock('Its highest memory clock, without limit as the test begins.').optional(),
    protected: z.boolean().meta({ description: 'Named by the operator as never to be touched.' }).default(false),
    facts: facts.optional(),
  })
  .meta({ examples: [{ model: 'MI210', power_cap: '300W', facts: { 'temperature.junction': '60°C' } }] });

const event = z
  .strictObject({
    alert: z.string().min(1).optional(),
    signal: name('Kind of signal.', ['burst']).optional(),
    manual: name('Name that a person calls.', ['quiet-please']).optional(),
    on: cardName.meta({ description: 'The card it is about; left out: the node.' }).optional(),
    labels: z.record(z.string(), z.string()).optional(),
    value: z.number().optional(),
  })
  .check((context) => {
    const found = (['alert', 'signal', 'manual'] as const).filter((key) => context.value[key] !== undefined);
    if (found.length === 1) return;
    wrong(context, context.value, 'must have one of alert, signal, manual', 'Windows open by themselves, by the time.');
  })
  .meta({ examples: [{ alert: 'AmdGpuJunctionHot', on: 'gpu0' }] });

const step = z
  .strictObject({
    at: at('Time since the test began.'),
    set: z
      .record(cardName, facts)
      .meta({ description: 'New readings.', examples: [{ gpu0: { 'temperature.junction': '90°C' } }] })
      .optional(),
    health: z.record(cardName, z.enum(HEALTHS)).meta({ description: 'How cards answer.' }).optional(),
    fires: z.array(event).meta({ description: 'Begins, and is told again every 2m until it ends.' }).optional(),
    ends: z.array(event).meta({ description: 'Ends, and is told to have ended.' }).optional(),
    falls_silent: z
      .array(event)
      .meta({ description: 'Is not told any more, neither again nor to have ended.' })
      .optional(),
    writes: z
      .record(cardName, z.enum(['taken', 'refused', 'ignored', 'unanswered']))
      .meta({ description: 'What writes to a card meet from now on.' })
      .optional(),
    by_hand: z
      .record(cardName, z.strictObject({ power_cap: watts.optional(), clock_max: clock('').optional() }))
      .meta({ description: 'Somebody else sets this.', examples: [{ gpu0: { power_cap: '250W' } }] })
      .optional(),
  })
  .meta({ description: 'What happens.' });

const expectedDecision = z
  .strictObject({
    policy: z.string().meta({ description: 'Name of a policy.' }).optional(),
    on: cardName.optional(),
    outcome: z.enum(OUTCOMES).optional(),
    reason: z.enum(DECISION_REASONS).optional(),
  })
  .meta({ examples: [{ policy: 'hot-junction', on: 'gpu0', outcome: 'acted' }] });

const none = z.literal('none');
const limit = z
  .strictObject({
    power_cap: z
      .union([none, watts])
      .meta({ examples: ['210W', 'none'] })
      .optional(),
    clock_max: z
      .union([none, clock('')])
      .meta({ examples: ['1500MHz', 'none'] })
      .optional(),
    memory_clock_max: z
      .union([none, clock('')])
      .meta({ examples: ['1200MHz', 'none'] })
      .optional(),
  })
  .meta({ description: 'What the card has; none: what it had as the test began.' });

const expectation = z
  .strictObject({
    at: at('Looked at after the tick at this time.'),
    decisions: z
      .array(expectedDecision)
      .meta({ description: 'Made since the last look, in this order; others may be among them.' })
      .optional(),
    not: z.array(expectedDecision).meta({ description: 'Not made since the last look.' }).optional(),
    limits: z
      .record(cardName, limit)
      .meta({ examples: [{ gpu0: { power_cap: '210W' } }] })
      .optional(),
    writes: z
      .record(cardName, z.int().min(0))
      .meta({ description: 'Writes to a card since the last look.', examples: [{ gpu0: 1 }] })
      .optional(),
  })
  .meta({ description: 'What must have come of it.' });

export const policyTest = z.strictObject({
  name: z.string().min(1).max(200).meta({ description: 'A sentence.' }),
  starts: z
    .string()
    .meta({ format: 'date-time' })
    .transform((text, context): number => {
      const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
      if (Number.isFinite(instant)) return instant;
      wrong(context, text, `is no point in time: ${JSON.stringify(text)}`);
      return z.NEVER;
    })
    .meta({ description: 'Wall-clock time as it begins.', examples: ['2026-03-05T21:59:00+01:00'] })
    .optional(),
  mode: z
    .enum(['enforce', 'dry_run', 'as_written'])
    .meta({ description: 'Mode of all policies that are not off; by default they act, on simulated cards.' })
    .default('enforce'),
  cards: z.record(cardName, card),
  timeline: z.array(step).max(1000).default([]),
  expect: z.array(expectation).min(1).max(1000),
});

export const testFile = z
  .strictObject({
    version,
    rules: z
      .array(z.string().min(1))
      .min(1)
      .meta({
        description: 'Files or folders of rules under test, seen from this file.',
        examples: [['hot-junction.yaml', '../thresholds.yaml']],
      }),
    tests: z.array(policyTest).max(1000),
  })
  .meta({ title: 'nightshift policy tests' });

export type PolicyTest = z.output<typeof policyTest>;
export type TestFile = z.output<typeof testFile>;
export type TestEvent = z.output<typeof event>;
export type Expectation = z.output<typeof expectation>;
export type ExpectedDecision = z.output<typeof expectedDecision>;
export type TestCard = z.output<typeof card>;
export type FactValue = z.output<typeof fact>;
/** What writes to a card meet. */
export type Writes = 'taken' | 'refused' | 'ignored' | 'unanswered';

/** A file of tests as read; undefined where something in it is wrong (and was told). */
export function checkTestFile(sheet: Sheet): TestFile | undefined {
  const before = sheet.problems.length;
  const file = check(sheet, [], sheet.value, testFile);
  if (file === undefined || sheet.problems.length > before) return undefined;
  file.tests.forEach((test, i) => {
    checkNames(sheet, test, ['tests', i]);
  });
  return sheet.problems.length > before ? undefined : file;
}

/** Each reading is one that a card can give, in its unit. */
function checkFacts(
  sheet: Sheet,
  path: readonly (string | number)[],
  facts: Readonly<Record<string, FactValue>>,
): void {
  for (const [key, written] of Object.entries(facts)) {
    const read = readFact(key, written);
    if ('message' in read) sheet.add('RULE_VALUE_INVALID', [...path, key], read.message, read.hint);
  }
}

/** Cards are named under `cards`; whatever happens, or is expected, happens to one of those. */
function checkNames(sheet: Sheet, test: PolicyTest, path: readonly (string | number)[]): void {
  const known = Object.keys(test.cards);
  const tell = (card: string, where: (string | number)[], atKey: boolean): void => {
    if (known.includes(card)) return;
    const message = `there is no card ${card} in this test`;
    const hint = `There are ${known.join(', ')}.`;
    if (atKey) sheet.addAtKey('RULE_REFERENCE_UNKNOWN', [...path, ...where], message, hint);
    else sheet.add('RULE_REFERENCE_UNKNOWN', [...path, ...where], message, hint);
  };
  for (const [name, { facts: first = {} }] of Object.entries(test.cards)) {
    checkFacts(sheet, [...path, 'cards', name, 'facts'], first);
  }
  for (const [i, one] of test.timeline.entries()) {
    for (const [name, later] of Object.entries(one.set ?? {})) {
      checkFacts(sheet, [...path, 'timeline', i, 'set', name], later);
    }
    for (const key of ['set', 'health', 'writes', 'by_hand'] as const) {
      for (const card of Object.keys(one[key] ?? {})) tell(card, ['timeline', i, key, card], true);
    }
    for (const key of ['fires', 'ends', 'falls_silent'] as const) {
      one[key]?.forEach(({ on }, j) => {
        if (on !== undefined) tell(on, ['timeline', i, key, j, 'on'], false);
      });
    }
  }
  for (const [i, one] of test.expect.entries()) {
    for (const key of ['limits', 'writes'] as const) {
      for (const card of Object.keys(one[key] ?? {})) tell(card, ['expect', i, key, card], true);
    }
    for (const key of ['decisions', 'not'] as const) {
      one[key]?.forEach(({ on }, j) => {
        if (on !== undefined) tell(on, ['expect', i, key, j, 'on'], false);
      });
    }
  }
}
