import * as z from 'zod';
import { parseDuration } from '../../base/durations.ts';
import { NightshiftError } from '../../base/errors.ts';
import type { Instant } from '../../model/instant.ts';
import { targetKey } from '../../model/target.ts';
import type { OpenTrigger, Trigger } from '../../model/trigger.ts';
import { canonicalPci, gpuNumber } from './pci.ts';
import { checked, type Parsed } from './refusal.ts';

/** What a person asks for: that policies which wait for `name` look, or that this ends. */
export type ManualRequest = {
  name: string;
  author: string;
  reason: string;
  /** Absent: everything on this node. */
  about: Pick<Trigger, 'target' | 'gpu'>;
} & ({ action: 'open'; ttlMs: number } | { action: 'close' });

const SHORTEST_MS = 1_000;
const LONGEST_MS = 7 * 86_400_000;

const words = (longest: number) =>
  z
    .string('must be a text')
    .trim()
    .min(1, 'must not be empty')
    .max(longest, `must have at most ${longest} characters`)
    .refine(
      (text) => !/[\x00-\x1f\x7f]/.test(text) && !/[\ud800-\udfff]/u.test(text),
      'must be one line of plain text',
    );

const ttl = z.string('must be a duration such as 30m').transform((text, context): number => {
  const ms = durationOf(text);
  if (ms !== undefined && ms >= SHORTEST_MS && ms <= LONGEST_MS) return ms;
  context.issues.push({ code: 'custom', message: 'must be a duration such as 30m, between 1s and 7d', input: text });
  return z.NEVER;
});

/** `gpu:0000:c1:00.0`, `gpu:3` or `node`. */
const about = z.string('must be a text').transform((text, context): ManualRequest['about'] => {
  if (text === 'node') return { target: { kind: 'node' } };
  const name = /^gpu:(.+)$/.exec(text)?.[1] ?? '';
  const [pci, gpu] = [canonicalPci(name), gpuNumber(name)];
  if (pci !== undefined) return { target: { kind: 'gpu', pci } };
  if (gpu !== undefined) return { gpu };
  context.issues.push({ code: 'custom', message: 'must be gpu:ADDRESS, gpu:NUMBER or node', input: text });
  return z.NEVER;
});

const common = {
  name: z
    .string('must be a text')
    .regex(/^[a-z][a-z0-9_-]{0,62}$/, 'must be a name as in rules: small letters, digits, - and _'),
  author: words(128),
  reason: words(512),
  target: about.optional(),
};

const requestSchema: z.ZodType<ManualRequest> = z
  .discriminatedUnion(
    'action',
    [
      z.strictObject({ action: z.literal('open'), ...common, ttl }),
      z.strictObject({ action: z.literal('close'), ...common }),
    ],
    'must be open or close',
  )
  .transform(({ target = {}, ...request }): ManualRequest => {
    const base = { name: request.name, author: request.author, reason: request.reason, about: target };
    return request.action === 'open' ? { ...base, action: 'open', ttlMs: request.ttl } : { ...base, action: 'close' };
  });

/** Checks the body of the API's request: it is our own, so what is not known is an error. */
export function checkManualRequest(input: unknown): Parsed<ManualRequest> {
  return checked(requestSchema, input);
}

function durationOf(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch (error) {
    if (error instanceof NightshiftError) return undefined;
    throw error;
  }
}

export interface ManualContext {
  /** Steady time. */
  at: Instant;
  /** All triggers of the book. */
  triggers: Iterable<OpenTrigger>;
}

/**
 * The trigger of a request. A name is open once for each target: asked again it is renewed, with a new end. Undefined where
 * something is to end that is not open. Only people who proved who they are get here.
 */
export function manualTrigger(request: ManualRequest, { at, triggers }: ManualContext): Trigger | undefined {
  const { name, author, reason, about: said } = request;
  const place = placeOf(said);
  const open = [...triggers].find(
    (one) =>
      one.source === 'manual' &&
      one.name === name &&
      one.closedAt === undefined &&
      (one.until ?? Number.POSITIVE_INFINITY) > at &&
      placeOf(one) === place,
  );
  if (request.action === 'close' && open === undefined) return undefined;
  return {
    source: 'manual',
    name,
    key: open?.key ?? `${name}/${place}@${new Date(at).toISOString()}`,
    phase: request.action === 'close' ? 'close' : open === undefined ? 'open' : 'renew',
    ...said,
    since: open?.since ?? at,
    at,
    values: { author, reason },
    trusted: true,
    ...(request.action === 'open' ? { until: at + request.ttlMs } : {}),
  };
}

function placeOf({ target, gpu }: Pick<Trigger, 'target' | 'gpu'>): string {
  if (target !== undefined) return targetKey(target);
  return gpu === undefined ? 'all' : `gpu:${gpu}`;
}
