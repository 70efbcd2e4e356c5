import { z } from 'zod';
import { parseDuration } from '../../base/durations.ts';
import { MODELS } from '../models.ts';

/** What a scenario file may say. Times are read as seconds, shares stay fractions of 1. */

const DAY = 86_400;

/** Seconds of `90s`, `5m`, `1h30m`. */
const duration = z.string('must be a duration like 10m').transform((text, context) => {
  try {
    return parseDuration(text) / 1000;
  } catch (error) {
    context.addIssue({ code: 'custom', message: `is no duration: ${(error as Error).message}`, input: text });
    return z.NEVER;
  }
});

/** Seconds since midnight of `23:00`. */
const timeOfDay = z.string().transform((text, context) => {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? [];
  const seconds = Number(hours) * 3600 + Number(minutes) * 60;
  if (Number(minutes) < 60 && seconds <= DAY) return seconds;
  context.addIssue({ code: 'custom', message: 'must be a time of day like "23:00"', input: text });
  return z.NEVER;
});

const number = (low: number, high: number) =>
  z
    .number(`must be a number from ${low} to ${high}`)
    .min(low, `must be at least ${low}`)
    .max(high, `must be at most ${high}`);
const share = number(0, 1);

const WORDS = ['all', 'first', 'last', 'even', 'odd'] as const;
const SELECTOR = 'must name GPUs: all, first, last, even, odd, a number, or a list of numbers';
const index = z.number(SELECTOR).int(SELECTOR).min(0, SELECTOR);
/** GPUs by the number that the exporter gives them: in PCI order from 0. */
const selector = z.union([z.enum(WORDS), index, z.array(index).min(1)], SELECTOR);
export type Selector = z.infer<typeof selector>;

/** Blocks that count errors on some model. */
const BLOCKS = [...new Set(Object.values(MODELS).flatMap(({ ras }) => ras))];

const settings = { auto: 'auto' } as const;

const CLASSES = ['batch', 'inference', 'system'] as const;
/** What jobs know: save and go on, end in your own way, end at once. */
const SIGNALS = ['usr1', 'term', 'kill'] as const;

/** Every event, by its name; the order of the keys is that of the words on the command line. */
export const EVENTS = {
  load: z.strictObject({ gpus: selector, busy: z.union([share, z.enum(settings)], 'must be 0 to 1, or auto') }),
  ambient: z.strictObject({ celsius: number(-10, 60), over: duration.default(0) }),
  block: z.strictObject({ gpus: selector, cooling: share.default(0.3) }),
  hang: z.strictObject({ gpus: selector }),
  unhang: z.strictObject({ gpus: selector }),
  reset: z.strictObject({ gpus: selector }),
  ecc: z.strictObject({
    gpus: selector,
    severity: z.enum(['ce', 'ue', 'de']).default('ce'),
    count: z.number().int().min(1).max(1_000_000).default(1),
    block: z.enum(BLOCKS).default('umc'),
    over: duration.default(0),
    retire: z.number().int().min(0).max(64).default(0),
  }),
  foreign_cap: z.strictObject({ gpus: selector, watts: number(0, 2000) }),
  vanish: z.strictObject({ gpus: selector }),
  return: z.strictObject({ gpus: selector }),
  suspend: z.strictObject({ gpus: selector }),
  resume: z.strictObject({ gpus: selector }),
  repartition: z.strictObject({ mode: z.enum(['spx', 'dpx', 'tpx', 'qpx', 'cpx']), gpus: selector.default('all') }),
  signal: z.strictObject({ gpus: selector, signal: z.enum(SIGNALS), class: z.enum(CLASSES).default('batch') }),
  restart: z.strictObject({ gpus: selector, class: z.enum(CLASSES).default('batch') }),
} as const;
export type EventName = keyof typeof EVENTS;
export type SimEvent = { [N in EventName]: { event: N } & z.infer<(typeof EVENTS)[N]> }[EventName];
export const EVENT_NAMES = Object.keys(EVENTS) as EventName[];

/** When a line of the timeline happens, and what; the rest of it is held against the event's own schema. */
export const timelineEntry = z.looseObject({ at: duration, event: z.enum(EVENT_NAMES) });

/** Shares of what the GPU has: of its dies' time, memory bandwidth, VRAM, fabric, PCIe link, video engines. */
const amount = {
  busy: share.optional(),
  memory: share.optional(),
  vram: share.optional(),
  fabric: share.optional(),
  pcie: share.optional(),
  video: share.optional(),
};
export type Amount = { [K in keyof typeof amount]?: number | undefined };
export const AMOUNTS = Object.keys(amount) as (keyof Amount)[];

const range = z.union([share.transform((value): [number, number] => [value, value]), z.tuple([share, share])], {
  error: 'must be a share from 0 to 1, or a list of two',
});
const ranges = Object.fromEntries(AMOUNTS.map((key) => [key, range.optional()])) as Record<
  keyof Amount,
  z.ZodOptional<typeof range>
>;
const span = z.union([duration.transform((value): [number, number] => [value, value]), z.tuple([duration, duration])], {
  error: 'must be a duration like 30s, or a list of two',
});

/** A time that passes. */
const stretch = duration.refine((seconds) => seconds > 0, 'must be longer than 0s');

const job = z.strictObject({
  class: z.enum(CLASSES).default('batch'),
  owner: z.enum(['slurm', 'pod', 'container', 'unit', 'plain']).default('plain'),
  command: z.array(z.string()).min(1).optional(),
  /** A process of this machine stands for it, with that one's pid, and signals reach it. */
  real: z.boolean().default(false),
  /** What SIGTERM does: it ends at once, saves first, or pays no attention. */
  term: z.enum(['end', 'save', 'ignore']).default('end'),
  /** GB/s at which it writes a checkpoint of all the memory that it holds. */
  write: number(0.01, 1000).default(5),
  /** How its work goes on; without it the layer's amounts hold all the time. */
  phases: z.strictObject({ compute: stretch, communicate: stretch, checkpoint_every: stretch.optional() }).optional(),
});
export type Job = z.output<typeof job>;

const common = {
  gpus: selector.default('all'),
  /** Who does this work; nobody's processes are shown where it is left out. */
  job: job.optional(),
  /** Hours of the day in which the layer counts. */
  from: timeOfDay.optional(),
  until: timeOfDay.optional(),
};

/** Loads add up. Each is one of these, told apart by `curve`. */
export const CURVES = {
  steady: z.strictObject({ ...common, curve: z.literal('steady'), ...amount }),
  /** The amounts of a point hold until the next. */
  steps: z.strictObject({
    ...common,
    curve: z.literal('steps'),
    points: z.array(z.strictObject({ at: duration, ...amount })).min(1),
  }),
  /** Straight lines between the points. */
  ramp: z.strictObject({
    ...common,
    curve: z.literal('ramp'),
    points: z.array(z.strictObject({ at: duration, ...amount })).min(2),
  }),
  /** Phases one after the other, over and over. */
  cycle: z.strictObject({
    ...common,
    curve: z.literal('cycle'),
    phases: z.array(z.strictObject({ lasts: duration, name: z.string().optional(), ...amount })).min(1),
  }),
  /** Drawn from the seed: time between two, length and height. */
  bursts: z.strictObject({ ...common, curve: z.literal('bursts'), every: span, lasts: span, ...ranges }),
  /** Straight lines between times of the day. */
  day: z.strictObject({
    ...common,
    curve: z.literal('day'),
    points: z.array(z.strictObject({ at: timeOfDay, ...amount })).min(1),
  }),
} as const;
export type Curve = keyof typeof CURVES;
export type Layer = { [C in Curve]: z.output<(typeof CURVES)[C]> }[Curve];
export const CURVE_NAMES = Object.keys(CURVES) as Curve[];

export const layerHead = z.looseObject({ curve: z.enum(CURVE_NAMES) });

export const scenarioHead = z.strictObject({
  description: z.string(),
  /** After this it begins anew. */
  duration,
  /** Time of the day at which it begins. */
  start: timeOfDay.default(0),
  /** Room temperature at the start, °C. */
  ambient: number(-10, 60).default(24),
  load: z.array(z.unknown()).default([]),
  timeline: z.array(z.unknown()).default([]),
});
