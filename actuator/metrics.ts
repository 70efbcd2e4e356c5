import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { PoolStats } from '../amdgpu/lanes/pool.ts';
import type { LoopLag } from '../base/loop-lag.ts';
import { buildInfoMetric, lanesMetric, loopLagMetric, processMetrics } from '../base/process-metrics.ts';
import type { Book } from '../model/book.ts';
import { OPEN_STATES } from '../model/case.ts';
import { KNOBS } from '../model/claim.ts';
import { type Change, DECIDED, type Decision } from '../model/decision.ts';
import { MOMENTS, POLICY_MODES, type RuleSet } from '../model/policy.ts';
import { targetKey } from '../model/target.ts';
import { TRIGGER_SOURCES } from '../model/trigger.ts';
import { isInWindow } from '../rules/language/window.ts';
import type { WebhookCounters } from './http/webhook.ts';
import { ALERT_OUTCOMES } from './intake/alertmanager.ts';
import type { KnobReport } from './settings/report.ts';

export interface MetricsOptions {
  version: string;
  revision: string;
  book: () => Book;
  now: () => number;
  wall: () => number;
  queue: () => number;
  lanes: () => PoolStats;
  lag: LoopLag;
  stepped: () => number;
  ledgerBytes: () => number;
  standing: () => Standing;
  /** Absent where no exporter is named. */
  exporterUp?: (() => boolean) | undefined;
}

/** `observing`: another process writes on this host. `frozen`: the ledger cannot be read. */
const STANDINGS = ['acting', 'observing', 'frozen'] as const;
export type Standing = (typeof STANDINGS)[number];
const MODES = ['enforce', 'dry_run'] as const;
/** What became of a knob; `settled` and `given_back` are the good ends. */
const KNOB_OUTCOMES = ['settled', 'unsettled', 'failed', 'foreign', 'given_back', 'overridden'] as const;

/** Metrics of the actuator's own work. All label sets that can be known exist at 0 from the start. */
export class ActuatorMetrics {
  readonly registry = new Registry();
  readonly triggers: Counter<'source' | 'outcome'>;
  readonly writes: Counter<'knob'>;
  /** For the webhook. */
  readonly webhook: WebhookCounters;
  readonly #knobs: Counter<'knob' | 'outcome'>;
  readonly notices: Counter<'policy' | 'moment'>;
  readonly commitFailures: Counter;
  readonly loopErrors: Counter;
  readonly commit: Histogram;
  readonly #decisions: Counter<'policy' | 'outcome' | 'reason'>;
  readonly #rehearsed: Counter<'policy' | 'outcome' | 'reason'>;
  readonly #lastAction: Gauge<'policy' | 'target'>;
  readonly #thresholds = new Map<string, Gauge<'threshold'>>();
  readonly #reloadOk: Gauge;
  readonly #reloadAt: Gauge;

  constructor(options: MetricsOptions) {
    const registers = [this.registry];
    processMetrics(registers);
    loopLagMetric('nightshift_event_loop_lag_seconds', options.lag, registers);
    buildInfoMetric('nightshift_build_info', 'Version of this actuator.', options, registers);
    const labelNames = ['policy', 'outcome', 'reason'] as const;
    this.#decisions = new Counter({
      name: 'nightshift_decisions_total',
      help: 'Decisions of policies that act, by outcome and reason. A standing reason is counted once.',
      labelNames,
      registers,
    });
    this.#rehearsed = new Counter({
      name: 'nightshift_dry_run_decisions_total',
      help: 'Decisions of policies in dry run, by outcome and reason: what would have been done.',
      labelNames,
      registers,
    });
    this.#lastAction = new Gauge({
      name: 'nightshift_last_action_timestamp_seconds',
      help: 'When a policy last acted on a target; 0 where it never did since this process began.',
      labelNames: ['policy', 'target'],
      registers,
    });
    this.triggers = new Counter({
      name: 'nightshift_triggers_total',
      help: 'Triggers by source and what became of them at the door.',
      labelNames: ['source', 'outcome'],
      registers,
    });
    for (const source of TRIGGER_SOURCES) {
      const outcomes = source === 'alert' ? [...ALERT_OUTCOMES, 'no_policy'] : ['accepted', 'no_policy'];
      for (const outcome of outcomes) this.triggers.inc({ source, outcome }, 0);
    }
    this.webhook = webhookCounters(registers, this.triggers);
    this.writes = new Counter({
      name: 'nightshift_writes_total',
      help: 'Times that a knob of a card was written to, to set it or to give it back.',
      labelNames: ['knob'],
      registers,
    });
    this.#knobs = new Counter({
      name: 'nightshift_knob_outcomes_total',
      help: 'What was found of a knob after writing or looking, told when it changes.',
      labelNames: ['knob', 'outcome'],
      registers,
    });
    for (const knob of KNOBS) {
      this.writes.inc({ knob }, 0);
      for (const outcome of KNOB_OUTCOMES) this.#knobs.inc({ knob, outcome }, 0);
    }
    this.notices = new Counter({
      name: 'nightshift_notices_total',
      help: 'Notices to people, by policy and moment.',
      labelNames: ['policy', 'moment'],
      registers,
    });
    this.commitFailures = new Counter({
      name: 'nightshift_ledger_commit_failures_total',
      help: 'Commits that the ledger did not take; while it takes none, nothing new is begun.',
      registers,
    });
    this.loopErrors = new Counter({
      name: 'nightshift_loop_errors_total',
      help: 'Events that could not be decided because of a fault of our own.',
      registers,
    });
    this.commit = new Histogram({
      name: 'nightshift_ledger_commit_duration_seconds',
      help: 'Time of a durable commit.',
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5],
      registers,
    });
    this.#reloadOk = new Gauge({
      name: 'nightshift_rules_last_reload_successful',
      help: '1 where the rules in force are those of the files.',
      registers,
    });
    this.#reloadAt = new Gauge({
      name: 'nightshift_rules_last_reload_success_timestamp_seconds',
      help: 'When rules were last taken from the files.',
      registers,
    });
    standing(options, registers);
    holdings(options, registers);
    rulesAsSeries(options, registers);
  }

  /** Has every outcome of these rules' policies at 0, and their thresholds as series. */
  know({ policies, thresholds }: RuleSet): void {
    this.#knowThresholds(thresholds);
    for (const { name: policy } of policies) {
      for (const [outcome, reason] of DECIDED) {
        this.#decisions.inc({ policy, outcome, reason }, 0);
        this.#rehearsed.inc({ policy, outcome, reason }, 0);
      }
      for (const moment of [...MOMENTS, 'notify']) this.notices.inc({ policy, moment }, 0);
    }
  }

  /** Policies and what they can act on: their last action is told from the start. */
  knowTargets(policies: RuleSet['policies'], gpus: readonly string[]): void {
    for (const { name: policy, target: kind } of policies) {
      const targets = kind === 'gpu' ? gpus.map((pci) => `gpu:${pci}`) : [kind];
      for (const target of targets) this.#lastAction.inc({ policy, target }, 0);
    }
  }

  decided({ policy, outcome, reason, mode, target }: Decision, at: number): void {
    (mode === 'enforce' ? this.#decisions : this.#rehearsed).inc({ policy, outcome, reason });
    if (outcome === 'acted') this.#lastAction.set({ policy, target: targetKey(target) }, at / 1000);
  }

  reported({ knob, state, failed, restored }: KnobReport): void {
    const outcome = restored ?? (failed || state === 'unsupported' ? 'failed' : state);
    this.#knobs.inc({ knob, outcome });
  }

  /** Counts the writes that these changes announce. */
  writing(changes: readonly Change[]): void {
    for (const change of changes) {
      if (!('add' in change) || change.entry.outcome !== 'write' || !('to' in change.entry.detail)) continue;
      this.writes.inc({ knob: String(change.entry.detail.knob) });
    }
  }

  #knowThresholds(thresholds: RuleSet['thresholds']): void {
    for (const series of this.#thresholds.values()) series.reset();
    for (const { name, value, unit } of thresholds.values()) {
      let series = this.#thresholds.get(unit);
      if (series === undefined) {
        series = new Gauge({
          name: `nightshift_threshold_${unit}`,
          help: 'Thresholds of the rules files.',
          labelNames: ['threshold'],
          registers: [this.registry],
        });
        this.#thresholds.set(unit, series);
      }
      series.set({ threshold: name }, value);
    }
  }

  reloaded(ok: boolean, at: number): void {
    this.#reloadOk.set(ok ? 1 : 0);
    if (ok) this.#reloadAt.set(at / 1000);
  }
}

function webhookCounters(registers: Registry[], triggers: Counter<'source' | 'outcome'>): WebhookCounters {
  const requests = new Counter({
    name: 'nightshift_webhook_requests_total',
    help: 'Answers of the webhook by status code.',
    labelNames: ['code'],
    registers,
  });
  for (const code of ['202', '400', '401', '403', '413', '415', '503']) requests.inc({ code }, 0);
  const cut = new Counter({
    name: 'nightshift_webhook_truncated_alerts_total',
    help: 'Alerts that Alertmanager cut off its messages (max_alerts) and will not send later.',
    registers,
  });
  return {
    request: (status) => requests.inc({ code: String(status) }),
    alerts(counts) {
      for (const outcome of ALERT_OUTCOMES) triggers.inc({ source: 'alert', outcome }, counts[outcome]);
    },
    truncated: (alerts) => cut.inc(alerts),
  };
}

function standing(options: MetricsOptions, registers: Registry[]): void {
  new Gauge({
    name: 'nightshift_actuator_state',
    help: 'Whether this process may act: acting, observing (another one writes on this host), frozen (its ledger cannot be read).',
    labelNames: ['state'],
    registers,
    collect() {
      const now = options.standing();
      for (const state of STANDINGS) this.set({ state }, state === now ? 1 : 0);
    },
  });
  new Gauge({
    name: 'nightshift_paused',
    help: 'Pauses in force; one of all policies or of a single one.',
    labelNames: ['scope'],
    registers,
    collect() {
      const now = options.now();
      const pauses = [...options.book().pauses.values()].filter(({ until = now + 1 }) => until > now);
      const single = pauses.filter((pause) => pause.policy !== undefined).length;
      this.set({ scope: 'policy' }, single);
      this.set({ scope: 'all' }, pauses.length - single);
    },
  });
  gauge(registers, 'nightshift_breaker_open', '1 while new acts are stopped after failures in a row.', () =>
    options.book().breaker.open ? 1 : 0,
  );
  const { exporterUp } = options;
  if (exporterUp !== undefined) {
    gauge(registers, 'nightshift_exporter_up', '1 while the exporter of this node answers.', () =>
      exporterUp() ? 1 : 0,
    );
  }
  gauge(registers, 'nightshift_queue_length', 'Events that wait to be decided.', options.queue);
  gauge(registers, 'nightshift_ledger_size_bytes', 'Size of the ledger with its log.', options.ledgerBytes);
  gauge(
    registers,
    'nightshift_clock_step_seconds',
    'By how much the system time was set since the start.',
    () => options.stepped() / 1000,
  );
  lanesMetric(
    'nightshift_lanes',
    'Processes that touch cards, by state; a stuck one waits for a card that does not answer.',
    options.lanes,
    registers,
  );
}

function holdings(options: MetricsOptions, registers: Registry[]): void {
  new Gauge({
    name: 'nightshift_cases',
    help: 'Open cases by state and mode.',
    labelNames: ['state', 'mode'],
    registers,
    collect() {
      const counts = new Map<string, number>();
      for (const { state, mode } of options.book().cases.values()) {
        counts.set(`${state} ${mode}`, (counts.get(`${state} ${mode}`) ?? 0) + 1);
      }
      for (const state of OPEN_STATES)
        for (const mode of MODES) this.set({ state, mode }, counts.get(`${state} ${mode}`) ?? 0);
    },
  });
  new Gauge({
    name: 'nightshift_claims',
    help: 'Claims of acting cases by knob.',
    labelNames: ['knob'],
    registers,
    collect() {
      const { claims, cases } = options.book();
      const counts = new Map<string, number>();
      for (const [id, list] of claims) {
        if (cases.get(id)?.mode !== 'enforce') continue;
        for (const { knob } of list) counts.set(knob, (counts.get(knob) ?? 0) + 1);
      }
      for (const knob of KNOBS) this.set({ knob }, counts.get(knob) ?? 0);
    },
  });
  new Gauge({
    name: 'nightshift_knob_held',
    help: '1 for each knob that is set by us and not given back yet, with how it stands.',
    labelNames: ['pci_address', 'knob', 'state'],
    registers,
    collect() {
      this.reset();
      for (const { on, knob, state } of options.book().knobs.values()) this.set({ pci_address: on, knob, state }, 1);
    },
  });
}

/** What operators wrote, so that alerts and boards compare with it instead of repeating it. */
function rulesAsSeries(options: MetricsOptions, registers: Registry[]): void {
  new Gauge({
    name: 'nightshift_policies',
    help: 'Loaded policies by mode.',
    labelNames: ['mode'],
    registers,
    collect() {
      for (const mode of POLICY_MODES) {
        this.set({ mode }, options.book().rules.policies.filter((policy) => policy.mode === mode).length);
      }
    },
  });
  new Gauge({
    name: 'nightshift_window_active',
    help: '1 while a window of the rules files is open.',
    labelNames: ['window'],
    registers,
    collect() {
      this.reset();
      const wall = options.wall();
      for (const [window, one] of options.book().rules.windows) this.set({ window }, isInWindow(one, wall) ? 1 : 0);
    },
  });
}

function gauge(registers: Registry[], name: string, help: string, value: () => number): void {
  new Gauge({
    name,
    help,
    registers,
    collect() {
      this.set(value());
    },
  });
}
