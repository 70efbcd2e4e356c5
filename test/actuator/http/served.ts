import { type IncomingHttpHeaders, type RequestOptions, request } from 'node:http';
import express from 'express';
import { establishTrust, type TrustOptions } from '../../../actuator/http/auth.ts';
import { type Accepted, type WebhookOptions, webhook } from '../../../actuator/http/webhook.ts';
import type { AlertCounts } from '../../../actuator/intake/alertmanager.ts';
import { take } from '../../../actuator/intake/take.ts';
import { type FakeClock, fakeClock, systemClock } from '../../../base/clock.ts';
import { createWebServer, type WebServer } from '../../../base/http.ts';
import { createLog } from '../../../base/log.ts';
import type { OpenTrigger, Trigger } from '../../../model/trigger.ts';
import { NODE } from '../intake/messages.ts';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A webhook on a real server, in front of a book in memory. */
export class Served {
  readonly book = new Map<string, OpenTrigger>();
  readonly taken: Trigger[] = [];
  readonly statuses: number[] = [];
  readonly counts: AlertCounts[] = [];
  readonly lines: string[] = [];
  readonly clock: FakeClock = fakeClock();
  cut = 0;
  state: 'ready' | 'starting' | 'stopping' = 'ready';
  accepting: (triggers: readonly Trigger[]) => Accepted | Promise<Accepted> = () => 'queued';
  url = '';
  #server: WebServer | undefined;

  async start(
    listen = '127.0.0.1:0',
    trust: Omit<TrustOptions, 'log'> = {},
    change: Partial<WebhookOptions> = {},
    webConfigFile?: string,
  ): Promise<this> {
    const log = createLog({ level: 'debug', destination: { write: (line) => void this.lines.push(line) } });
    const app = express();
    app.use(establishTrust({ ...trust, log }));
    app.use(
      webhook({
        node: NODE,
        known: (key) => this.book.get(key),
        accept: async (triggers) => {
          const accepted = await this.accepting(triggers);
          if (accepted !== 'queued') return accepted;
          for (const one of triggers) this.book.set(one.key, take(one, this.book.get(one.key)));
          this.taken.push(...triggers);
          return accepted;
        },
        now: () => 5_000,
        ready: () => this.state,
        counters: {
          request: (status) => void this.statuses.push(status),
          alerts: (counts) => void this.counts.push(counts),
          truncated: (alerts) => {
            this.cut += alerts;
          },
        },
        clock: systemClock,
        log,
        ...change,
      }),
    );
    this.#server = createWebServer({ app, listen: [listen], log, webConfigFile });
    const [address] = await this.#server.start();
    this.url = address?.url ?? '';
    return this;
  }

  post(body: string | Buffer, options: RequestOptions = {}): Promise<Answer> {
    const headers = { 'Content-Type': 'application/json', ...(options.headers as Record<string, string>) };
    return exchange(`${this.url || 'http://unix'}/v1/alerts`, { method: 'POST', ...options, headers }, (out) =>
      out.end(body),
    );
  }

  async stop(): Promise<void> {
    await this.#server?.stop(0);
  }
}

export function exchange(
  url: string,
  options: RequestOptions,
  send: (out: ReturnType<typeof request>) => unknown,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const out = request(url, { agent: false, ...options }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk) => (body += chunk));
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body }));
      response.on('error', reject);
    });
    out.on('error', reject);
    send(out);
  });
}
