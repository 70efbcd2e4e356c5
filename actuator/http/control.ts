import express, { type Request, type Response, type Router } from 'express';
import * as z from 'zod';
import { parseDuration } from '../../base/durations.ts';
import { describe } from '../../base/errors.ts';
import type { Book } from '../../model/book.ts';
import type { Pause } from '../../model/decision.ts';
import type { Facts } from '../../model/facts.ts';
import type { Instant } from '../../model/instant.ts';
import type { Trigger } from '../../model/trigger.ts';
import type { Event } from '../decide/event.ts';
import { checkManualRequest, type ManualRequest, manualTrigger } from '../intake/manual.ts';
import { authenticatedOnly } from './auth.ts';
import { cardOf, refuse } from './reads.ts';
import type { Accepted } from './webhook.ts';

export interface ControlOptions {
  book(): Book;
  /** What is known of the cards without reading. */
  known(): Facts;
  now(): Instant;
  /** Durable when it returns; throws LEDGER_*. */
  pause(pause: Pause): void;
  /** Ends one pause, or all; true where there was any. */
  resume(id: string | undefined, breaker: boolean, author: string): boolean;
  accept(triggers: readonly Trigger[]): Accepted;
  push(event: Event): void;
}

const words = z.string().trim().min(1).max(512);
const duration = z.string().transform((value, context) => {
  try {
    return parseDuration(value);
  } catch (error) {
    context.issues.push({ code: 'custom', message: describe(error), input: value });
    return z.NEVER;
  }
});
const pauseBody = z.strictObject({
  reason: words,
  author: words,
  for: duration.optional(),
  policy: words.optional(),
  revert: z.boolean().optional(),
});
const resumeBody = z.strictObject({ author: words, id: words.optional(), breaker: z.boolean().optional() });
const revertBody = z.strictObject({ author: words, reason: words, case: words.optional() });

/** What changes something: only for those who proved who they are, whatever the address. */
export function control(options: ControlOptions): Router {
  const router = express.Router();
  const json = express.json({ limit: '64kb', strict: true });
  const guarded = [authenticatedOnly(), json];

  router.post('/v1/pause', guarded, (request: Request, response: Response) => {
    const body = checked(pauseBody, request, response);
    if (body === undefined) return;
    if (body.policy !== undefined && !options.book().rules.policies.some((policy) => policy.name === body.policy)) {
      refuse(response, 404, 'POLICY_UNKNOWN', `no policy is named ${body.policy}`);
      return;
    }
    const now = options.now();
    const pause: Pause = {
      id: `p${now.toString(36)}`,
      reason: body.reason,
      author: body.author,
      since: now,
      ...(body.for === undefined ? {} : { until: now + body.for }),
      ...(body.policy === undefined ? {} : { policy: body.policy }),
    };
    options.pause(pause);
    if (body.revert === true) options.push({ type: 'pause', pause, revert: true });
    response.status(201).json({ pause });
  });

  router.post('/v1/resume', guarded, (request: Request, response: Response) => {
    const body = checked(resumeBody, request, response);
    if (body === undefined) return;
    if (options.resume(body.id, body.breaker === true, body.author)) response.json({ resumed: true });
    else refuse(response, 404, 'NOT_PAUSED', body.id === undefined ? 'nothing is paused' : `no pause ${body.id}`);
  });

  router.post('/v1/revert', guarded, (request: Request, response: Response) => {
    const body = checked(revertBody, request, response);
    if (body === undefined) return;
    const { cases } = options.book();
    if (body.case !== undefined && !cases.has(body.case)) {
      refuse(response, 404, 'CASE_UNKNOWN', `no open case ${body.case}`);
      return;
    }
    const asked = body.case === undefined ? [...cases.keys()] : [body.case];
    options.push({ type: 'revert', author: body.author, reason: body.reason, ...(body.case && { case: body.case }) });
    response.status(202).json({ cases: asked });
  });

  router.post('/v1/triggers', guarded, (request: Request, response: Response) => {
    const parsed = checkManualRequest(request.body);
    if ('refusal' in parsed) {
      const { pointer, message } = parsed.refusal;
      refuse(response, 400, 'BODY_INVALID', `${pointer || 'the body'} ${message}`);
      return;
    }
    const about = byAddress(parsed.value.about, options.known());
    if (about === undefined) {
      refuse(response, 404, 'GPU_UNKNOWN', `no GPU ${nameOf(parsed.value.about)} on this node`);
      return;
    }
    const asked: ManualRequest = { ...parsed.value, about };
    const trigger = manualTrigger(asked, { at: options.now(), triggers: options.book().triggers.values() });
    if (trigger === undefined) {
      refuse(response, 404, 'TRIGGER_NOT_OPEN', `no manual trigger ${parsed.value.name} is open`);
      return;
    }
    const accepted = options.accept([trigger]);
    if (accepted !== 'queued') {
      refuse(response, 503, 'NOT_TAKEN', `the trigger was not taken: ${accepted}`);
      return;
    }
    const heard = options
      .book()
      .rules.policies.filter((policy) =>
        policy.on.some((pattern) => pattern.source === 'manual' && pattern.name === trigger.name),
      );
    response.status(202).json({ key: trigger.key, phase: trigger.phase, policies: heard.map((policy) => policy.name) });
  });

  // What the ledger does not take was not done.
  router.use((error: unknown, _request: Request, response: Response, next: (error: unknown) => void) => {
    const { code, type } = error as { code?: unknown; type?: unknown };
    if (typeof code === 'string' && code.startsWith('LEDGER_')) refuse(response, 503, code, describe(error));
    else if (typeof type === 'string' && type.startsWith('entity.')) refuse(response, 400, 'BODY_INVALID', 'not JSON');
    else next(error);
  });
  return router;
}

/** A person's number is today's: the card that it means is what is called, and ended, under any name of it. */
function byAddress(about: ManualRequest['about'], facts: Facts): ManualRequest['about'] | undefined {
  const name = nameOf(about);
  if (name === undefined) return about;
  const pci = cardOf(name, facts);
  return pci === undefined ? undefined : { target: { kind: 'gpu', pci } };
}

/** The GPU as it was named; undefined where none was. */
function nameOf({ target, gpu }: ManualRequest['about']): string | undefined {
  return target?.kind === 'gpu' ? target.pci : gpu?.toString();
}

function checked<T>(schema: z.ZodType<T>, request: Request, response: Response): T | undefined {
  const result = schema.safeParse(request.body ?? {}, { reportInput: true });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const key = issue?.path.join('.') || 'the body';
  const isMissing = issue?.code === 'invalid_type' && issue.input === undefined;
  refuse(response, 400, 'BODY_INVALID', isMissing ? `${key} is missing` : `${key}: ${issue?.message ?? 'is wrong'}`);
  return undefined;
}
