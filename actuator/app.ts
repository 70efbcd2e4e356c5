import express, { type Express } from 'express';
import { CardKnobs } from '../amdgpu/knobs/device.ts';
import { APART, LanePool } from '../amdgpu/lanes/pool.ts';
import { AmdNode } from '../amdgpu/node.ts';
import type { Paths } from '../amdgpu/paths.ts';
import { cadenceOf } from '../amdgpu/plan.ts';
import type { BearerTokens } from '../base/bearer.ts';
import type { Clock, Stoppable } from '../base/clock.ts';
import { NightshiftError } from '../base/errors.ts';
import { componentLog, type Log, onceLog } from '../base/log.ts';
import { measureLoopLag } from '../base/loop-lag.ts';
import { steadyClock } from '../base/steady.ts';
import type { Book } from '../model/book.ts';
import type { Change, Decision } from '../model/decision.ts';
import type { Facts } from '../model/facts.ts';
import type { RuleSet } from '../model/policy.ts';
import type { Trigger } from '../model/trigger.ts';
import { actuatorApi } from './api.ts';
import { beginBook } from './begin.ts';
import { emptyBook } from './decide/apply.ts';
import { endWithoutPolicy } from './decide/release.ts';
import { ExporterLink } from './exporter-link.ts';
import { Housekeeping } from './housekeeping.ts';
import type { Accepted } from './http/webhook.ts';
import { scheduleTriggers } from './intake/schedule.ts';
import { minuteTicks } from './intake/ticks.ts';
import type { Ledger } from './ledger/ledger.ts';
import { Loop, touchedBy } from './loop.ts';
import { ActuatorMetrics, type Standing } from './metrics.ts';
import { rebase } from './rebase.ts';
import { placesInUse } from './settings/in-force.ts';
import { CRASH_POINTS as KNOB_CRASH_POINTS, Reconciler } from './settings/reconcile.ts';
import { Store } from './store.ts';
import { openTriggers, roomFor, wanted } from './triggers.ts';
import { Watch } from './watch.ts';

/** Places at which a test ends the process; each lies between two steps that a crash must not tear apart. */
export const CRASH_POINTS = [
  'before-intake',
  'after-intake',
  'before-commit',
  'after-commit',
  ...KNOB_CRASH_POINTS,
] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

export interface ActuatorOptions {
  paths: Paths;
  /** The system's; leases are reckoned in steady time made of it. */
  clock: Clock;
  log: Log;
  /** As alerts name it. */
  node: string;
  version: string;
  revision: string;
  rules: RuleSet;
  /** Undefined where it could not be read: the actuator then stands frozen, and says so. */
  ledger: Ledger | undefined;
  frozenBecause?: string | undefined;
  /** Another process writes on this host: everything is a dry run here. */
  observing?: boolean;
  enforce: boolean;
  /** PCI addresses that are never touched. */
  protectedCards: ReadonlySet<string>;
  intervalMs: number;
  laneDeadlineMs: number;
  acts: { acts: number; perMs: number };
  failures: { failures: number; perMs: number };
  /** Of this node's exporter, whose numbers of cards alerts carry. */
  exporterUrl?: string | undefined;
  tokens?: BearerTokens | undefined;
  clientCertificates?: (() => boolean) | undefined;
  crashPoint?: (name: CrashPoint) => void;
}

export interface Actuator {
  app: Express;
  readonly book: Book;
  readonly loop: Loop;
  readonly pool: LanePool;
  readonly node: AmdNode;
  /** Steady time, as in the book. */
  now(): number;
  start(): Promise<void>;
  /** Ends what is under way; gives nothing back. */
  stop(): Promise<void>;
  /** Brings new rules in force; open cases keep theirs. */
  reload(rules: RuleSet): void;
  /** Nobody else writes on this host any more: from here on this process acts. */
  becomeWriter(): void;
  /** The files were not good: what was in force stays. */
  reloadFailed(): void;
  /** Makes triggers durable, and has them decided. */
  accept(triggers: readonly Trigger[]): Accepted;
  rediscover(): void;
}

/** How long a thermal case may be blind before it goes to the floor. */
const BLIND_MS = 10_000;
/** More events than this wait only where the process cannot keep up: the sender is asked to try again. */
const MOST_WAITING = 10_000;

/** Process 2: acts on what the rules say, and can undo all of it. */
export function createActuator(options: ActuatorOptions): Actuator {
  const { log, paths, ledger, crashPoint } = options;
  let observing = options.observing ?? false;
  const clock = steadyClock(options.clock);
  const now = (): number => clock.now();
  const wall = (): number => options.clock.now();
  const pool = new LanePool({ clock, itemDeadline: options.laneDeadlineMs, apart: APART, writable: true });
  // Reads that clear counters in hardware are the exporter's alone.
  const skip = (name: string): boolean => cadenceOf(name) === 'costly';
  const node = new AmdNode({ paths, pool, clock, log: componentLog(log, 'node'), skip });
  const port = new CardKnobs({ node, pool, clock });
  const begun = bookOf(options, now());
  const { book } = begun;
  const lag = measureLoopLag({ clock });
  const exporter =
    options.exporterUrl === undefined
      ? undefined
      : new ExporterLink({ url: options.exporterUrl, clock, log: componentLog(log, 'exporter') });
  const metrics = new ActuatorMetrics({
    version: options.version,
    revision: options.revision,
    book: () => book,
    now,
    wall,
    queue: () => loop.length,
    lanes: () => pool.stats,
    lag,
    stepped: () => clock.stepped(),
    ledgerBytes: () => ledger?.size() ?? 0,
    standing,
    exporterUp: exporter && (() => exporter.up),
  });
  metrics.know(book.rules);
  metrics.reloaded(true, wall());
  const store = new Store({
    book,
    ledger,
    once: onceLog(componentLog(log, 'ledger')),
    monotonic: () => clock.monotonic(),
    onCommit: (seconds) => metrics.commit.observe(seconds),
    onFailure: () => metrics.commitFailures.inc(),
  });
  const watch = new Watch({
    node,
    port,
    exporter,
    book,
    nodeName: options.node,
    protectedCards: options.protectedCards,
    now,
    wall,
    onNumbers(changes) {
      store.commitUndo(changes);
      metrics.knowTargets(book.rules.policies, watch.cards);
    },
    onReset: (pci) => poke(pci, 'reset'),
  });
  const look = (): Promise<Facts> => watch.look();
  const known = (): Facts => watch.known();
  const reconciler = new Reconciler({
    port,
    book: () => book,
    commit(changes) {
      store.commit(changes);
      metrics.writing(changes);
    },
    now,
    clock,
    log: componentLog(log, 'settings'),
    onOutcome(report) {
      metrics.reported(report);
      loop.push({ type: 'knob', report });
    },
    reading: (on, key) => watch.reading(on, key),
    ...(crashPoint === undefined ? {} : { crashPoint }),
  });
  const loop = new Loop({
    store,
    look,
    known,
    poke,
    onDecision,
    onError(error) {
      metrics.loopErrors.inc();
      log.error({ err: error }, 'an event could not be decided');
    },
    ...(crashPoint === undefined ? {} : { crashPoint }),
  });
  const housekeeping = new Housekeeping({ store, ledger, now, log });
  const timers: Stoppable[] = [];
  let state: 'starting' | 'ready' | 'stopping' = 'starting';

  function standing(): Standing {
    return book.options.frozen ? 'frozen' : observing ? 'observing' : 'acting';
  }

  /** One writer a host: who only observes touches no card, not even to give something back. */
  function poke(on: string, why?: 'reset'): void {
    if (!observing) reconciler.poke(on, why);
  }

  function onDecision(decision: Decision): void {
    metrics.decided(decision, wall());
    const { outcome, reason, policy, target, mode, detail, case: id } = decision;
    const about = { policy, target: target.kind === 'gpu' ? target.pci : target.kind, mode, ...(id && { case: id }) };
    if (outcome !== 'renewed') {
      log[outcome === 'failed' ? 'warn' : 'info']({ ...about, outcome, reason, ...detail }, 'decision');
    }
    for (const notice of decision.notices ?? []) {
      metrics.notices.inc({ policy: notice.policy, moment: notice.moment });
      log.warn({ ...about, moment: notice.moment }, notice.text);
    }
  }

  function accept(triggers: readonly Trigger[]): Accepted {
    if (state !== 'ready') return state === 'stopping' ? 'stopping' : 'failed';
    const kept = wanted(book, triggers);
    count(triggers, kept);
    if (kept.length === 0) return 'queued';
    const room = loop.length >= MOST_WAITING ? undefined : roomFor(book, kept);
    if (room === undefined) return 'full';
    try {
      crashPoint?.('before-intake');
      store.commit([...room, ...openTriggers(book, kept)]);
      crashPoint?.('after-intake');
    } catch (error) {
      return error instanceof NightshiftError && error.code === 'LEDGER_FULL' ? 'disk_full' : 'failed';
    }
    loop.push({ type: 'triggers', triggers: kept });
    return 'queued';
  }

  /** Alerts are counted at the webhook already, but for those that nobody waits for. */
  function count(triggers: readonly Trigger[], kept: readonly Trigger[]): void {
    const waited = new Set(kept);
    for (const trigger of triggers) {
      const { source } = trigger;
      if (!waited.has(trigger)) metrics.triggers.inc({ source, outcome: 'no_policy' });
      else if (source !== 'alert') metrics.triggers.inc({ source, outcome: 'accepted' });
    }
  }

  function lookAtWindows(): void {
    const { rules, triggers } = book;
    const made = scheduleTriggers({ windows: rules.windows, wall: wall(), at: now(), triggers });
    if (made.length > 0) accept(made);
  }

  function tick(): void {
    store.catchUp();
    loop.push({ type: 'tick' });
    // Every row is compared with its card: drift, foreign hands and resets are found here.
    for (const on of placesInUse(book)) poke(on);
  }

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(
    actuatorApi({
      node: options.node,
      version: options.version,
      clock,
      log,
      tokens: options.tokens,
      clientCertificates: options.clientCertificates,
      metrics,
      book: () => book,
      look,
      known,
      ready: () => state,
      standing,
      frozenBecause: options.frozenBecause,
      healthyLedger: () => store.healthy,
      accept,
      commit: (changes) => store.commit(changes),
      push: (event) => loop.push(event),
      history: (query) => ledger?.history(query) ?? [],
      cases: (query) => ledger?.cases(query) ?? [],
    }),
  );

  return {
    app,
    book,
    loop,
    pool,
    node,
    accept,
    now,
    async start() {
      // Its numbers first, where it answers at once: alerts that come by number then mean what it meant.
      await Promise.all([node.start(), exporter?.look().catch(() => undefined)]);
      await port.look();
      await look();
      metrics.knowTargets(book.rules.policies, watch.cards);
      for (const pci of options.protectedCards) {
        if (!watch.cards.includes(pci))
          log.warn({ pci }, 'to be protected, but no such GPU is here: is it written right?');
      }
      const { rules, options: settings } = book;
      const detail = { policies: rules.policies.length, enforce: settings.enforce, observing, rules: rules.version };
      if (!settings.frozen) {
        const entry = { at: now(), outcome: 'start', reason: 'started', detail } as const;
        store.commitUndo([...begun.changes, { add: 'history', entry }]);
      }
      // What an earlier start, which was allowed to act, still holds.
      if (!options.enforce) loop.push({ type: 'revert', author: 'nightshift', reason: '--enforce=false' });
      loop.push({ type: 'tick' });
      // No card is touched before it was decided which of the old claims still stand.
      await loop.idle();
      for (const on of touchedBy(begun.changes)) poke(on);
      state = 'ready';
      tick();
      timers.push(clock.every(options.intervalMs, tick), housekeeping.start(clock));
      if (exporter !== undefined) timers.push(exporter.start());
      if (!settings.frozen) timers.push(minuteTicks({ onTick: lookAtWindows, clock: options.clock, log }));
      log.info({ gpus: node.cards.length, ...detail }, 'ready');
    },
    async stop() {
      state = 'stopping';
      for (const timer of timers) timer.stop();
      loop.stop();
      await reconciler.stop();
      node.close();
      pool.close();
      lag.stop();
      ledger?.close();
    },
    reload(rules) {
      book.rules = rules;
      book.considered.clear();
      metrics.know(rules);
      metrics.knowTargets(rules.policies, watch.cards);
      metrics.reloaded(true, wall());
      if (state !== 'ready') return;
      lookAtWindows();
      tick();
    },
    becomeWriter() {
      if (!observing) return;
      observing = false;
      book.options.enforce = options.enforce;
      log.info('the host is ours now: acting');
      tick();
    },
    reloadFailed: () => metrics.reloaded(false, wall()),
    rediscover: () => node.rediscover(),
  };
}

/** The book as the ledger left it, and what lets go of cases that nobody can judge any more. */
function bookOf(options: ActuatorOptions, now: number): { book: Book; changes: readonly Change[] } {
  const { ledger, rules, log, enforce, observing = false } = options;
  const settings = {
    enforce: enforce && !observing,
    frozen: ledger === undefined,
    rate: options.acts,
    breaker: options.failures,
    blindMs: BLIND_MS,
  };
  if (ledger === undefined) return { book: emptyBook(rules, settings), changes: [] };
  const { state, changes } = rebase(ledger.load(), now);
  const { book, orphans } = beginBook(rules, settings, state, log);
  return { book, changes: [...changes, ...orphans.flatMap((one) => endWithoutPolicy(one, 'released', now))] };
}
