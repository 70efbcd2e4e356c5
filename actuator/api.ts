import express, { type Router } from 'express';
import type { BearerTokens } from '../base/bearer.ts';
import type { Clock } from '../base/clock.ts';
import { componentLog, type Log } from '../base/log.ts';
import type { Book } from '../model/book.ts';
import type { Case } from '../model/case.ts';
import type { Change, Pause } from '../model/decision.ts';
import type { Facts } from '../model/facts.ts';
import type { Trigger } from '../model/trigger.ts';
import type { Event } from './decide/event.ts';
import { establishTrust } from './http/auth.ts';
import { control } from './http/control.ts';
import { reads } from './http/reads.ts';
import { type Accepted, webhook } from './http/webhook.ts';
import type { CaseQuery, HistoryLine, HistoryQuery } from './ledger/look.ts';
import type { ActuatorMetrics, Standing } from './metrics.ts';

export interface ApiOptions {
  node: string;
  version: string;
  clock: Clock;
  log: Log;
  tokens?: BearerTokens | undefined;
  clientCertificates?: (() => boolean) | undefined;
  metrics: ActuatorMetrics;
  book(): Book;
  look(): Promise<Facts>;
  known(): Facts;
  ready(): 'starting' | 'ready' | 'stopping';
  standing(): Standing;
  frozenBecause: string | undefined;
  /** The ledger takes commits. */
  healthyLedger(): boolean;
  accept(triggers: readonly Trigger[]): Accepted;
  /** Throws LEDGER_*. */
  commit(changes: readonly Change[]): void;
  push(event: Event): void;
  history(query: HistoryQuery): HistoryLine[];
  cases(query: CaseQuery): Case[];
}

/** All of the actuator's HTTP. Health and metrics are for everybody; below /v1 the trust of the peer is established first. */
export function actuatorApi(options: ApiOptions): Router {
  const { metrics, log, clock } = options;
  const router = express.Router();
  router.get('/metrics', async (_request, response) => {
    response.set('Content-Type', metrics.registry.contentType).end(await metrics.registry.metrics());
  });
  router.get('/-/healthy', (_request, response) => {
    response.type('text/plain').send('Healthy\n');
  });
  router.get('/-/ready', (_request, response) => {
    const reason = notReady(options);
    if (reason === undefined) response.type('text/plain').send('Ready\n');
    else response.status(503).type('text/plain').send(`${reason}\n`);
  });
  router.get('/', (_request, response) => {
    response.type('text/plain').send(front(options));
  });
  router.use(
    '/v1',
    establishTrust({
      tokens: options.tokens,
      clientCertificates: options.clientCertificates,
      log,
      refused(request, status) {
        if (request.method === 'POST' && request.originalUrl === '/v1/alerts') metrics.webhook.request(status);
      },
    }),
  );
  router.use(
    webhook({
      node: options.node,
      accept: options.accept,
      known: (key) => options.book().triggers.get(key),
      now: () => clock.now(),
      ready: () => (options.standing() === 'frozen' ? 'starting' : options.ready()),
      counters: metrics.webhook,
      clock,
      log: componentLog(log, 'webhook'),
    }),
    reads({ ...options, status: () => statusOf(options) }),
    control({
      book: options.book,
      known: options.known,
      now: () => clock.now(),
      pause: (pause) => pauseNow(options, pause),
      resume: (id, breaker, author) => resumeNow(options, id, breaker, author),
      accept: options.accept,
      push: options.push,
    }),
  );
  return router;
}

function notReady(options: ApiOptions): string | undefined {
  if (options.standing() === 'frozen') return `Frozen: ${options.frozenBecause ?? 'the ledger cannot be read'}`;
  if (options.ready() !== 'ready') return options.ready() === 'starting' ? 'Looking for cards' : 'Stopping';
  return options.healthyLedger() ? undefined : 'The ledger takes no commits: nothing new is begun';
}

function front(options: ApiOptions): string {
  const { book, known } = options;
  const { cases, rules, pauses } = book();
  return `nightshift actuator ${options.version} on ${options.node}: ${options.standing()}

${known().cards.size} GPUs, ${rules.policies.length} policies, ${cases.size} open cases, ${pauses.size} pauses

/metrics      for Prometheus
/v1/policies  what is loaded
/v1/cases     what is held, why, and for how long
/v1/explain   why, or why not: ?policy=NAME&gpu=NUMBER
/v1/history   what was done
/v1/alerts    where Alertmanager posts
/-/healthy /-/ready
`;
}

function statusOf(options: ApiOptions): Record<string, unknown> {
  const { rules, pauses, breaker, options: settings, cases, knobs } = options.book();
  const facts = options.known();
  return {
    node: options.node,
    version: options.version,
    state: options.standing(),
    ...(options.frozenBecause === undefined ? {} : { frozenBecause: options.frozenBecause }),
    ready: notReady(options) ?? 'ready',
    enforce: settings.enforce,
    rules: rules.version,
    policies: rules.policies.length,
    openCases: cases.size,
    pauses: [...pauses.values()],
    breaker,
    knobs: [...knobs.values()],
    cards: [...facts.cards.values()].map(({ card, number, health, knobs: settable, protected: kept }) => ({
      gpu: number,
      pci: card.pci,
      model: card.model.name,
      health,
      protected: kept,
      knobs: [...settable.values()],
    })),
  };
}

function pauseNow(options: ApiOptions, pause: Pause): void {
  const { id, reason, author, until, policy } = pause;
  const detail = { pause: id, because: reason, author, ...(until && { until }) };
  const entry = { at: pause.since, outcome: 'pause', reason: 'asked', detail, ...(policy && { policy }) } as const;
  options.commit([
    { put: 'pause', pause },
    { add: 'history', entry },
  ]);
}

function resumeNow(options: ApiOptions, id: string | undefined, breaker: boolean, author: string): boolean {
  const book = options.book();
  const ended = [...book.pauses.values()].filter((pause) => id === undefined || pause.id === id);
  const closes = breaker && book.breaker.open;
  if (ended.length === 0 && !closes) return false;
  const at = options.clock.now();
  const detail = { author, pauses: ended.map((pause) => pause.id), breaker: closes };
  const changes: Change[] = ended.map((pause) => ({ drop: 'pause', id: pause.id }));
  if (closes) changes.push({ put: 'breaker', breaker: { open: false, reason: '', since: at, failures: [] } });
  options.commit([...changes, { add: 'history', entry: { at, outcome: 'resume', reason: 'asked', detail } }]);
  // What waited is looked at again, by what is true now: nothing that was missed is replayed.
  options.push({ type: 'tick' });
  return true;
}
