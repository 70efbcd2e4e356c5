import { z } from 'zod';
import { version, wish } from './schema.ts';
import { measured, name, variableName, wrong, zone } from './values.ts';

/** The shape of windows.yaml, modes.yaml and thresholds.yaml. */

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const MINUTES_A_DAY = 1440;

/** Minutes after midnight of `22:00`; `24:00` is an end alone. */
function timeOfDay(description: string, example: string, last: number) {
  return z
    .string()
    .meta({ pattern: '^\\d\\d:\\d\\d$', examples: [example] })
    .transform((text, context): number => {
      const [, hours, minutes] = /^(\d\d):(\d\d)$/.exec(text) ?? [];
      const total = Number(hours) * 60 + Number(minutes);
      if (Number(minutes) < 60 && total <= last) return total;
      wrong(
        context,
        text,
        `is not a time of day: ${JSON.stringify(text)}`,
        'Write two digits each, in quotes: "22:00".',
      );
      return z.NEVER;
    })
    .meta({ description, examples: [example] });
}

/** 1 Monday … 7 Sunday of `mon`, `mon-fri` or `mon..fri`; a range may go over Sunday. */
function daysOf(text: string): number[] | undefined {
  const [first, last, more] = text.split(/\.\.|-/);
  const from = DAYS.indexOf(first as (typeof DAYS)[number]);
  const to = last === undefined ? from : DAYS.indexOf(last as (typeof DAYS)[number]);
  if (from < 0 || to < 0 || more !== undefined) return undefined;
  const length = ((to - from + 7) % 7) + 1;
  return Array.from({ length }, (_, i) => ((from + i) % 7) + 1);
}

const DAY_EXAMPLES = ['mon-fri', ['sat', 'sun']];

const days = z
  .union([z.string(), z.array(z.string()).min(1).max(7)])
  .meta({ examples: DAY_EXAMPLES })
  .transform((given, context): number[] => {
    const found = new Set<number>();
    for (const text of typeof given === 'string' ? [given] : given) {
      const some = daysOf(text);
      if (some !== undefined) for (const day of some) found.add(day);
      else wrong(context, given, `has no day ${JSON.stringify(text)}`, `Days are ${DAYS.join(', ')}, or mon-fri.`);
    }
    return [...found].sort();
  })
  .meta({ description: 'Days on which it starts; every day where left out.', examples: DAY_EXAMPLES });

export const window = z
  .strictObject({
    zone,
    from: timeOfDay('Begins, local time.', '22:00', MINUTES_A_DAY - 1),
    to: timeOfDay('Ends, local time; before `from` it is the next day.', '06:00', MINUTES_A_DAY),
    days: days.optional(),
    description: z.string().max(1000).optional(),
  })
  .check((context) => {
    if (context.value.from !== context.value.to) return;
    wrong(context, context.value, 'begins and ends at one time', 'For a whole day write from: "00:00", to: "24:00".', {
      path: ['to'],
    });
  })
  .meta({ examples: [{ zone: 'Europe/Berlin', from: '22:00', to: '06:00', days: 'mon-fri' }] });

export const windowsFile = z
  .strictObject({ version, windows: z.record(name('', ['night']), window) })
  .meta({ title: 'nightshift windows' });

export const mode = z
  .strictObject({
    description: z.string().max(1000).optional(),
    limits: wish.meta({ description: 'For every model that is not named below.' }).optional(),
    models: z
      .record(z.string().min(1).max(40), wish)
      .meta({
        description: 'For single models, by the name that amdgpu_info has.',
        examples: [{ MI210: { power_cap: '230W' } }],
      })
      .optional(),
  })
  .check((context) => {
    if (context.value.limits !== undefined || Object.keys(context.value.models ?? {}).length > 0) return;
    wrong(context, context.value, 'limits nothing', 'Write limits, models, or both.', { rule: 'RULE_KEY_MISSING' });
  })
  .meta({ examples: [{ limits: { power_cap: '80%' } }] });

export const modesFile = z
  .strictObject({ version, modes: z.record(name('', ['eco']), mode) })
  .meta({ title: 'nightshift modes' });

export const threshold = z
  .strictObject({
    value: measured.meta({ description: 'A value with its unit.', examples: ['85°C', '300W', '15%'] }),
    description: z.string().max(1000).optional(),
  })
  .meta({ examples: [{ value: '85°C', description: 'junction of a card that works too hard' }] });

export const thresholdsFile = z
  .strictObject({ version, thresholds: z.record(variableName, threshold) })
  .meta({ title: 'nightshift thresholds' });
