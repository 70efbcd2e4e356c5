import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Accepted } from '../../../actuator/http/webhook.ts';
import { ALERT_OUTCOMES } from '../../../actuator/intake/alertmanager.ts';
import { TRIGGER_SOURCES } from '../../../model/trigger.ts';
import { bytesOf, CAPTURED, NODE, rawAlert, rawMessage } from '../intake/messages.ts';
import { exchange, Served } from './served.ts';

let served: Served;
const good = bytesOf(rawMessage());

describe('the contract with Alertmanager', () => {
  beforeEach(async () => {
    served = await new Served().start();
  });
  afterEach(() => served.stop());

  it('answers 202 with what was taken, and again to an exact duplicate', async () => {
    expect(await served.post(good)).toMatchObject({ status: 202, body: '{"accepted":1,"duplicates":0}\n' });
    expect(await served.post(good)).toMatchObject({ status: 202, body: '{"accepted":0,"duplicates":1}\n' });
    const resolved = bytesOf(rawMessage([rawAlert({ status: 'resolved' })]));
    expect(await served.post(resolved)).toMatchObject({ status: 202, body: '{"accepted":1,"duplicates":0}\n' });
    expect(await served.post(resolved)).toMatchObject({ status: 202, body: '{"accepted":0,"duplicates":1}\n' });
    expect(served.taken.map(({ phase }) => phase)).toEqual(['open', 'renew', 'close']);
    expect(served.statuses).toEqual([202, 202, 202, 202]);
  });

  it('takes what Alertmanager really sends', async () => {
    const headers = { 'User-Agent': 'Alertmanager/0.25.0' };
    expect((await served.post(CAPTURED, { headers })).body).toBe('{"accepted":2,"duplicates":0}\n');
  });

  it('answers 202 to another node\u2019s alert, counts it, and hands nothing on', async () => {
    served.accepting = () => 'failed';
    const other = bytesOf(rawMessage([rawAlert({ labels: { alertname: 'A', node: 'mi300x-08' } })]));
    expect(await served.post(other)).toMatchObject({ status: 202, body: '{"accepted":0,"duplicates":0}\n' });
    expect(served.counts).toMatchObject([{ other_node: 1 }]);
  });

  it('does not answer before it is stored', async () => {
    const order: string[] = [];
    served.accepting = async (): Promise<Accepted> => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      order.push('stored');
      return 'queued';
    };
    await served.post(good).then(() => order.push('answered'));
    expect(order).toEqual(['stored', 'answered']);
  });

  it.each([
    ['not JSON', '{', '', 'is not JSON'],
    ['nothing', '', '', 'is not JSON'],
    ['another version', JSON.stringify(rawMessage(undefined, { version: '3' })), '/version', 'must be "4"'],
    ['a wrong type', JSON.stringify(rawMessage([rawAlert({ startsAt: 5 })])), '/alerts/0/startsAt', 'RFC 3339'],
    ['nesting without end', '['.repeat(100_000), '', 'deeper than 32'],
  ])('answers 400 with a pointer to %s', async (_why, body, pointer, error) => {
    const answer = await served.post(body);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toEqual({ pointer, error: expect.stringContaining(error) });
    expect(served.taken).toEqual([]);
  });

  it.each([
    ['none', undefined, undefined, 415],
    ['text', 'text/plain', undefined, 415],
    ['a form', 'application/x-www-form-urlencoded', undefined, 415],
    ['a name that begins so', 'application/jsonp', undefined, 415],
    ['another alphabet', 'application/json; charset=utf-16', undefined, 415],
    ['packed', 'application/json', 'gzip', 415],
    ['with its alphabet', 'application/json; charset="UTF-8"', undefined, 202],
    ['in capitals, not packed', 'Application/JSON', 'identity', 202],
  ])('with content type %s', async (_why, type, encoding, status) => {
    const headers = { ...(type && { 'Content-Type': type }), ...(encoding && { 'Content-Encoding': encoding }) };
    const body = encoding === 'gzip' ? gzipSync(good) : good;
    const url = `${served.url}/v1/alerts`;
    const answer = await exchange(url, { method: 'POST', headers }, (out) => out.end(body));
    expect(answer.status).toBe(status);
    if (status === 415) expect(answer.body).toBe('');
  });

  it.each([
    ['starting', 'starting'],
    ['stopping', 'stopping'],
  ] as const)('answers 503 while %s', async (state, reason) => {
    served.state = state;
    expect(await served.post(good)).toMatchObject({ status: 503, body: `{"reason":"${reason}"}\n` });
    served.state = 'ready';
    expect((await served.post(good)).status).toBe(202);
  });

  it.each(['full', 'disk_full', 'stopping', 'failed'] as const)(
    'answers 503, never 429, where the queue is %s',
    async (reason) => {
      served.accepting = () => reason;
      expect(await served.post(good)).toMatchObject({ status: 503, body: `{"reason":"${reason}"}\n` });
      expect(served.counts).toEqual([]);
      served.accepting = () => 'queued';
      // Asked again, it is news still.
      expect((await served.post(good)).body).toBe('{"accepted":1,"duplicates":0}\n');
    },
  );

  it('answers 503 where storing throws, and tells it once', async () => {
    served.accepting = () => Promise.reject(new Error('disk on fire'));
    for (let i = 0; i < 3; i++) {
      expect(await served.post(good)).toMatchObject({ status: 503, body: '{"reason":"failed"}\n' });
    }
    expect(served.lines.filter((line) => line.includes('disk on fire'))).toHaveLength(1);
  });

  it('counts alerts that the sender cut off', async () => {
    await served.post(bytesOf(rawMessage(undefined, { truncatedAlerts: 7 })));
    expect(served.cut).toBe(7);
  });
});

describe('limits', () => {
  const limit = 1024 * 1024;
  const padded = (bytes: number) => {
    const [head, tail] = ['{"pad":"', `",${JSON.stringify(rawMessage()).slice(1)}`];
    return Buffer.from(head + 'x'.repeat(bytes - head.length - tail.length) + tail);
  };
  beforeAll(async () => {
    served = await new Served().start('127.0.0.1:0', {}, { acceptMs: 50 });
  });
  afterAll(() => served.stop());

  it('takes a body of exactly 1 MiB', async () => {
    expect((await served.post(padded(limit))).status).toBe(202);
  });

  it.each([
    ['a byte more', limit + 1],
    ['eight times that', 8 * limit],
  ])('answers 413 and closes: %s, whether its length was told or not', async (_why, bytes) => {
    const body = padded(bytes);
    const told = await served.post(body);
    expect(told).toMatchObject({ status: 413, body: '' });
    expect(told.headers.connection).toBe('close');
    const headers = { 'Transfer-Encoding': 'chunked' };
    expect(await served.post(body, { headers })).toMatchObject({ status: 413, body: '' });
  });

  it('does not wait for a body that says itself that it is too long', async () => {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(limit + 1) };
    const answer = await exchange(`${served.url}/v1/alerts`, { method: 'POST', headers }, (out) => out.flushHeaders());
    expect(answer.status).toBe(413);
  });

  it('does not read on where a body has no end', async () => {
    const { port } = new URL(served.url);
    const socket = connect(Number(port), '127.0.0.1');
    const head =
      'POST /v1/alerts HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
    socket.write(head);
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    let sent = 0;
    let answer = '';
    socket.on('data', (data) => {
      answer += data;
    });
    await new Promise<void>((resolve) => {
      socket.on('close', () => resolve());
      socket.on('error', () => undefined);
      const more = () => {
        if (socket.destroyed) return;
        sent += 65_536;
        socket.write(chunk, (error) => !error && setImmediate(more));
      };
      more();
    });
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(sent).toBeLessThan(32 * limit);
  });

  it('outlives a sender that leaves in the middle', async () => {
    const { port } = new URL(served.url);
    const before = served.taken.length;
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      'POST /v1/alerts HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"version"',
    );
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await served.post(good)).status).toBe(202);
    expect(served.taken.length).toBe(before + 1);
  });

  it('does not let a slow store keep the sender waiting', async () => {
    served.accepting = () => new Promise(() => undefined);
    expect(await served.post(good)).toMatchObject({ status: 503, body: '{"reason":"slow"}\n' });
    served.accepting = () => 'queued';
  });
});

describe('anything at all', () => {
  beforeAll(async () => {
    served = await new Served().start();
  });
  afterAll(() => served.stop());

  /** What a trigger must be, whatever it was made of. */
  function expectSound(): void {
    for (const one of served.taken.splice(0)) {
      expect(TRIGGER_SOURCES).toContain(one.source);
      expect(['open', 'renew', 'close']).toContain(one.phase);
      expect(one.key).toMatch(/^[0-9a-f]{16}@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,8}[1-9])?Z$/);
      expect(one.name).not.toBe('');
      expect(Number.isInteger(one.since) && Number.isInteger(one.at)).toBe(true);
      expect(Object.values(one.values).every((value) => typeof value === 'string')).toBe(true);
      expect(Object.getPrototypeOf(one.values)).toBe(Object.prototype);
      if (one.target !== undefined)
        expect(one.target).toMatchObject({
          kind: 'gpu',
          pci: expect.stringMatching(/^([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]|kfd-\d+)$/),
        });
      if (one.gpu !== undefined) expect(one.gpu).toBeGreaterThanOrEqual(0);
      expect(JSON.parse(JSON.stringify(one))).toEqual(one);
    }
  }

  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '4', 'firing', '__proto__', 'constructor', NODE, '0000:c1:00.0', '6'),
  );
  const labels = fc.dictionary(
    fc.oneof(fc.constantFrom('alertname', 'node', 'instance', 'gpu', 'pci_address'), text),
    text,
  );
  const nearly = fc.record(
    {
      status: fc.oneof(fc.constantFrom('firing', 'resolved'), fc.jsonValue()),
      labels: fc.oneof({ weight: 5, arbitrary: labels }, { weight: 1, arbitrary: fc.jsonValue() }),
      annotations: fc.oneof(labels, fc.jsonValue()),
      startsAt: fc.oneof(fc.constantFrom('2026-03-05T20:58:37Z', '2026-03-05T20:58:37.000000001+14:00'), text),
      endsAt: fc.oneof(fc.constant('0001-01-01T00:00:00Z'), text),
      fingerprint: fc.oneof(fc.constantFrom('e90d44c2710fa35b', 'E90D44C2710FA35B'), text),
    },
    { requiredKeys: [] },
  );
  const messages = fc.record(
    {
      version: fc.oneof({ weight: 9, arbitrary: fc.constant('4') }, { weight: 1, arbitrary: fc.jsonValue() }),
      status: fc.constantFrom('firing', 'resolved'),
      alerts: fc.oneof(
        { weight: 9, arbitrary: fc.array(nearly, { minLength: 1, maxLength: 4 }) },
        { weight: 1, arbitrary: fc.jsonValue() },
      ),
      commonLabels: fc.option(labels),
      truncatedAlerts: fc.oneof(fc.nat(), fc.constant(undefined)),
    },
    { requiredKeys: ['version', 'alerts'] },
  );

  it.each([
    ['any JSON', fc.json().map((json) => Buffer.from(json)), 150, [400]],
    ['any bytes', fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)), 150, [400]],
    ['what is nearly a message', messages.map(bytesOf), 600, [202, 400]],
    [
      'a message with some bytes turned',
      fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 3 }).map((turns) => {
        const bytes = Buffer.from(good);
        for (const [at, value] of turns) bytes[at] = value;
        return bytes;
      }),
      300,
      [202, 400],
    ],
  ])(
    'is answered, and makes sound triggers or none: %s',
    async (_why, bodies, numRuns, statuses) => {
      const seen = new Set<number>();
      await fc.assert(
        fc.asyncProperty(bodies, async (body) => {
          const before = served.counts.length;
          const { status } = await served.post(body);
          seen.add(status);
          expect([202, 400]).toContain(status);
          if (status === 202) {
            const counts = served.counts[before]!;
            expect(Object.keys(counts)).toEqual([...ALERT_OUTCOMES]);
            expect(Object.values(counts).reduce((a, b) => a + b)).toBe(JSON.parse(body.toString()).alerts.length);
          } else expect(served.taken).toEqual([]);
          expectSound();
        }),
        { numRuns, ...(statuses.includes(202) ? { examples: [[good]] } : {}) },
      );
      expect([...seen].sort()).toEqual(statuses);
    },
    30_000,
  );
});
