import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Router } from 'express';
import type { Clock } from '../../base/clock.ts';
import { describe } from '../../base/errors.ts';
import { isLoopback, isUnixPeer } from '../../base/http.ts';
import { type Log, onceLog } from '../../base/log.ts';
import type { Instant } from '../../model/instant.ts';
import type { OpenTrigger, Trigger } from '../../model/trigger.ts';
import { type AlertCounts, alertTriggers, parseAlertMessage } from '../intake/alertmanager.ts';
import { trustOf } from './auth.ts';
import { readBody, refuseTooLarge } from './webhook-body.ts';

/** `queued` only once the triggers are on disk: the sender forgets what it got a 2xx for. */
export type Accepted = 'queued' | 'full' | 'disk_full' | 'stopping' | 'failed';
/** Why we ask the sender to try again, in the body of a 503. Never 429, which it does not repeat. */
export type RetryReason = Exclude<Accepted, 'queued'> | 'starting' | 'slow';

/** What is counted of it; by whoever keeps the metrics. */
export interface WebhookCounters {
  request(status: number): void;
  /** Of messages that were taken. */
  alerts(counts: AlertCounts): void;
  /** Alerts that the sender cut off and will not send later. */
  truncated(alerts: number): void;
}

export interface WebhookOptions {
  /** Name of this node (`--node.name`). */
  node: string;
  /** Stores the triggers and hands them on. Called at once after `known` was asked, with no wait between. */
  accept(triggers: readonly Trigger[]): Accepted | Promise<Accepted>;
  /** What the book knows of an episode, open or closed. */
  known(key: string): OpenTrigger | undefined;
  /** Steady time. */
  now(): Instant;
  ready(): 'ready' | 'starting' | 'stopping';
  counters: WebhookCounters;
  clock: Clock;
  log: Log;
  path?: string;
  /** Most bytes of a body. */
  limit?: number;
  /** How long `accept` may take before the sender is asked to try again, ms. */
  acceptMs?: number;
}

const DEFAULTS = { path: '/v1/alerts', limit: 1024 * 1024, acceptMs: 5_000 } as const;

/**
 * Alertmanager's webhook. 202 once stored; 400 with a JSON pointer; 401 where nobody established trust before; 413, 415 empty;
 * 503 with its reason where the sender shall try again. Acts on nothing: that comes after the answer.
 */
export function webhook(options: WebhookOptions): Router {
  const router = express.Router();
  const settings = { ...DEFAULTS, ...options };
  const once = onceLog(options.log);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<Answer | undefined> {
    const trust = trustOf(request);
    if (trust === undefined) return { status: 401 };
    if (!isPlainJson(request)) return { status: 415 };
    const state = options.ready();
    if (state !== 'ready') return retry(state);
    const body = await readBody(request, settings.limit);
    if (body === 'left') return undefined;
    if (body === 'too_large') {
      refuseTooLarge(request, response, options.clock);
      return { status: 413, sent: true };
    }
    const parsed = parseAlertMessage(body);
    const peer = request.socket.remoteAddress ?? 'unix';
    if ('refusal' in parsed) {
      const { pointer, message } = parsed.refusal;
      once.report(`webhook ${peer}`, `a message was refused: ${pointer || 'the body'} ${message}`, { peer });
      return { status: 400, body: { error: `${pointer || 'the body'} ${message}`, pointer } };
    }
    once.report(`webhook ${peer}`, undefined);
    const { value: message } = parsed;
    const peerIsLocal = isLoopback(request) || isUnixPeer(request);
    const { node, known } = options;
    const taken = alertTriggers(message, {
      node,
      known: (key) => known(key),
      at: options.now(),
      trusted: trust === 'authenticated',
      peerIsLocal,
    });
    const { triggers, counts } = taken;
    const accepted = triggers.length === 0 ? 'queued' : await store(triggers);
    if (accepted !== 'queued') return retry(accepted);
    options.counters.alerts(counts);
    if (message.truncatedAlerts > 0) options.counters.truncated(message.truncatedAlerts);
    const cut = `the sender cut ${message.truncatedAlerts} alerts off: set max_alerts to 0 there`;
    once.report(`webhook cut ${peer}`, message.truncatedAlerts > 0 ? cut : undefined, { peer });
    return { status: 202, body: { accepted: counts.accepted, duplicates: counts.duplicates } };
  }

  /** Never throws: what we cannot store, the sender is to keep. */
  function store(triggers: readonly Trigger[]): Promise<Accepted | 'slow'> {
    return new Promise((resolve) => {
      const timer = options.clock.timer(settings.acceptMs, () => resolve('slow'));
      const failed = (error: unknown): Accepted => {
        once.report('webhook store', `alerts could not be stored: ${describe(error)}`);
        return 'failed';
      };
      void settled(() => options.accept(triggers), failed).then((accepted) => {
        timer.stop();
        if (accepted === 'queued') once.report('webhook store', undefined);
        resolve(accepted);
      });
    });
  }

  router.post(settings.path, (request, response, next) => {
    answer(request, response)
      .then((made) => {
        if (made === undefined) return;
        options.counters.request(made.status);
        if (!made.sent) send(response, made);
      })
      .catch(next);
  });
  return router;
}

interface Answer {
  status: number;
  body?: unknown;
  sent?: boolean;
}

const retry = (reason: RetryReason): Answer => ({ status: 503, body: { reason } });

async function settled<T>(work: () => T | Promise<T>, failed: (error: unknown) => T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    return failed(error);
  }
}

/** JSON in UTF-8, as it is: Alertmanager never compresses, and what unpacks to more than it weighs is not let in. */
function isPlainJson({ headers }: IncomingMessage): boolean {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (!/^identity$/i.test(encoding)) return false;
  const match = /^application\/json *(;.*)?$/i.exec(headers['content-type'] ?? '');
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(match?.[1] ?? '')?.[1] ?? 'utf-8';
  return match !== null && /^utf-?8$/i.test(charset);
}

function send(response: ServerResponse, { status, body }: Answer): void {
  if (response.destroyed || response.headersSent) return;
  const text = body === undefined ? '' : `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    ...(text === '' ? {} : { 'Content-Type': 'application/json; charset=utf-8' }),
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}
