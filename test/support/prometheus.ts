import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Daemon, daemon, freePort } from './daemon.ts';
import { untilAnswers } from './until.ts';

export type Result = { metric: Record<string, string>; value: [number, string] }[];

export interface Prometheus {
  /** `host:port` */
  address: string;
  process: Daemon;
  /** What an expression is right now. */
  ask(query: string): Promise<Result>;
}

/** Runs Prometheus until the test ends, with its data beside its configuration; comes back when it is ready. */
export async function startPrometheus(config: string, port?: number): Promise<Prometheus> {
  const address = `127.0.0.1:${port ?? (await freePort())}`;
  const data = join(dirname(config), 'prometheus-data');
  mkdirSync(data, { recursive: true });
  const args = [`--config.file=${config}`, `--storage.tsdb.path=${data}`, `--web.listen-address=${address}`];
  const process = daemon([...args, '--log.level=warn'], ['prometheus']);
  await untilAnswers(`http://${address}/-/ready`, process);
  return {
    address,
    process,
    async ask(query) {
      const response = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`);
      if (!response.ok) throw new Error(`${query}: ${await response.text()}`);
      return ((await response.json()) as { data: { result: Result } }).data.result;
    },
  };
}
