import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import { alertmanagerConfig, prometheusConfig, writeMonitoring } from '../../cli/monitoring.ts';
import { ALERTS } from '../support/alert-rules.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nightshift-monitoring-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const shipped = (file: string): string => readFileSync(ALERTS + file, 'utf8');
const ALL = { node: 'n', exporter: '127.0.0.1:1', actuator: '127.0.0.1:2', alertmanager: '127.0.0.1:3' };

it('the shipped list of nodes gives way to these addresses, and the jobs keep their names', () => {
  const { scrape_configs, alerting, rule_files } = parse(prometheusConfig(shipped('prometheus.yml'), ALL));
  expect(scrape_configs).toEqual([
    { job_name: 'nightshift-exporter', static_configs: [{ targets: ['127.0.0.1:1'], labels: { node: 'n' } }] },
    { job_name: 'nightshift-actuator', static_configs: [{ targets: ['127.0.0.1:2'], labels: { node: 'n' } }] },
  ]);
  expect(alerting.alertmanagers[0].static_configs[0].targets).toEqual(['127.0.0.1:3']);
  expect(rule_files).toEqual(parse(shipped('prometheus.yml')).rule_files);
});

it('what is not there is neither scraped nor told', () => {
  const { scrape_configs, alerting } = parse(
    prometheusConfig(shipped('prometheus.yml'), { node: 'n', exporter: '127.0.0.1:1' }),
  );
  expect(scrape_configs).toHaveLength(1);
  expect(alerting).toEqual({});
  expect(writeMonitoring(dir, { node: 'n', exporter: '127.0.0.1:1' })).toEqual({
    prometheus: join(dir, 'prometheus.yml'),
  });
  expect(readdirSync(dir).sort()).toEqual(['nightshift.rules.yaml', 'prometheus.yml']);
});

it('of Alertmanager only the address of the actuator is another one', () => {
  const before = parse(shipped('alertmanager.yml'));
  const after = parse(alertmanagerConfig(shipped('alertmanager.yml'), '127.0.0.1:2'));
  const [hook] = after.receivers.flatMap((receiver: { webhook_configs?: unknown[] }) => receiver.webhook_configs ?? []);
  expect(hook.url).toBe('http://127.0.0.1:2/v1/alerts');
  hook.url = 'http://127.0.0.1:9511/v1/alerts';
  expect(after).toEqual(before);
});

it('the rules are written as they are shipped', () => {
  expect(writeMonitoring(dir, ALL)).toEqual({
    prometheus: join(dir, 'prometheus.yml'),
    alertmanager: join(dir, 'alertmanager.yml'),
  });
  expect(readFileSync(join(dir, 'nightshift.rules.yaml'), 'utf8')).toBe(shipped('nightshift.rules.yaml'));
});

it('the shipped configuration labels both jobs of a node alike, and scrapes our ports', () => {
  const { scrape_configs } = parse(shipped('prometheus.yml'));
  expect(scrape_configs).toHaveLength(2);
  expect(scrape_configs[0].static_configs).toEqual(scrape_configs[1].static_configs);
  const [first, second] = scrape_configs.map(({ relabel_configs }: { relabel_configs: object[] }) => relabel_configs);
  const node = { source_labels: ['__address__'], target_label: 'node' };
  const port = (to: number) => ({
    source_labels: ['__address__'],
    target_label: '__address__',
    replacement: `$1:${to}`,
  });
  expect([first, second]).toEqual([
    [node, port(9510)],
    [node, port(9511)],
  ]);
});
