import * as z from 'zod';
import { parseJson } from './json.ts';
import { checked, type Parsed } from './refusal.ts';
import { type Moment, parseRfc3339, ZERO_TIME } from './rfc3339.ts';

/** What a message may hold at the most; its bytes are bounded where it is received. */
export const MESSAGE_LIMITS = {
  alerts: 10_000,
  labels: 128,
  /** Characters. */
  labelName: 256,
  labelValue: 4_096,
  /** A message has lists and objects four deep; what senders add has room. */
  depth: 32,
} as const;

type Labels = Readonly<Record<string, string>>;

/** One alert of a message, with what is used of it. */
export interface Alert {
  status: 'firing' | 'resolved';
  labels: Labels;
  startsAt: Moment;
  /** 16 hexadecimal digits; absent from senders older than Alertmanager 0.19. */
  fingerprint?: string | undefined;
}

export interface AlertMessage {
  alerts: Alert[];
  receiver?: string | undefined;
  /** Alerts that the sender cut off (`max_alerts`) and will not send later. */
  truncatedAlerts: number;
}

/** A text that stands in no well-formed UTF-8 cannot be stored as it came. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;
const CONTROL = /[\x00-\x1f\x7f]/;

function labelProblem(name: string, value: unknown): string | undefined {
  if (name === '' || name === '__proto__' || CONTROL.test(name) || LONE_SURROGATE.test(name)) return 'is no label name';
  if (name.length > MESSAGE_LIMITS.labelName) return `has a name longer than ${MESSAGE_LIMITS.labelName} characters`;
  if (typeof value !== 'string') return 'must be a text';
  if (value.length > MESSAGE_LIMITS.labelValue) return `is longer than ${MESSAGE_LIMITS.labelValue} characters`;
  return LONE_SURROGATE.test(value) ? 'is not valid Unicode' : undefined;
}

/** By hand: the schema library takes four times as long over maps, which are most of a message. */
const labels: z.ZodType<Labels> = z.unknown().transform((input, context) => {
  const refuse = (message: string, ...path: string[]) => {
    context.issues.push({ code: 'custom', message, input, path });
    return z.NEVER;
  };
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return refuse(input === undefined ? 'is missing' : 'must be a map of texts');
  }
  const entries = Object.entries(input);
  if (entries.length > MESSAGE_LIMITS.labels) return refuse(`has more than ${MESSAGE_LIMITS.labels} labels`);
  for (const [name, value] of entries) {
    const problem = labelProblem(name, value);
    if (problem !== undefined) return refuse(problem, name);
  }
  return input as Labels;
});

/** Maps that are checked and not used: Go writes an empty one as null. */
const otherMap = z.record(z.string(), z.string('must be a text'), 'must be a map of texts').nullish();
const otherText = z.string('must be a text').nullish();

const NOT_A_TIME = 'must be an RFC 3339 time';
const time = z.string(NOT_A_TIME).transform((text, context): Moment => {
  const moment = parseRfc3339(text);
  if (moment !== undefined) return moment;
  context.issues.push({ code: 'custom', message: NOT_A_TIME, input: text });
  return z.NEVER;
});

const alertSchema: z.ZodType<Alert> = z.object({
  status: z.enum(['firing', 'resolved'], 'must be firing or resolved'),
  labels,
  annotations: otherMap,
  // The identity of an episode: one that never began would be taken for every other of its labels.
  startsAt: time.refine(({ text }) => text !== ZERO_TIME, 'is not set'),
  // Zero while it fires, and in the future where the sender guesses: the status alone tells.
  endsAt: time.nullish(),
  generatorURL: otherText,
  fingerprint: z
    .string('must be 16 hexadecimal digits')
    .regex(/^[0-9a-fA-F]{16}$/, 'must be 16 hexadecimal digits')
    .transform((text) => text.toLowerCase())
    .optional(),
});

const messageSchema: z.ZodType<AlertMessage> = z.object(
  {
    version: z.literal('4', 'must be "4"'),
    status: z.enum(['firing', 'resolved'], 'must be firing or resolved').optional(),
    groupKey: otherText,
    receiver: z.string('must be a text').optional(),
    truncatedAlerts: z.int('must be a whole number').min(0, 'must not be negative').default(0),
    groupLabels: otherMap,
    commonLabels: otherMap,
    commonAnnotations: otherMap,
    routeLabels: otherMap,
    externalURL: otherText,
    notification_reason: otherText,
    alerts: z
      .array(z.unknown(), 'must be a list')
      .min(1, 'must hold an alert')
      .max(MESSAGE_LIMITS.alerts, `must hold at most ${MESSAGE_LIMITS.alerts} alerts`)
      .pipe(z.array(alertSchema)),
  },
  'must be an object',
);

/**
 * Checks the body of Alertmanager's webhook, version 4 (`template.Data` and `webhook.Message` of Alertmanager): lenient to
 * fields that are not known here, strict about the types of those that are.
 */
export function checkAlertMessage(input: unknown): Parsed<AlertMessage> {
  return checked(messageSchema, input);
}

/** As `checkAlertMessage`, from the bytes of a body. */
export function parseAlertMessage(bytes: Uint8Array): Parsed<AlertMessage> {
  const parsed = parseJson(bytes, MESSAGE_LIMITS.depth);
  return 'refusal' in parsed ? parsed : checkAlertMessage(parsed.value);
}
