import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hashSync } from 'bcryptjs';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { describeNode, writeTree } from '../../sim/tree.ts';
import { selfSigned } from '../base/certificates.ts';
import { daemon, freePort } from '../support/daemon.ts';
import { scratch } from '../support/faulty-node.ts';
import { skipUnless } from '../support/skips.ts';

let dir: string;
beforeAll(() => {
  dir = scratch('prometheus');
  writeTree(join(dir, 'node'), describeNode({ model: 'mi300x', cards: 8 }));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));
beforeEach(() => skipUnless(hasPrometheus(), 'prometheus is not installed'));

function hasPrometheus(): boolean {
  try {
    execFileSync('prometheus', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

type Result = { metric: Record<string, string>; value: [number, string] }[];

/** Runs Prometheus with one target scraped once a second; asks it until there is an answer. */
async function prometheus(name: string, target: string, more: string): Promise<(query: string) => Promise<Result>> {
  const home = join(dir, name);
  mkdirSync(home);
  const port = await freePort();
  writeFileSync(
    join(home, 'prometheus.yml'),
    `scrape_configs:
  - job_name: nightshift
    scrape_interval: 1s
    scrape_timeout: 900ms
    static_configs: [{targets: ['${target}']}]
${more}`,
  );
  const args = [`--config.file=${home}/prometheus.yml`, `--storage.tsdb.path=${home}/data`];
  daemon([...args, `--web.listen-address=127.0.0.1:${port}`, '--log.level=warn'], ['prometheus']);
  return async (query) => {
    const end = performance.now() + 20_000;
    while (performance.now() < end) {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`).catch(
        () => undefined,
      );
      if (response?.ok === true) {
        const { data } = (await response.json()) as { data: { result: Result } };
        if (data.result.length > 0) return data.result;
      }
      await sleep(250);
    }
    return [];
  };
}

async function exporter(more: readonly string[]): Promise<number> {
  const port = await freePort();
  const paths = [`--path.sysfs=${dir}/node/sys`, `--web.listen-address=127.0.0.1:${port}`];
  await daemon(['exporter', ...paths, ...more]).says('msg=ready');
  return port;
}

it('is scraped by Prometheus every second, without a sample refused', async () => {
  const target = `127.0.0.1:${await exporter([])}`;
  const ask = await prometheus('plain', target, '');
  expect(await ask('count_over_time(up[1m]) >= 3')).not.toEqual([]);
  expect((await ask('min_over_time(up[1m])'))[0]?.value[1]).toBe('1');
  const power = await ask('amdgpu_power_watts');
  expect(power.map(({ metric }) => Number(metric.gpu)).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  for (const { value } of power) expect(Number(value[1])).toBeGreaterThan(50);
  const scraped = Number((await ask('scrape_samples_scraped'))[0]?.value[1]);
  expect(scraped).toBeGreaterThan(1000);
  expect(Number((await ask('scrape_samples_post_metric_relabeling'))[0]?.value[1])).toBe(scraped);
});

it('is scraped over TLS with a password', async () => {
  const { cert, key } = await selfSigned(dir, 'localhost');
  const web = `tls_server_config: {cert_file: ${cert}, key_file: ${key}}
basic_auth_users: {prometheus: '${hashSync('secret', 4)}'}
`;
  writeFileSync(join(dir, 'web.yml'), web);
  const port = await exporter([`--web.config.file=${dir}/web.yml`]);
  const more = `    scheme: https
    tls_config: {ca_file: ${cert}, server_name: localhost}
    basic_auth: {username: prometheus, password: secret}
`;
  const ask = await prometheus('tls', `127.0.0.1:${port}`, more);
  expect(await ask('up == 1')).toHaveLength(1);
  expect(await ask('amdgpu_power_watts')).toHaveLength(8);
});
