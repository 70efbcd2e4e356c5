import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';

/** Where the shipped files lie, seen from the sources and from dist/. */
const PLACES = ['../alerts/', '../../alerts/'].map((place) => fileURLToPath(new URL(place, import.meta.url)));
const RULES = 'nightshift.rules.yaml';

/** Addresses of one node's programs, `host:port` each. What is left out is neither scraped nor told. */
export interface Monitored {
  /** Label `node` of all that is scraped: the `--node.name` of both programs. */
  node: string;
  exporter: string;
  actuator?: string;
  alertmanager?: string;
}

/** Names of the programs, Debian's after those of the projects. */
export const ALERTMANAGER_PROGRAMS = ['alertmanager', 'prometheus-alertmanager'] as const;

export interface MonitoringFiles {
  prometheus: string;
  /** Only where there is an actuator that it could tell. */
  alertmanager?: string;
}

/**
 * Writes the shipped configuration into a folder, with these addresses in place of those of a site, and the rules beside it.
 * Scrapes and evaluations are each second: the demo's time is short. Returns the paths for `--config.file`.
 */
export function writeMonitoring(dir: string, monitored: Monitored): MonitoringFiles {
  mkdirSync(dir, { recursive: true });
  const from = shipped();
  const prometheus = join(dir, 'prometheus.yml');
  writeFileSync(prometheus, prometheusConfig(readFileSync(join(from, 'prometheus.yml'), 'utf8'), monitored));
  copyFileSync(join(from, RULES), join(dir, RULES));
  if (monitored.actuator === undefined) return { prometheus };
  const alertmanager = join(dir, 'alertmanager.yml');
  const text = readFileSync(join(from, 'alertmanager.yml'), 'utf8');
  writeFileSync(alertmanager, alertmanagerConfig(text, monitored.actuator));
  return { prometheus, alertmanager };
}

function shipped(): string {
  return PLACES.find((place) => existsSync(join(place, RULES))) ?? (PLACES[0] as string);
}

type Fields = Record<string, unknown>;

/** The shipped prometheus.yml for one node whose programs listen at any address: jobs keep their names, which rules go by. */
export function prometheusConfig(text: string, { node, exporter, actuator, alertmanager }: Monitored): string {
  const config = parse(text) as Fields & { scrape_configs: ({ job_name: string } & Fields)[] };
  const targets: Readonly<Record<string, string | undefined>> = {
    'nightshift-exporter': exporter,
    'nightshift-actuator': actuator,
  };
  return stringify({
    ...config,
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    alerting: alertmanager === undefined ? {} : { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
    scrape_configs: config.scrape_configs.flatMap(({ relabel_configs, static_configs, ...job }) => {
      const target = targets[job.job_name];
      return target === undefined ? [] : [{ ...job, static_configs: [{ targets: [target], labels: { node } }] }];
    }),
  });
}

/** The shipped alertmanager.yml that tells the actuator at this address, over plain HTTP. */
export function alertmanagerConfig(text: string, actuator: string): string {
  const config = parse(text) as Fields & { receivers: ({ name: string; webhook_configs?: Fields[] } & Fields)[] };
  const receivers = config.receivers.map((receiver) => ({
    ...receiver,
    ...(receiver.webhook_configs && {
      webhook_configs: receiver.webhook_configs.map((hook) => ({ ...hook, url: `http://${actuator}/v1/alerts` })),
    }),
  }));
  return stringify({ ...config, receivers });
}
