import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
} from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import bcrypt from 'bcryptjs';
import express from 'express';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { describe as describeError, exitCode } from '../../base/errors.ts';
import {
  createWebServer,
  isLoopback,
  isUnixPeer,
  userOf,
  type WebServer,
  type WebServerOptions,
} from '../../base/http.ts';
import { createLog } from '../../base/log.ts';
import { type Pair, selfSigned, signedBy } from './certificates.ts';

let folder: string;
let file: string;
let server1: Pair;
let server2: Pair;
let authority: Pair;
let client: Pair;
let stranger: Pair;
const running: WebServer[] = [];
let lines: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'http-'));
  file = join(folder, 'web.yml');
  [server1, server2, authority, stranger] = (await Promise.all(
    ['server1', 'server2', 'authority', 'stranger'].map((name) => selfSigned(folder, name)),
  )) as [Pair, Pair, Pair, Pair];
  client = await signedBy(authority, folder, 'client', 'prometheus');
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop(0)));
  lines = [];
});

const log = createLog({ level: 'debug', destination: { write: (line) => void lines.push(line) } });

function make(options: Partial<WebServerOptions> = {}): WebServer {
  const app: RequestListener = (request, response) => {
    response.end(JSON.stringify({ loopback: isLoopback(request), unix: isUnixPeer(request), user: userOf(request) }));
  };
  const server = createWebServer({ app, listen: ['127.0.0.1:0'], log, ...options });
  running.push(server);
  return server;
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  commonName?: string | string[] | undefined;
  protocol?: string | null | undefined;
}

function get(url: string, options: RequestOptions & { socketPath?: string } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https') ? httpsRequest : httpRequest;
    const call = send(url, { agent: false, ...options }, (response) => {
      const socket = response.socket as TLSSocket;
      const commonName = socket.getPeerCertificate?.().subject?.CN;
      const protocol = socket.getProtocol?.();
      let body = '';
      response.setEncoding('utf8').on('data', (chunk) => (body += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body, commonName, protocol }),
      );
      response.on('error', reject);
    });
    call.on('error', reject);
    call.end();
  });
}

const portOf = (server: WebServer) => Number(new URL(server.addresses[0]!.url).port);

async function caught(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

function dial(port: number, text: string): Promise<{ socket: Socket; closed: Promise<string> }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let got = '';
    const closed = new Promise<string>((done) => {
      socket.on('data', (chunk) => (got += chunk.toString()));
      socket.on('close', () => done(got));
    });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.on('error', () => undefined);
      if (text) socket.write(text);
      resolve({ socket, closed });
    });
  });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('addresses', () => {
  it('serves an Express app on several addresses at once, and knows its peers', async () => {
    const path = join(folder, 'several.sock');
    const app = express();
    app.get('/who', (request, response) => {
      response.json({ loopback: isLoopback(request), unix: isUnixPeer(request) });
    });
    const server = make({ app, listen: ['127.0.0.1:0', '[::1]:0', `unix:${path}`] });
    const addresses = await server.start();
    expect(addresses.map(({ url }) => url)).toEqual([
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      expect.stringMatching(/^http:\/\/\[::1\]:\d+$/),
      '',
    ]);
    for (const { url } of addresses.slice(0, 2)) {
      expect(JSON.parse((await get(`${url}/who`)).body)).toEqual({ loopback: true, unix: false });
    }
    const answer = await get('http://localhost/who', { socketPath: path });
    expect(JSON.parse(answer.body)).toEqual({ loopback: false, unix: true });
    await server.stop(0);
    expect(existsSync(path)).toBe(false);
  });

  it('listens on every interface where no host is given', async () => {
    const server = make({ listen: [':0'] });
    const [address] = await server.start();
    expect(address?.url).toMatch(/^http:\/\/localhost:/);
    expect((await get(`http://127.0.0.1:${portOf(server)}`)).status).toBe(200);
  });

  it('tells a port in use, whose fault it is and how to find the other program', async () => {
    const first = make();
    await first.start();
    const port = portOf(first);
    const second = make({ listen: ['127.0.0.1:0', `127.0.0.1:${port}`] });
    const error = await caught(second.start());
    expect(error).toMatchObject({ code: 'LISTEN_IN_USE', fault: 'environment' });
    expect(exitCode(error)).toBe(1);
    expect(describeError(error)).toBe(
      `LISTEN_IN_USE: cannot listen on 127.0.0.1:${port}: another program already listens there. ` +
        `Find it with: ss -ltnp 'sport = :${port}', or choose another address with --web.listen-address.`,
    );
    expect(second.addresses).toEqual([]);
  });

  it('refuses to be made without an address or with one that is none', () => {
    expect(() => make({ listen: [] })).toThrow(expect.objectContaining({ code: 'LISTEN_ADDRESS_INVALID' }));
    expect(() => make({ listen: ['nonsense'] })).toThrow(expect.objectContaining({ code: 'LISTEN_ADDRESS_INVALID' }));
  });
});

describe('Unix sockets', () => {
  it.each([undefined, 0o600])('have the mode that was asked for (%s)', async (mode) => {
    const path = join(folder, 'mode.sock');
    const server = make({ listen: [`unix:${path}`], ...(mode === undefined ? {} : { socketMode: mode }) });
    await server.start();
    expect(statSync(path).mode & 0o777).toBe(mode ?? 0o660);
  });

  it('replace a file that nobody serves any more', async () => {
    const path = join(folder, 'stale.sock');
    const { execa } = await import('execa');
    const program = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
    await execa(process.execPath, ['-e', program], { reject: false });
    expect(existsSync(path)).toBe(true);
    await make({ listen: [`unix:${path}`] }).start();
    expect((await get('http://x/', { socketPath: path })).status).toBe(200);
  });

  it('leave a living server and a file that is no socket alone', async () => {
    const path = join(folder, 'living.sock');
    await make({ listen: [`unix:${path}`] }).start();
    const error = await caught(make({ listen: [`unix:${path}`] }).start());
    expect(error).toMatchObject({ code: 'LISTEN_IN_USE', fault: 'environment' });
    expect((await get('http://x/', { socketPath: path })).status).toBe(200);

    const plain = join(folder, 'plain');
    writeFileSync(plain, 'precious');
    expect(await caught(make({ listen: [`unix:${plain}`] }).start())).toMatchObject({ code: 'LISTEN_FAILED' });
    expect(readFileSync(plain, 'utf8')).toBe('precious');
  });

  it('in a folder that does not exist are refused with what to do', async () => {
    const error = await caught(make({ listen: ['unix:/nonexistent/a.sock'] }).start());
    expect(describeError(error)).toMatch(/^LISTEN_FAILED: .*the folder does not exist\. Create it first\.$/);
  });
});

describe('TLS', () => {
  const tls = (more = '') =>
    writeFileSync(file, `tls_server_config:\n  cert_file: live.crt\n  key_file: live.key\n${more}`);
  const use = (pair: Pair) => {
    copyFileSync(pair.cert, join(folder, 'live.crt'));
    copyFileSync(pair.key, join(folder, 'live.key'));
  };
  const trust = (...pairs: Pair[]) => ({ ca: pairs.map(({ cert }) => readFileSync(cert)) });
  const show = ({ cert, key }: Pair) => ({ cert: readFileSync(cert), key: readFileSync(key) });

  it('shakes hands with the configured certificate and follows a new one on reload', async () => {
    use(server1);
    tls();
    const server = make({ webConfigFile: file });
    const [address] = await server.start();
    expect(address?.url).toMatch(/^https:/);
    expect(await get(address!.url, trust(server1))).toMatchObject({
      status: 200,
      commonName: 'server1',
      protocol: 'TLSv1.3',
    });
    expect(await caught(get(address!.url, trust(server2)))).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    use(server2);
    await server.reload();
    expect(await get(address!.url, trust(server2))).toMatchObject({ status: 200, commonName: 'server2' });
  });

  it('keeps the last good certificate where the new one is bad, and says so', async () => {
    use(server1);
    tls();
    const server = make({ webConfigFile: file });
    const [address] = await server.start();
    copyFileSync(server2.cert, join(folder, 'live.crt'));
    expect(await caught(server.reload())).toMatchObject({ code: 'WEB_CONFIG_INVALID' });
    expect(await get(address!.url, trust(server1))).toMatchObject({ commonName: 'server1' });
  });

  it('follows changed files by itself', async () => {
    use(server1);
    tls();
    const server = make({ webConfigFile: file, watchMs: 10 });
    const [address] = await server.start();
    use(server2);
    await expect
      .poll(async () => (await get(address!.url, trust(server1, server2))).commonName, { timeout: 4_000 })
      .toBe('server2');
    writeFileSync(file, 'nonsense: 1\n');
    await expect
      .poll(() => lines.filter((line) => line.includes('WEB_CONFIG_INVALID')).length, { timeout: 4_000 })
      .toBe(1);
    expect((await get(address!.url, trust(server2))).status).toBe(200);
  });

  it('speaks only the versions that are allowed', async () => {
    use(server1);
    tls('  max_version: TLS12\n');
    const server = make({ webConfigFile: file });
    const [address] = await server.start();
    expect((await get(address!.url, trust(server1))).protocol).toBe('TLSv1.2');
    expect(await caught(get(address!.url, { ...trust(server1), minVersion: 'TLSv1.3' }))).toBeInstanceOf(Error);
  });

  it('admits only clients with a certificate of its authority and an allowed name', async () => {
    use(server1);
    const policy = '  client_ca_file: authority.crt\n  client_auth_type: RequireAndVerifyClientCert\n';
    tls(policy);
    const server = make({ webConfigFile: file });
    const [address] = await server.start();
    const url = address!.url;
    expect((await get(url, { ...trust(server1), ...show(client) })).status).toBe(200);
    expect(await caught(get(url, trust(server1)))).toBeInstanceOf(Error);
    expect(await caught(get(url, { ...trust(server1), ...show(stranger) }))).toBeInstanceOf(Error);
    tls(`${policy}  client_allowed_sans: [grafana]\n`);
    await server.reload();
    expect(await caught(get(url, { ...trust(server1), ...show(client) }))).toBeInstanceOf(Error);
    tls(`${policy}  client_allowed_sans: [grafana, prometheus]\n`);
    await server.reload();
    expect((await get(url, { ...trust(server1), ...show(client) })).status).toBe(200);
  });

  it('runs no request of a client that is turned away', async () => {
    use(server1);
    tls('  client_ca_file: authority.crt\n  client_auth_type: RequireAndVerifyClientCert\n');
    let reached = 0;
    const server = make({
      webConfigFile: file,
      app: (_, response) => {
        reached += 1;
        response.end();
      },
    });
    const [address] = await server.start();
    for (let i = 0; i < 5; i++) await caught(get(address!.url, { ...trust(server1), ...show(stranger) }));
    expect(reached).toBe(0);
  });

  it('ends connections that are in their handshake when it stops', async () => {
    use(server1);
    tls();
    const server = make({ webConfigFile: file });
    await server.start();
    const { closed } = await dial(portOf(server), '');
    const begin = performance.now();
    await server.stop(5_000);
    await closed;
    expect(performance.now() - begin).toBeLessThan(1_000);
  });
});

describe('basic authentication', () => {
  const hash = bcrypt.hashSync('secret', 4);
  const users = (entries: string) => writeFileSync(file, `basic_auth_users:\n${entries}`);

  it('asks, grants, denies, and leaves Unix sockets to their mode', async () => {
    users(`  ann: ${hash}\n`);
    const path = join(folder, 'auth.sock');
    let compared = 0;
    const compare = (password: string, stored: string) => {
      compared += 1;
      return bcrypt.compare(password, stored);
    };
    const server = make({ webConfigFile: file, compare, listen: ['127.0.0.1:0', `unix:${path}`] });
    const [address] = await server.start();
    const ask = (auth?: string) => get(address!.url, auth === undefined ? {} : { auth });
    const nobody = await ask();
    expect(nobody).toMatchObject({ status: 401, body: 'Unauthorized\n' });
    expect(nobody.headers['www-authenticate']).toMatch(/^Basic realm=/);
    expect(compared).toBe(0);
    expect((await ask('ann:wrong')).status).toBe(401);
    expect((await ask('bob:secret')).status).toBe(401);
    expect(compared).toBe(2);
    for (let i = 0; i < 3; i++) expect(JSON.parse((await ask('ann:secret')).body)).toMatchObject({ user: 'ann' });
    expect(compared).toBe(3);
    expect((await get('http://x/', { socketPath: path })).status).toBe(200);
    expect(lines.join('')).not.toContain('secret');
  });

  it('asks nothing of a request that is proven in another way', async () => {
    users(`  ann: ${hash}\n`);
    const proven = (request: IncomingMessage) => request.headers.authorization === 'Bearer t';
    const server = make({ webConfigFile: file, compare: bcrypt.compare, proven });
    const [address] = await server.start();
    expect((await get(address!.url, { headers: { authorization: 'Bearer t' } })).status).toBe(200);
    expect((await get(address!.url, { headers: { authorization: 'Bearer u' } })).status).toBe(401);
  });

  it('works with bcrypt in its own thread and follows a reload', async () => {
    users(`  ann: ${hash}\n`);
    const server = make({ webConfigFile: file });
    const [address] = await server.start();
    expect((await get(address!.url, { auth: 'ann:secret' })).status).toBe(200);
    users(`  ann: ${bcrypt.hashSync('new', 4)}\n`);
    await server.reload();
    expect((await get(address!.url, { auth: 'ann:secret' })).status).toBe(401);
    expect((await get(address!.url, { auth: 'ann:new' })).status).toBe(200);
  });

  it('answers 500 and goes on where the comparison fails', async () => {
    users(`  ann: ${hash}\n`);
    const server = make({ webConfigFile: file, compare: () => Promise.reject(new Error('no thread')) });
    const [address] = await server.start();
    expect((await get(address!.url, { auth: 'ann:secret' })).status).toBe(500);
    expect((await get(address!.url)).status).toBe(401);
  });
});

describe('other parts of the web configuration', () => {
  it('sets the configured headers on every answer, also on refusals', async () => {
    writeFileSync(
      file,
      `http_server_config:\n  headers:\n    X-Frame-Options: deny\nrate_limit: { interval: 1h, burst: 1 }\n`,
    );
    const server = make({ webConfigFile: file });
    const [address] = await server.start();
    const first = await get(address!.url);
    const second = await get(address!.url);
    expect([first.status, second.status]).toEqual([200, 429]);
    expect([first.headers['x-frame-options'], second.headers['x-frame-options']]).toEqual(['deny', 'deny']);
  });

  it('makes a bad file fail the start with all its places', async () => {
    writeFileSync(file, 'a: 1\nb: 2\n');
    const error = await caught(make({ webConfigFile: file }).start());
    expect(exitCode(error)).toBe(2);
    expect(describeError(error)).toMatch(/web\.yml:1:1: unknown key "a".*web\.yml:2:1: unknown key "b"/);
  });
});

describe('stop', () => {
  it('closes idle connections at once and refuses new ones', async () => {
    const server = make();
    await server.start();
    const port = portOf(server);
    const fresh = await dial(port, '');
    const kept = await dial(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await pause(50);
    const begin = performance.now();
    await server.stop(5_000);
    expect(performance.now() - begin).toBeLessThan(500);
    expect(await fresh.closed).toBe('');
    expect(await kept.closed).toContain('200 OK');
    expect(await caught(dial(port, ''))).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('lets a busy request finish within the grace and then closes its connection', async () => {
    const app: RequestListener = (_, response) => void setTimeout(() => response.end('done'), 200);
    const server = make({ app });
    await server.start();
    const busy = await dial(portOf(server), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await pause(50);
    const begin = performance.now();
    await server.stop(5_000);
    expect(performance.now() - begin).toBeLessThan(1_500);
    const answer = await busy.closed;
    expect(answer).toContain('done');
    expect(answer).toMatch(/connection: close/i);
  });

  it('closes the connection of an answer that had already begun as soon as it ends', async () => {
    const app: RequestListener = (_, response) => {
      response.write('begun');
      setTimeout(() => response.end('done'), 200);
    };
    const server = make({ app });
    await server.start();
    const busy = await dial(portOf(server), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await pause(50);
    const begin = performance.now();
    await server.stop(3_000);
    expect(performance.now() - begin).toBeLessThan(1_500);
    expect(await busy.closed).toContain('done');
  });

  it('cuts a client that hangs when the grace is over', async () => {
    const server = make({ app: (_, response) => void response.write('begun') });
    await server.start();
    const hanging = await dial(portOf(server), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await pause(50);
    const begin = performance.now();
    await server.stop(200);
    const took = performance.now() - begin;
    await hanging.closed;
    expect(took).toBeGreaterThanOrEqual(190);
    expect(took).toBeLessThan(1_000);
  });

  it('is free to be called twice, and before the start', async () => {
    const server = make();
    await server.stop(10);
    await server.start();
    await Promise.all([server.stop(10), server.stop(10)]);
    expect(server.addresses).toEqual([]);
  });

  it('frees the port for the next one at once', async () => {
    const first = make();
    await first.start();
    const port = portOf(first);
    await first.stop(0);
    const other = createServer();
    await new Promise<void>((resolve, reject) => other.once('error', reject).listen(port, '127.0.0.1', resolve));
    await new Promise((resolve) => other.close(resolve));
  });
});

describe('limits', () => {
  it('cuts a client that is slow with its headers', async () => {
    const server = make({ limits: { headersMs: 200 } });
    await server.start();
    const slow = await dial(portOf(server), 'GET / HTTP/1.1\r\nHost:');
    expect(await slow.closed).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('refuses headers that are too large', async () => {
    const server = make({ limits: { headerBytes: 2_048 } });
    await server.start();
    const large = await dial(portOf(server), `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(4_096)}\r\n\r\n`);
    expect(await large.closed).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('bounds the number of connections', async () => {
    const server = make({ limits: { connections: 2 } });
    await server.start();
    const port = portOf(server);
    const two = await Promise.all([dial(port, ''), dial(port, '')]);
    await pause(20);
    const third = await dial(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await third.closed).toBe('');
    for (const { socket } of two) socket.destroy();
  });
});
