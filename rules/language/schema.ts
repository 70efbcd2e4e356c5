import { z } from 'zod';
import { MOMENTS, POLICY_MODES } from '../../model/policy.ts';
import { SIGNAL_KINDS } from '../../model/signal.ts';
import { TARGET_KINDS } from '../../model/target.ts';
import { TRIGGER_SOURCES } from '../../model/trigger.ts';
import { OPERATORS } from './operators.ts';
import { clock, duration, type Issues, measured, name, power, wrong, zone } from './values.ts';

/** The shape of policy files. Types, checks, the schema for editors and the reference page are all made of this. */

export const version = z.literal(1).meta({ description: 'Version of this format.', examples: [1] });

/** JSON Logic; checked in full by the compiler of conditions, so this is for editors alone. */
export const condition = z.unknown().meta({
  id: 'condition',
  description:
    'JSON Logic: one operator with its operands. It is true, false or unknown; unknown neither acts nor releases.',
  anyOf: [
    { type: 'boolean' },
    { type: 'object', minProperties: 1, maxProperties: 1, propertyNames: { enum: [...OPERATORS.keys()] } },
  ],
  examples: [{ '>=': [{ var: 'gpu.temperature.junction' }, '85°C'] }],
});

const wishKeys = {
  power_cap: power.optional(),
  clock_max: clock('Upper limit of the graphics clock.').optional(),
  memory_clock_max: clock('Upper limit of the memory clock.').optional(),
};

function needsOne(keys: readonly string[], what: string) {
  return (value: object, context: Issues): void => {
    const found = Object.keys(value).filter((key) => keys.includes(key));
    if (found.length > 0) return;
    wrong(context, value, `says nothing of ${what}`, `Write at least one of ${keys.join(', ')}.`, {
      rule: 'RULE_KEY_MISSING',
    });
  };
}

function exactlyOne(keys: readonly string[], what: string) {
  return (value: object, context: Issues): void => {
    const found = Object.keys(value).filter((key) => keys.includes(key));
    if (found.length === 1) return;
    const message = found.length === 0 ? `has no ${what}` : `has ${found.length} ${what}s: ${found.join(', ')}`;
    wrong(context, value, message, `Write one of ${keys.join(', ')} in each entry.`);
  };
}

const WISHES = Object.keys(wishKeys);

export const wish = z
  .strictObject(wishKeys)
  .check((context) => needsOne(WISHES, 'a limit')(context.value, context))
  .meta({ description: 'Limits of a card; the lowest wish of all policies is what it gets.', minProperties: 1 });

export const rung = z
  .strictObject({ at: measured.describe('Taken at this value.'), ...wishKeys })
  .check((context) => needsOne(WISHES, 'a limit')(context.value, context))
  .meta({ examples: [{ at: '85°C', power_cap: '80%' }] });

export const ladder = z
  .strictObject({
    on: z.string().meta({ description: 'The variable that is climbed on.', examples: ['gpu.temperature.junction'] }),
    hysteresis: measured.describe('A rung is left this far below where it was taken.').meta({ examples: ['3°C'] }),
    rungs: z.array(rung).min(1).max(16).meta({ description: 'From the lowest to the highest.' }),
  })
  .meta({ description: 'Graded limits.' });

const ACTIONS = ['throttle', 'mode', 'ladder', 'notify'] as const;

export const action = z
  .strictObject({
    throttle: wish.optional(),
    mode: name('Name of a mode in modes.yaml.', ['eco']).optional(),
    ladder: ladder.optional(),
    notify: z.string().min(1).max(2000).meta({ description: 'Tells people, as the case begins to act.' }).optional(),
  })
  .check((context) => exactlyOne(ACTIONS, 'action')(context.value, context))
  .meta({ minProperties: 1, maxProperties: 1, examples: [{ throttle: { power_cap: '70%' } }] });

export const trigger = z
  .strictObject({
    alert: z
      .string()
      .regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, 'must be the name of an alert')
      .meta({ description: 'Name of an alert.', examples: ['AmdGpuJunctionHot'] })
      .optional(),
    labels: z
      .record(z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, 'must be the name of a label'), z.string())
      .meta({
        description: 'Labels that the alert must carry, with exactly these values.',
        examples: [{ severity: 'page' }],
      })
      .optional(),
    signal: z
      .enum(SIGNAL_KINDS)
      .meta({ description: 'Kind of a live signal of the exporter.', examples: ['burst'] })
      .optional(),
    schedule: name('Name of a window in windows.yaml.', ['night']).optional(),
    manual: name('Name by which a person calls it.', ['quiet-please']).optional(),
  })
  .check((context) => {
    exactlyOne(TRIGGER_SOURCES, 'trigger')(context.value, context);
    if (context.value.labels !== undefined && context.value.alert === undefined)
      wrong(context, context.value.labels, 'goes with alert alone', 'Only alerts have labels: remove it.', {
        path: ['labels'],
        atKey: true,
      });
  })
  .meta({ minProperties: 1, maxProperties: 2, examples: [{ alert: 'AmdGpuJunctionHot' }] });

export const limits = z
  .strictObject({
    gpus: z
      .int()
      .min(1)
      .meta({ description: 'At most so many cards at once.', examples: [4] })
      .optional(),
    percent: z
      .number()
      .gt(0)
      .max(100)
      .meta({ description: 'At most this share of the cards at once, rounded down, one at the least.', examples: [50] })
      .optional(),
  })
  .check((context) => needsOne(['gpus', 'percent'], 'how many cards')(context.value, context))
  .meta({ description: 'Blast radius.', minProperties: 1, examples: [{ gpus: 4, percent: 50 }] });

const MINUTE_MS = 60_000;

/** What `defaults:` may hold: keys of a policy that has none of its own. */
const common = {
  mode: z
    .enum(POLICY_MODES)
    .meta({ description: 'off: not looked at. dry_run: decides and writes nothing. enforce: acts.' })
    .optional(),
  for: duration('How long the condition must hold before it acts.', ['10s']).optional(),
  dwell: z
    .union([z.literal('manual'), z.string()])
    .meta({ examples: ['60s', 'manual'] })
    .transform((text, context): number | 'manual' => {
      if (text === 'manual') return 'manual';
      const parsed = dwellTime.safeParse(text, { reportInput: true });
      if (parsed.success) return parsed.data;
      for (const issue of parsed.error.issues) {
        const { hint } = (issue as { params?: { hint?: string } }).params ?? {};
        wrong(context, text, issue.message, hint);
      }
      return z.NEVER;
    })
    .meta({
      description: 'How long the release condition must hold; manual: a person releases it, or the end of its lease.',
      examples: ['60s', 'manual'],
    })
    .optional(),
  lease: duration('Everything ends after this time without a renewal.', ['6m'], { minMs: 1000 }).optional(),
  cooldown: duration('Pause after the end, before it may act on the same target again.', ['5m']).optional(),
  limits: limits.optional(),
  notify: z
    .array(z.enum(MOMENTS))
    .max(MOMENTS.length)
    .meta({ description: 'When it tells people.', examples: [['acted', 'failed']] })
    .optional(),
};
const dwellTime = duration('', ['60s']);

export const DEFAULTS = {
  mode: 'dry_run',
  for: 0,
  dwell: MINUTE_MS,
  lease: 6 * MINUTE_MS,
  cooldown: 5 * MINUTE_MS,
} as const;

export const policy = z
  .strictObject({
    name: name('Its name, once in all files.', ['hot-junction']),
    description: z.string().max(1000).meta({ description: 'What it is for, in a sentence.' }).optional(),
    mode: common.mode,
    on: z
      .array(trigger)
      .max(32)
      .meta({ description: 'What makes it look; without any it looks all the time, and needs two fresh readings.' })
      .optional(),
    target: z.enum(TARGET_KINDS).meta({ description: 'What it acts on.', examples: ['gpu'] }),
    when: condition.meta({ description: 'It acts only where this is true by our own reading.' }).optional(),
    for: common.for,
    do: z.array(action).min(1).max(16).meta({ description: 'What it does.' }),
    until: condition.meta({ description: 'It releases where this is true.' }).optional(),
    dwell: common.dwell,
    lease: common.lease,
    cooldown: common.cooldown,
    limits: common.limits,
    notify: common.notify,
  })
  .meta({ description: 'One policy.' });

export const defaults = z
  .strictObject({
    ...common,
    zone: zone.meta({ description: 'Zone of the variables time.*.' }).optional(),
  })
  .meta({ description: 'For all policies of this file that do not say it themselves.' });

export const policyFile = z
  .strictObject({
    version,
    defaults: defaults.optional(),
    conditions: z
      .record(name('', ['card-is-hot']), condition)
      .meta({ description: 'Named conditions of this file, used as { condition: name }.' })
      .optional(),
    policies: z.array(policy).max(500),
  })
  .meta({ title: 'nightshift policies' });

export type WrittenWish = z.output<typeof wish>;
export type WrittenPolicy = z.output<typeof policy>;
export type WrittenDefaults = z.output<typeof defaults>;
export type WrittenAction = z.output<typeof action>;
