import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Actuator, type ActuatorOptions, createActuator } from '../../actuator/app.ts';
import { fingerprintOf } from '../../actuator/intake/fingerprint.ts';
import { type Ledger, openLedger } from '../../actuator/ledger/ledger.ts';
import type { HistoryLine } from '../../actuator/ledger/look.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { createLog } from '../../base/log.ts';
import type { Case } from '../../model/case.ts';
import { type Knob, type KnobName, knobKey } from '../../model/claim.ts';
import type { RuleSet } from '../../model/policy.ts';
import { loadRules } from '../../rules/language/load.ts';
import { Series } from './series.ts';

/** The name of the node in alerts. */
export const NODE = 'mi300x-07';

/** A policy of the kind that is in the documentation, with other limits, times and words where they are given. */
export function hotJunction(
  change: Partial<Record<'do' | 'when' | 'until' | 'times' | 'name' | 'alert', string>> = {},
) {
  const {
    name = 'hot-junction',
    alert = 'AmdGpuJunctionHot',
    when = 'when: { ">=": [{ var: gpu.temperature.junction }, 60] }',
    until = 'until: { "<": [{ var: gpu.temperature.junction }, 55] }',
    times = 'dwell: 1s, lease: 2m, cooldown: 1s',
  } = change;
  const optional = [when, until, ...times.split(', ')].filter((line) => line !== '').map((line) => `    ${line}\n`);
  return `  - name: ${name}
    mode: enforce
    on: [{ alert: ${alert} }]
    target: gpu
    do: [{ throttle: ${change.do ?? '{ power_cap: 70% }'} }]
    limits: { gpus: 8, percent: 100 }
${optional.join('')}`;
}

export const policies = (...texts: string[]): string => `version: 1\npolicies:\n${texts.join('')}`;

/** Throws where they are wrong; warnings are nobody's business here. */
export function rulesOf(...texts: string[]): RuleSet {
  const { rules, problems } = loadRules(texts.map((text, i) => ({ file: `rules-${i}.yaml`, text })));
  if (rules === undefined) throw new Error(JSON.stringify(problems, undefined, 1));
  return rules;
}

export interface AlertAbout {
  /** PCI address. */
  pci: string;
  name?: string;
  node?: string;
  status?: 'firing' | 'resolved';
  startsAt?: string;
}

/** One alert as it stands in a message of Alertmanager. */
export function alertOf(about: AlertAbout): Record<string, unknown> {
  const {
    pci,
    name = 'AmdGpuJunctionHot',
    node = NODE,
    status = 'firing',
    startsAt = '2026-03-05T20:58:37.482Z',
  } = about;
  const labels = { actuate: 'true', alertname: name, gpu: '0', node, pci_address: pci, severity: 'warning' };
  return {
    status,
    labels,
    annotations: { summary: 'The hottest spot of a GPU is over the threshold.' },
    startsAt,
    endsAt: status === 'firing' ? '0001-01-01T00:00:00Z' : new Date().toISOString(),
    generatorURL: 'http://prometheus.example.test:9090/graph?g0.expr=x&g0.tab=1',
    fingerprint: fingerprintOf(labels),
  };
}

/** A whole message, version 4. */
export function messageOf(...alerts: readonly Record<string, unknown>[]): string {
  const [first] = alerts;
  return JSON.stringify({
    receiver: 'nightshift',
    status: alerts.some(({ status }) => status === 'firing') ? 'firing' : 'resolved',
    alerts,
    groupLabels: { alertname: (first?.labels as Record<string, string>)?.alertname },
    commonLabels: first?.labels ?? {},
    commonAnnotations: {},
    externalURL: 'http://alertmanager.example.test:9093',
    version: '4',
    groupKey: '{}/{actuate="true"}:{alertname="AmdGpuJunctionHot"}',
    truncatedAlerts: 0,
  });
}

export interface Answered {
  status: number;
  body: string;
}

export async function post(url: string, body: string): Promise<Answered> {
  const response = await fetch(`${url}/v1/alerts`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body,
  });
  return { status: response.status, body: await response.text() };
}

/** Time that runs as it does, and of which the wall clock can be set. */
export interface SetClock extends Clock {
  /** Sets the wall clock on by so much, ms. */
  step(ms: number): void;
}

export function setClock(startAt?: number): SetClock {
  let offset = startAt === undefined ? 0 : startAt - systemClock.now();
  return {
    ...systemClock,
    now: () => systemClock.now() + offset,
    step(ms) {
      offset += ms;
    },
  };
}

export interface RunOptions extends Partial<Omit<ActuatorOptions, 'paths' | 'rules' | 'ledger'>> {
  rules: RuleSet;
  /** Kept in memory of this test alone where it is left out. */
  ledgerFile?: string;
}

export interface RunningActuator {
  actuator: Actuator;
  ledger: Ledger;
  url: string;
  /** Lines of the log, `info` and above. */
  logged: string[];
  /** As Alertmanager does: over loopback, without credentials. */
  tell(...alerts: AlertAbout[]): Promise<Answered>;
  get<T>(path: string): Promise<T>;
  metrics(): Promise<Series>;
  /** Open and closed, in the order in which they began. */
  cases(): Case[];
  /** Oldest first. */
  history(outcome?: HistoryLine['outcome']): HistoryLine[];
  row(on: string, knob?: KnobName): Knob | undefined;
  stop(): Promise<void>;
}

/** An actuator in this process, with real lanes, a real ledger and a real port; it ends with the test. */
export async function runActuator(tree: string, given: RunOptions): Promise<RunningActuator> {
  const { rules, ledgerFile = join(scratchFolder('ledger'), 'ledger.db'), clock = systemClock, ...changes } = given;
  const logged: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => void logged.push(line) } });
  const ledger = openLedger(ledgerFile, { now: () => clock.now(), waitMs: 5_000 });
  const actuator = createActuator({
    paths: { sysfs: join(tree, 'sys'), procfs: join(tree, 'proc') },
    clock,
    log,
    node: NODE,
    version: '0.0.0',
    revision: 'test',
    rules,
    ledger,
    enforce: true,
    protectedCards: new Set(),
    intervalMs: 200,
    // A file system in Python on a busy machine is slower than any card that is well.
    laneDeadlineMs: 2_000,
    acts: { acts: 60, perMs: 60_000 },
    failures: { failures: 5, perMs: 600_000 },
    ...changes,
  });
  const server = createServer(actuator.app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= (async () => {
      server.closeAllConnections();
      server.close();
      await actuator.stop();
    })();
    return stopped;
  };
  onTestFinished(({ task }) => {
    // What it did is the only trace of a failure that comes once in a hundred runs.
    if (task.result?.state === 'fail') console.error([...logged, ...told(ledger)].join('\n'));
    return stop();
  });
  await actuator.start();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    actuator,
    ledger,
    url,
    logged,
    tell: (...alerts) => post(url, messageOf(...alerts.map(alertOf))),
    get: async <T>(path: string) => (await (await fetch(`${url}${path}`)).json()) as T,
    metrics: async () => new Series(await (await fetch(`${url}/metrics`)).text()),
    cases: () => ledger.cases().reverse(),
    history: (outcome) => ledger.history({ limit: 10_000, ...(outcome && { outcome }) }).reverse(),
    row: (on, knob = 'power_cap') => actuator.book.knobs.get(knobKey(on, knob)),
    stop,
  };
}

function told(ledger: Ledger): string[] {
  const lines = ledger.history({ limit: 40 }).reverse();
  return lines.map(({ at, policy, outcome, reason, detail }) =>
    [new Date(at).toISOString(), policy, outcome, reason, JSON.stringify(detail)].join(' '),
  );
}

export function scratchFolder(name: string): string {
  const dir = mkdtempSync(join(tmpdir(), `nightshift-${name}-`));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Time at which an episode began, another one at each call, spelt as its key is: without a zero at the end. */
export const anotherStart = (): string =>
  `2026-03-05T20:58:37.${String(randomBytes(4).readUInt32LE() % 100_000_000).padStart(8, '0')}7Z`;
