import { existsSync, readFileSync } from 'node:fs';
import { request as overHttp, type RequestOptions } from 'node:http';
import { request as overHttps } from 'node:https';
import { openBearerTokens, parseBearerTokens } from '../../base/bearer.ts';
import { configurationError } from '../../base/errors.ts';
import { notOurs, refused, unreachable } from './errors.ts';
import type { TalkFlags } from './flags.ts';

/** Speaks with a running actuator. All calls can throw ACTUATOR_*. */
export interface Talk {
  /** As people would write it. */
  readonly where: string;
  /** `has`: a key that the answer of an actuator has. */
  get<T>(path: string, has: keyof T & string, query?: Query): Promise<T>;
  post<T>(path: string, has: keyof T & string, body: object): Promise<T>;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

const BY_DEFAULT = 'http://127.0.0.1:9511';
/** It answers at once, or reads its cards for a fraction of a second before. */
const ANSWER_MS = 15_000;

/** Throws FLAG_INVALID for an address that is none, BEARER_TOKEN_* for the token's file. */
export function talkTo(given: TalkFlags): Talk {
  const { where, options, secure } = placeOf(given);
  const token = tokenOf(given['web.bearer-token-file']);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };

  async function ask<T>(method: string, path: string, has: keyof T & string, body?: object): Promise<T> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const more =
      text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const answer = await exchange({ ...options, method, path, headers: { ...headers, ...more } }, secure, text).catch(
      (cause: unknown) => {
        throw unreachable(where, cause);
      },
    );
    const parsed = parse(answer.text);
    if (answer.status < 200 || answer.status > 299) throw refused(where, answer.status, parsed);
    if (typeof parsed !== 'object' || parsed === null || !(has in parsed))
      throw notOurs(where, 'it says something else');
    return parsed as T;
  }

  return {
    where,
    get: (path, has, query = {}) => ask('GET', `${path}${queryText(query)}`, has),
    post: (path, has, body) => ask('POST', path, has, body),
  };
}

interface Place {
  where: string;
  options: RequestOptions;
  secure: boolean;
}

function placeOf(given: TalkFlags): Place {
  const socket = `${given.ledger}.sock`;
  const url = given['actuator.url'] ?? (existsSync(socket) ? `unix:${socket}` : BY_DEFAULT);
  if (url.startsWith('unix:')) return { where: url, options: { socketPath: url.slice('unix:'.length) }, secure: false };
  let parsed: URL;
  try {
    parsed = new URL(url);
    if (!/^https?:$/.test(parsed.protocol)) throw new Error(parsed.protocol);
  } catch (cause) {
    const hint = 'Write it like http://127.0.0.1:9511 or unix:/var/lib/nightshift/ledger.db.sock.';
    throw configurationError('FLAG_INVALID', `--actuator.url=${url}: no such address`, hint, { cause });
  }
  const { hostname, port, protocol } = parsed;
  const secure = protocol === 'https:';
  // An IPv6 address stands in brackets in a URL, and without them where one connects.
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return { where: url.replace(/\/+$/, ''), options: { host, port: port || (secure ? 443 : 80) }, secure };
}

function tokenOf(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  // Says what is wrong with the file as the actuator would.
  openBearerTokens(file);
  return parseBearerTokens(readFileSync(file, 'utf8'), file)[0];
}

function queryText(query: Query): string {
  const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== false);
  const text = new URLSearchParams(known.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

function exchange(
  options: RequestOptions,
  secure: boolean,
  body: string | undefined,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const late = AbortSignal.timeout(ANSWER_MS);
    const call = (secure ? overHttps : overHttp)({ ...options, agent: false, signal: late }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', failed);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    function failed(error: Error): void {
      reject(late.aborted ? new Error(`no answer within ${ANSWER_MS / 1000} s`) : error);
    }
    call.on('error', failed);
    call.end(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
