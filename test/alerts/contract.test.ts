import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Gauge } from 'prom-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ActuatorMetrics, type MetricsOptions } from '../../actuator/metrics.ts';
import { readRules } from '../../actuator/rules-folder.ts';
import type { LoopLag } from '../../base/loop-lag.ts';
import type { RuleSet } from '../../model/policy.ts';
import { loadRules } from '../../rules/language/load.ts';
import { ALERTS, isAlert, type Selector, selectorsOf, shippedRules } from '../support/alert-rules.ts';
import { Series } from '../support/series.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const GOLDEN = `${REPOSITORY}test/fixtures/golden/`;
const rules = shippedRules();
const alerts = rules.filter(isAlert);
const recorded = rules.flatMap(({ record }) => record ?? []);

let goldens: Series[];
let shipped: RuleSet;
let actuator: ActuatorMetrics;
beforeAll(() => {
  goldens = readdirSync(GOLDEN).map((file) => new Series(readFileSync(GOLDEN + file, 'utf8')));
  const loaded = loadRules(readRules([`${REPOSITORY}rules`]).filter(({ file }) => !/\.test\.ya?ml$/.test(file)));
  expect(loaded.rules).toBeDefined();
  shipped = loaded.rules as RuleSet;
  // Of a running actuator nothing is asked for: only what it knows from the rules.
  const lag: LoopLag = { latest: () => undefined, stop: () => {} };
  actuator = new ActuatorMetrics({ version: '0', revision: '', lag } as MetricsOptions);
  actuator.know(shipped);
});

async function isExported({ name, equal }: Selector): Promise<boolean> {
  if (goldens.some((scrape) => scrape.all(name, equal).length > 0)) return true;
  const metric = actuator.registry.getSingleMetric(name) as Gauge | undefined;
  const { values } = (await metric?.get()) ?? { values: [] };
  return values.some(({ labels }) => Object.entries(equal).every(([label, value]) => labels[label] === value));
}

describe('metrics that the rules ask for', () => {
  it('are exported by us with those label values, recorded here, or Prometheus’ own', async () => {
    const jobs = scrapeJobs();
    let asked = 0;
    for (const { expr } of rules) {
      for (const selector of selectorsOf(expr)) {
        asked++;
        if (selector.name === 'up') expect(jobs).toContain(selector.equal.job ?? jobs[0]);
        else if (!recorded.includes(selector.name))
          expect(await isExported(selector), JSON.stringify(selector)).toBe(true);
      }
    }
    expect(asked).toBeGreaterThan(15);
  });

  it('are the same in summaries, descriptions and runbooks', async () => {
    const texts = [...alerts.map(({ annotations }) => annotations.description ?? ''), ...runbooks()];
    const names = texts.flatMap((text) => text.match(/\b(?:amdgpu|nightshift)_[a-z_]+\b(?!:)/g) ?? []);
    expect(names.length).toBeGreaterThan(10);
    for (const name of names.filter((one) => !recorded.some((record) => record.includes(one))))
      expect((await isExported({ name, equal: {} })) || actuator.registry.getSingleMetric(name), name).toBeTruthy();
  });

  it('have an identity with an address for each temperature, without which heat would not be told', () => {
    const hot = goldens.flatMap((scrape) =>
      scrape
        .all('amdgpu_temperature_celsius')
        .map(({ labels: { gpu } }) => scrape.all('amdgpu_info', { gpu: gpu as string })),
    );
    expect(hot.length).toBeGreaterThan(100);
    for (const info of hot) {
      expect(info).toHaveLength(1);
      expect(info[0]?.labels.pci_address).toMatch(/^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d$/);
    }
  });
});

describe('thresholds', () => {
  it('that alerts compare with are of rules/thresholds.yaml, in °C', () => {
    const compared = rules
      .flatMap(({ expr }) => selectorsOf(expr))
      .flatMap(({ name, equal }) => (name.includes('threshold') && equal.threshold ? [equal.threshold] : []));
    expect(compared.sort()).toEqual(['junction_hot', 'memory_hot']);
    for (const name of compared) expect(shipped.thresholds.get(name)?.unit).toBe('celsius');
  });

  it('are those that the missing of is told', () => {
    const { expr } = alerts.find(({ alert }) => alert === 'AmdGpuThresholdMissing') ?? { expr: '' };
    expect([...expr.matchAll(/"threshold", "(\w+)"/g)].map(([, name]) => name)).toEqual(['junction_hot', 'memory_hot']);
  });

  it('are no numbers in the rules', () => {
    for (const { alert, expr } of alerts) {
      // 0 and 1 are states.
      expect(
        [...expr.matchAll(/[=<>]=?\s*([\d.]+)/g)].filter(([, n]) => n !== '0' && n !== '1'),
        alert,
      ).toEqual([]);
    }
  });
});

describe('alerts and policies', () => {
  const namedBy = ({ policies }: RuleSet) =>
    policies.flatMap(({ name, on }) =>
      on.filter(({ source }) => source === 'alert').map((pattern) => ({ policy: name, ...pattern })),
    );

  it('of an alert for the actuator there is a policy that answers it', () => {
    const answered = namedBy(shipped).map(({ name }) => name);
    const forActuator = alerts.filter(({ labels }) => labels.actuate === 'true').map(({ alert }) => alert);
    expect(forActuator).not.toEqual([]);
    expect(forActuator.filter((name) => !answered.includes(name))).toEqual([]);
  });

  it('of a policy that waits for an alert there is that alert, and it reaches the actuator with the labels wanted', () => {
    const waited = namedBy(shipped);
    expect(waited).not.toEqual([]);
    for (const { policy, name, labels } of waited) {
      const alert = alerts.find((one) => one.alert === name);
      expect(alert?.labels, `${name} of ${policy}`).toMatchObject({ actuate: 'true', ...labels });
    }
  });
});

describe('an alert', () => {
  it.each(alerts.map((rule) => [rule.alert, rule] as const))(
    '%s is told whole',
    (name, { labels, annotations, ...rule }) => {
      expect(name).toMatch(/^(AmdGpu|Nightshift)([A-Z][a-z]+)+$/);
      expect(['critical', 'warning', 'info']).toContain(labels.severity);
      expect(rule.for).toMatch(/^\d+[sm]$/);
      // A value in a label would make a new alert of each change.
      expect(Object.values(labels).join()).not.toContain('{{');
      expect(annotations.summary).toMatch(/^[A-Z][^{]*\.$/);
      expect(annotations.description).toContain('$labels.node');
      // Ends with something to do.
      expect(annotations.description?.split(/[.;:] /).at(-1)).toMatch(/^(if|See|Drain|Start|Restart)\b.*\.$/);
    },
  );

  it('that needs a scrape outlives a gap of scrapes', () => {
    const fromScrapes = alerts.filter(({ expr }) => !/^up\b/.test(expr.trim()));
    expect(fromScrapes).toHaveLength(alerts.length - 2);
    for (const { alert, keep_firing_for } of fromScrapes) expect(keep_firing_for, alert).toBeDefined();
  });

  it('has a runbook with all its headings, and each runbook an alert', () => {
    for (const { alert, annotations } of alerts) {
      expect(annotations.runbook_url).toBe(`alerts/runbooks/${alert}.md`);
      const text = readFileSync(REPOSITORY + annotations.runbook_url, 'utf8');
      expect(text).toMatch(new RegExp(`^# ${alert}\n`));
      expect([...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)).toEqual([
        'Meaning',
        'Impact',
        'Diagnosis',
        'What the actuator does',
        'How to stop it',
        'Mitigation',
      ]);
    }
    expect(readdirSync(`${ALERTS}runbooks`).sort()).toEqual(alerts.map(({ alert }) => `${alert}.md`).sort());
  });

  it('stands in docs/alerts.md with its severity and its for', () => {
    const rows = [
      ...readFileSync(`${REPOSITORY}docs/alerts.md`, 'utf8').matchAll(
        /^\| `(\w+)` \| (\w+) \|.*?\| (\d+) (s|min) \| (.*) \|$/gm,
      ),
    ];
    expect(rows.map(([, name, severity, time, unit, whom]) => [name, severity, `${time}${unit?.[0]}`, whom])).toEqual(
      alerts.map(({ alert, labels, ...rule }) => [
        alert,
        labels.severity,
        rule.for,
        labels.actuate === 'true' ? 'people, actuator' : 'people',
      ]),
    );
  });

  it('names only policies that are shipped', () => {
    const named = runbooks().flatMap((text) =>
      [...text.matchAll(/rules\/policies\/[\w-]+\.yaml/g)].map(([path]) => path),
    );
    expect(named.length).toBeGreaterThan(1);
    for (const path of named) expect(existsSync(REPOSITORY + path), path).toBe(true);
  });
});

describe('the reader of expressions', () => {
  it('finds what is selected, and neither functions, labels nor strings', () => {
    const found = selectorsOf(
      'label_replace(max by (a, b) (x{l="1", m=~"y"} > time() - 5m), "z", "q{", "", "") or on (c) group_left (d) sum without (e) (r:s:t[5m]) and NaN',
    );
    expect(found).toEqual([
      { name: 'x', equal: { l: '1' } },
      { name: 'r:s:t', equal: {} },
    ]);
  });
});

const runbooks = (): string[] =>
  readdirSync(`${ALERTS}runbooks`).map((file) => readFileSync(`${ALERTS}runbooks/${file}`, 'utf8'));

function scrapeJobs(): string[] {
  const config = parse(readFileSync(`${ALERTS}prometheus.yml`, 'utf8')) as { scrape_configs: { job_name: string }[] };
  return config.scrape_configs.map(({ job_name }) => job_name);
}
