import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BearerTokens } from '../../base/bearer.ts';
import { isLoopback, isUnixPeer, userOf } from '../../base/http.ts';
import type { Log } from '../../base/log.ts';

/** `authenticated`: proved who it is. `loopback`: any user of this machine. */
export type Trust = 'authenticated' | 'loopback';

export type Middleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

export interface TrustOptions {
  /** Of `--web.bearer-token-file`. With it, every request over TCP needs a token, a proven user or a certificate. */
  tokens?: BearerTokens | undefined;
  /** Whether TLS listeners let in only clients whose certificate was verified. */
  clientCertificates?: (() => boolean) | undefined;
  log: Log;
  /** Counts who is not let in. */
  refused?: (request: IncomingMessage & { originalUrl?: string }, status: 401 | 403) => void;
}

const trusts = new WeakMap<IncomingMessage, Trust>();

/** Undefined where `establishTrust` did not let it pass. */
export function trustOf(request: IncomingMessage): Trust | undefined {
  return trusts.get(request);
}

/**
 * Who may come in: a peer on a Unix socket (its folder's mode has judged), a bearer token, a user whom basic authentication
 * proved, a verified client certificate; and where no token file is set, anybody on this machine, with less trust.
 * All others get 401, or 403 where no credentials of any kind would help. Both are empty.
 */
export function establishTrust(options: TrustOptions): Middleware {
  return (request, response, next) => {
    const trust = judge(request, options);
    if (typeof trust === 'string') {
      trusts.set(request, trust);
      next();
      return;
    }
    options.refused?.(request, trust);
    options.log.debug({ peer: request.socket.remoteAddress, url: request.url, status: trust }, 'not let in');
    refuse(response, trust);
  };
}

/** For what may be asked only by somebody known: everything but alerts. */
export function authenticatedOnly(): Middleware {
  return (request, response, next) => {
    if (trustOf(request) === 'authenticated') next();
    else refuse(response, 403);
  };
}

function judge(request: IncomingMessage, { tokens, clientCertificates }: TrustOptions): Trust | 401 | 403 {
  if (isUnixPeer(request)) return 'authenticated';
  const bearer = tokens?.check(request.headers.authorization) ?? 'absent';
  if (bearer === 'denied') return 401;
  const verified = 'encrypted' in request.socket && clientCertificates?.() === true;
  if (bearer === 'granted' || userOf(request) !== undefined || verified) return 'authenticated';
  if (tokens !== undefined) return 401;
  return isLoopback(request) ? 'loopback' : 403;
}

function refuse(response: ServerResponse, status: 401 | 403): void {
  const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer realm="nightshift"' } : {};
  response.writeHead(status, { 'Content-Length': '0', ...challenge });
  response.end();
}
