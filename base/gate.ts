import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type BasicAuth, basicAuth, CHALLENGE } from './auth.ts';
import type { Compare } from './bcrypt.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';
import { setUser } from './peer.ts';
import { tokenBucket } from './token-bucket.ts';
import type { WebConfig } from './webconfig.ts';

/** What the web configuration asks of every request before the app sees it. */
export interface Gate {
  use(config: WebConfig): void;
  guard(app: RequestListener): RequestListener;
}

export interface GateOptions {
  config: WebConfig;
  compare: Compare;
  clock: Clock;
  log: Log;
  /** Requests that have proved themselves in another way than by a password (a bearer token). */
  proven?: ((request: IncomingMessage) => boolean) | undefined;
}

export function createGate(options: GateOptions): Gate {
  const { clock, compare, log } = options;
  let config = options.config;
  let bucket = bucketOf(config);
  const auth: BasicAuth = basicAuth({ users: () => config.users, compare });

  function bucketOf({ rateLimit }: WebConfig) {
    return rateLimit && tokenBucket(clock, rateLimit.intervalMs, rateLimit.burst);
  }

  async function admit(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const answer = await auth.check(request.headers.authorization);
    if (response.destroyed || response.writableEnded) return false;
    if (answer.outcome === 'granted') {
      setUser(request, answer.user);
      return true;
    }
    if (answer.outcome === 'overloaded') {
      refuse(response, 503, 'Too many passwords are being checked', { 'Retry-After': '1' });
      return false;
    }
    log.debug({ peer: request.socket.remoteAddress, url: request.url }, 'request without valid credentials');
    refuse(response, 401, 'Unauthorized', { 'WWW-Authenticate': CHALLENGE });
    return false;
  }

  return {
    use(next) {
      const same = JSON.stringify(next.rateLimit) === JSON.stringify(config.rateLimit);
      config = next;
      if (!same) bucket = bucketOf(next);
    },
    guard: (app) => (request, response) => {
      for (const [name, value] of config.headers) response.setHeader(name, value);
      if (bucket && !bucket.take()) return refuse(response, 429, 'Too many requests', {});
      if (config.users.size === 0 || options.proven?.(request) === true) return app(request, response);
      admit(request, response)
        .then((admitted) => {
          if (admitted) app(request, response);
        })
        .catch((error: unknown) => {
          // Nobody waits any more, for example because the server stops.
          if (response.destroyed) return;
          log.error({ err: error }, 'a request failed');
          if (!response.headersSent) refuse(response, 500, 'Internal error', {});
          else response.destroy();
        });
    },
  };
}

function refuse(response: ServerResponse, status: number, body: string, headers: Record<string, string>): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...headers });
  response.end(`${body}\n`);
}
