import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import bcrypt from 'bcryptjs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { authenticatedOnly, establishTrust, trustOf } from '../../../actuator/http/auth.ts';
import { type BearerTokens, openBearerTokens } from '../../../base/bearer.ts';
import { createLog } from '../../../base/log.ts';
import { bytesOf, rawAlert, rawMessage } from '../intake/messages.ts';
import { Served } from './served.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';
const good = bytesOf(rawMessage());
const unsaid = bytesOf(rawMessage([rawAlert({ labels: { alertname: 'A' } })]));
let folder: string;
let tokens: BearerTokens;
let served: Served;
const yes = (): boolean => true;
const no = (): boolean => false;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'auth-'));
  writeFileSync(join(folder, 'token'), `${TOKEN}\n`, { mode: 0o600 });
  tokens = openBearerTokens(join(folder, 'token'));
  writeFileSync(join(folder, 'web.yml'), `basic_auth_users:\n  am: ${bcrypt.hashSync('secret', 4)}\n`);
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => served.stop());

describe('a TCP peer on this machine', () => {
  it('is let in without token, with less trust', async () => {
    served = await new Served().start();
    expect((await served.post(unsaid)).status).toBe(202);
    expect(served.taken).toMatchObject([{ trusted: false }]);
  });

  it('gains nothing by a token where none is set', async () => {
    served = await new Served().start();
    await served.post(good, { headers: { Authorization: `Bearer ${TOKEN}` } });
    expect(served.taken).toMatchObject([{ trusted: false }]);
  });

  it.each([
    ['no token', undefined, 401],
    ['a wrong token', `Bearer ${TOKEN.replace('0', '1')}`, 401],
    ['basic credentials that nobody checked', `Basic ${Buffer.from('am:secret').toString('base64')}`, 401],
    ['the token', `Bearer ${TOKEN}`, 202],
  ])('with a token file and %s', async (_why, authorization, status) => {
    served = await new Served().start('127.0.0.1:0', { tokens });
    const answer = await served.post(good, authorization ? { headers: { Authorization: authorization } } : {});
    expect(answer.status).toBe(status);
    expect(served.lines.join('')).not.toContain(TOKEN.slice(1));
    if (status === 202) {
      expect(served.taken).toMatchObject([{ trusted: true }]);
      return;
    }
    expect(answer.body).toBe('');
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="nightshift"');
    expect(served.taken).toEqual([]);
  });

  it('is refused before its body is looked at', async () => {
    served = await new Served().start('127.0.0.1:0', { tokens });
    expect((await served.post('{')).status).toBe(401);
    expect((await served.post(Buffer.alloc(3 * 1024 * 1024))).status).toBe(401);
  });

  it('is proven by basic authentication of the web configuration', async () => {
    served = await new Served().start('127.0.0.1:0', {}, {}, join(folder, 'web.yml'));
    expect((await served.post(good)).status).toBe(401);
    const answer = await served.post(good, { auth: 'am:secret' });
    expect(answer.status).toBe(202);
    expect(served.taken).toMatchObject([{ trusted: true }]);
  });
});

it('a peer on a Unix socket is trusted, also where a token file is set', async () => {
  const socketPath = join(folder, 'a.sock');
  served = await new Served().start(`unix:${socketPath}`, { tokens });
  expect((await served.post(unsaid, { socketPath })).status).toBe(202);
  expect(served.taken).toMatchObject([{ trusted: true }]);
});

describe('a peer elsewhere', () => {
  const log = createLog({ destination: { write: () => undefined } });
  function ask(
    headers: Record<string, string>,
    options: Omit<Parameters<typeof establishTrust>[0], 'log'>,
    encrypted = false,
  ) {
    const socket = { remoteAddress: '192.0.2.7', ...(encrypted ? { encrypted } : {}) };
    const request = { headers, socket, url: '/v1/alerts' } as never;
    const seen: { status?: number; trust?: unknown; api?: number } = {};
    const response = (key: 'status' | 'api') => {
      const writeHead = (status: number) => {
        seen[key] = status;
      };
      return { writeHead, end: () => undefined } as never;
    };
    establishTrust({ ...options, log })(request, response('status'), () => {
      seen.trust = trustOf(request);
    });
    authenticatedOnly()(request, response('api'), () => {
      seen.api = 200;
    });
    return seen;
  }

  it.each([
    ['nothing is set', {}, {}, false, { status: 403, api: 403 }],
    ['no token', {}, { tokens: true }, false, { status: 401, api: 403 }],
    ['a wrong token', { authorization: 'Bearer nonsense' }, { tokens: true }, false, { status: 401, api: 403 }],
    ['the token', { authorization: `Bearer ${TOKEN}` }, { tokens: true }, false, { trust: 'authenticated', api: 200 }],
    [
      'a forwarding header, which is not believed',
      { 'x-forwarded-for': '127.0.0.1' },
      {},
      false,
      { status: 403, api: 403 },
    ],
    ['a verified certificate', {}, { clientCertificates: yes }, true, { trust: 'authenticated', api: 200 }],
    ['a plain connection beside certificates', {}, { clientCertificates: yes }, false, { status: 403, api: 403 }],
    [
      'a wrong token beside a verified certificate',
      { authorization: 'Bearer nonsense' },
      { tokens: true, clientCertificates: yes },
      true,
      { status: 401, api: 403 },
    ],
    ['TLS without certificates', {}, { clientCertificates: no }, true, { status: 403, api: 403 }],
  ])('%s', async (_why, headers, options, encrypted, seen) => {
    served = new Served();
    const set = { ...options, tokens: 'tokens' in options ? tokens : undefined };
    expect(ask(headers as Record<string, string>, set, encrypted)).toEqual(seen);
  });
});
