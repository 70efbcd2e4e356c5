import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWebServer, type WebServer } from '../../base/http.ts';
import { formatListenAddress } from '../../base/listen.ts';
import type { Log } from '../../base/log.ts';
import type { InferenceServer } from '../live/inference.ts';
import { type HttpTerms, inferenceApp } from './http.ts';
import { inferenceAddress, SERVED_FILE } from './place.ts';

/** Opens a port for each inference server, and says in a file of the node's folder which is whose. */

export interface Served {
  gpu: number;
  model: string;
  url: string;
}

export interface ServeTerms extends HttpTerms {
  servers: readonly InferenceServer[];
  /** `127.0.0.1:0`, or the first port of as many as there are servers. */
  listen: string;
  dir: string;
  log: Log;
}

export interface Serving {
  served: readonly Served[];
  stop(): Promise<void>;
}

/** All or none. Throws SIMULATION_LOOPBACK_ONLY or what a listener that cannot be opened throws. */
export async function serveInference({ servers, listen, dir, log, ...terms }: ServeTerms): Promise<Serving> {
  const first = inferenceAddress(listen);
  const open: WebServer[] = [];
  const file = join(dir, SERVED_FILE);
  const stop = async (): Promise<void> => {
    await Promise.all(open.map((web) => web.stop(0)));
    rmSync(file, { force: true });
  };
  const served: Served[] = [];
  try {
    for (const [index, server] of servers.entries()) {
      const address = formatListenAddress({ ...first, port: first.port === 0 ? 0 : first.port + index });
      const web = createWebServer({ app: inferenceApp(server, terms), listen: [address], log, clock: terms.clock });
      const [here] = await web.start();
      open.push(web);
      const { url = '' } = here ?? {};
      server.listensOn(new URL(url).port);
      served.push({ gpu: server.job.gpu, model: server.model, url });
    }
    writeFileSync(file, `${JSON.stringify(served, null, 2)}\n`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { served, stop };
}
