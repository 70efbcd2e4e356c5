import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ALERTMANAGER_PROGRAMS } from '../../cli/monitoring.ts';
import { type Daemon, daemon, freePort } from './daemon.ts';
import { programOf } from './programs.ts';
import { untilAnswers } from './until.ts';

export interface Alertmanager {
  /** `host:port` */
  address: string;
  process: Daemon;
  /** Labels of the alerts that fire now. */
  alerts(): Promise<Record<string, string>[]>;
}

/** Runs Alertmanager alone (no cluster) until the test ends; comes back when it is ready. */
export async function startAlertmanager(config: string, port?: number): Promise<Alertmanager> {
  const address = `127.0.0.1:${port ?? (await freePort())}`;
  const data = join(dirname(config), 'alertmanager-data');
  mkdirSync(data, { recursive: true });
  const args = [`--config.file=${config}`, `--storage.path=${data}`, `--web.listen-address=${address}`];
  const program = programOf(...ALERTMANAGER_PROGRAMS) ?? ALERTMANAGER_PROGRAMS[0];
  const process = daemon([...args, '--cluster.listen-address=', '--log.level=warn'], [program]);
  await untilAnswers(`http://${address}/-/ready`, process);
  return {
    address,
    process,
    async alerts() {
      const response = await fetch(`http://${address}/api/v2/alerts`);
      return ((await response.json()) as { labels: Record<string, string> }[]).map(({ labels }) => labels);
    },
  };
}
