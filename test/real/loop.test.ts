import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { ALERTMANAGER_PROGRAMS, writeMonitoring } from '../../cli/monitoring.ts';
import type { Case } from '../../model/case.ts';
import type { HistoryEntry } from '../../model/decision.ts';
import { startAlertmanager } from '../support/alertmanager.ts';
import { type Daemon, daemon, freePort, NIGHTSHIFT } from '../support/daemon.ts';
import { hasProgram } from '../support/programs.ts';
import { startPrometheus } from '../support/prometheus.ts';
import { Series } from '../support/series.ts';
import { skipUnless } from '../support/skips.ts';
import { until, untilAnswers } from '../support/until.ts';

/** Everything at work in a cool room: the card whose air is taken away gets hot, and no other. */
const SCENARIO = `description: All GPUs train at full load in a cool room.
duration: 24h
ambient: 20
load:
  - { gpus: all, curve: steady, busy: 1, memory: 0.5, vram: 0.5, job: { class: batch, owner: plain } }
`;
/** Seconds of the node's life in one of ours: silicon takes half a minute to warm and cool. */
const SPEED = 20;

const THRESHOLDS = `version: 1
thresholds:
  junction_hot: { value: 85°C, description: Hot. }
  memory_hot: { value: 120°C, description: Hotter than the memory gets here; what is tested is the junction. }
`;
const POLICY = `version: 1
policies:
  - name: hot-junction
    description: Caps a card while its junction is hot.
    mode: enforce
    on: [{ alert: AmdGpuJunctionHot }]
    target: gpu
    when: { ">=": [{ var: gpu.temperature.junction }, { var: threshold.junction_hot }] }
    do: [{ throttle: { power_cap: 70% } }]
    until: { "<": [{ var: gpu.temperature.junction }, 78°C] }
    dwell: 2s
    lease: 6m
    cooldown: 1m
    limits: { gpus: 8, percent: 100 }
`;
const [DEFAULT_W, CAPPED_W] = [750, 525];

let dir: string;
beforeEach(() => {
  skipUnless(hasProgram('prometheus'), 'prometheus is not installed');
  skipUnless(hasProgram(...ALERTMANAGER_PROGRAMS), 'alertmanager is not installed');
});

it('a card that gets hot is capped once, stays so while the exporter is dead, and is given back once when it is cool', async () => {
  dir = mkdtempSync(join(tmpdir(), 'nightshift-loop-'));
  // Told first, done last: when all programs have ended.
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const node = await startNode();
  const [exporter, actuator] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  let watching = await startExporter(exporter);
  await startActuator(actuator);
  const alertmanagerPort = await freePort();
  const alertmanager = `127.0.0.1:${alertmanagerPort}`;
  const files = writeMonitoring(join(dir, 'monitoring'), { node: 'loop', exporter, actuator, alertmanager });
  hurry(join(dir, 'monitoring'));
  const prometheus = await startPrometheus(files.prometheus);
  const alerting = await startAlertmanager(files.alertmanager as string, alertmanagerPort);
  const fires = async (name: string) =>
    (await prometheus.ask(`ALERTS{alertname="${name}",alertstate="firing"}`)).length > 0;
  const metrics = async () => new Series(await (await fetch(`http://${actuator}/metrics`)).text());
  const ask = async <T>(path: string) => (await (await fetch(`http://${actuator}${path}`)).json()) as T;
  const cases = async () => (await ask<{ cases: Case[] }>('/v1/cases?all=1')).cases;
  await until('both jobs are scraped, and their threshold is known', async () => {
    const known = await prometheus.ask(
      'node_threshold:nightshift_threshold_celsius:min{threshold="junction_hot"} == 85',
    );
    return known.length === 1 && (await prometheus.ask('up == 1')).length === 2;
  });
  expect(await cases()).toEqual([]);
  expect(await alerting.alerts()).toEqual([]);

  // Hot.
  await node.tell('block', '0', '0.35');
  const hotAt = await until('the junction is at the threshold', () => node.junction(0) >= 85 && performance.now());
  await until('the alert fires', () => fires('AmdGpuJunctionHot'));
  await until('the card is capped', () => node.caps(0).at(-1) === CAPPED_W);
  const reaction = performance.now() - hotAt;
  // Of scrape, evaluation, `for` and the way through Alertmanager, at a second each; the rest is for busy machines.
  expect(reaction).toBeLessThan(15_000);
  const [opened] = await until('the case is active', async () => {
    const all = await cases();
    return all[0]?.state === 'active' && all;
  });
  expect(opened).toMatchObject({ policy: 'hot-junction', mode: 'enforce', target: { kind: 'gpu', pci: node.pci(0) } });
  // It stays hot while it is told again and again.
  const heard = async (outcome: string) =>
    (await metrics()).value('nightshift_triggers_total', { source: 'alert', outcome }) ?? 0;
  const before = await heard('duplicates');
  await until('the alert was told again', async () => (await heard('duplicates')) >= before + 2);
  expect(node.junction(0)).toBeGreaterThan(85);

  // Blind outside: the exporter dies while the card is hot.
  watching = await killed(watching, exporter, async () => {
    await until('the alert is resolved', async () => !(await fires('AmdGpuJunctionHot')));
    await until('the actuator heard so', async () => (await heard('accepted')) === 2);
    await sleep(5_000);
    expect(node.junction(0)).toBeGreaterThan(85);
    expect(await cases()).toMatchObject([{ id: opened?.id, state: 'active' }]);
    expect(node.caps(0)).toEqual([DEFAULT_W, CAPPED_W]);
  });
  await until('the alert fires anew', () => fires('AmdGpuJunctionHot'));
  await until('the actuator heard so', async () => (await heard('accepted')) === 3);

  // Cool.
  await node.tell('block', '0', '1');
  await until('the card has its cap back', () => node.caps(0).at(-1) === DEFAULT_W);
  await until('the alert is over', async () => !(await fires('AmdGpuJunctionHot')));
  await until('the case is closed', async () => (await cases())[0]?.state === 'released');
  await sleep(2_000);
  expect(await cases()).toHaveLength(1);
  expect(node.caps(0)).toEqual([DEFAULT_W, CAPPED_W, DEFAULT_W]);
  expect(node.caps(1)).toEqual([DEFAULT_W]);
  const { history } = await ask<{ history: HistoryEntry[] }>(`/v1/history?case=${opened?.id}&limit=1000`);
  const count = (outcome: string) => history.filter((entry) => entry.outcome === outcome).length;
  expect({ acted: count('acted'), released: count('released') }).toEqual({ acted: 1, released: 1 });
  // The cap and its return.
  expect((await metrics()).value('nightshift_writes_total', { knob: 'power_cap' })).toBe(2);
}, 120_000);

/** Kills the exporter without a word, looks, and starts it again at the same address. */
async function killed(exporter: Daemon, address: string, meanwhile: () => Promise<void>): Promise<Daemon> {
  await exporter.stop('SIGKILL');
  await meanwhile();
  return startExporter(address);
}

interface LiveNode {
  tell(...event: string[]): Promise<void>;
  junction(gpu: number): number;
  /** Every cap in W that was seen on a card, in order; looked for ten times a second. */
  caps(gpu: number): number[];
  pci(gpu: number): string;
}

async function startNode(): Promise<LiveNode> {
  const root = join(dir, 'node');
  writeFileSync(join(dir, 'scenario.yaml'), SCENARIO);
  const args = ['--model=mi300x', '--cards=2', `--scenario=${join(dir, 'scenario.yaml')}`, `--speed=${SPEED}`];
  await daemon(['sim', 'start', root, ...args]).says('SIMULATED');
  const cards = ['card0', 'card8'].map((card) => join(root, 'sys/class/drm', card, 'device'));
  const hwmon = cards.map((card) => join(card, 'hwmon', readdirSync(join(card, 'hwmon'))[0] as string));
  const number = (gpu: number, file: string) => Number(readFileSync(join(hwmon[gpu] as string, file), 'utf8'));
  const seen: number[][] = [[], []];
  const timer = setInterval(() => {
    for (const [gpu, caps] of seen.entries()) {
      const watts = number(gpu, 'power1_cap') / 1e6;
      if (caps.at(-1) !== watts) caps.push(watts);
    }
  }, 100);
  onTestFinished(() => clearInterval(timer));
  return {
    async tell(...event) {
      await execa(process.execPath, [NIGHTSHIFT, 'sim', 'event', root, ...event]);
    },
    junction: (gpu) => number(gpu, 'temp2_input') / 1000,
    caps: (gpu) => seen[gpu] ?? [],
    pci: (gpu) => /PCI_SLOT_NAME=(.*)/.exec(readFileSync(join(cards[gpu] as string, 'uevent'), 'utf8'))?.[1] ?? '',
  };
}

const paths = () => [`--path.sysfs=${dir}/node/sys`, `--path.procfs=${dir}/node/proc`];

async function startExporter(address: string): Promise<Daemon> {
  const running = daemon(['exporter', ...paths(), `--web.listen-address=${address}`]);
  await untilAnswers(`http://${address}/-/ready`, running);
  return running;
}

async function startActuator(address: string): Promise<void> {
  const rules = join(dir, 'rules');
  mkdirSync(rules);
  writeFileSync(join(rules, 'thresholds.yaml'), THRESHOLDS);
  writeFileSync(join(rules, 'policy.yaml'), POLICY);
  const args = [`--rules=${rules}`, `--ledger=${dir}/ledger.db`, '--node.name=loop', `--web.listen-address=${address}`];
  await untilAnswers(`http://${address}/-/ready`, daemon(['actuator', ...paths(), ...args]));
}

/** The shipped files with shorter times, and nothing else. */
function hurry(monitoring: string): void {
  const times: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
    'nightshift.rules.yaml': [
      ['for: 10s', 'for: 2s'],
      ['keep_firing_for: 2m', 'keep_firing_for: 3s'],
    ],
    'alertmanager.yml': [
      ['group_interval: 30s', 'group_interval: 1s'],
      ['repeat_interval: 2m', 'repeat_interval: 2s'],
    ],
  };
  for (const [file, changes] of Object.entries(times)) {
    let text = readFileSync(join(monitoring, file), 'utf8');
    for (const [shipped, short] of changes) {
      expect(text).toContain(shipped);
      text = text.replaceAll(shipped, short);
    }
    writeFileSync(join(monitoring, file), text);
  }
}
