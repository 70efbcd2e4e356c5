import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { ExporterLink } from '../../actuator/exporter-link.ts';
import { systemClock } from '../../base/clock.ts';
import { createLog } from '../../base/log.ts';
import { WIRE_VERSION } from '../../model/wire-version.ts';

const log = createLog({ destination: { write: () => undefined } });
let server: Server | undefined;

afterEach(() => server?.close());

async function serve(answer: (path: string) => { status: number; body: string } | undefined): Promise<string> {
  server = createServer((request, response) => {
    const made = answer(request.url ?? '');
    if (made !== undefined) response.writeHead(made.status).end(made.body);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

const link = (url: string): ExporterLink => new ExporterLink({ url, clock: systemClock, log, timeoutMs: 200 });
const state = (cards: object[]): string =>
  JSON.stringify({ version: WIRE_VERSION, node: 'n', at: 1, cards, processes: [] });

describe('the link to the exporter', () => {
  it('knows by which number alerts call a card', async () => {
    const url = await serve((path) => ({
      status: path === '/v1/state' ? 200 : 404,
      body: state([{ pci: '0000:c1:00.0', gpu: 5 }]),
    }));
    const exporter = link(url);
    await exporter.look();
    expect(exporter.up).toBe(true);
    expect(exporter.numbers).toEqual([{ pci: '0000:c1:00.0', gpu: 5 }]);
  });

  it('keeps what it knew while the exporter does not answer', async () => {
    let broken = false;
    const url = await serve(() => ({ status: broken ? 503 : 200, body: state([{ pci: '0000:c1:00.0', gpu: 5 }]) }));
    const exporter = link(url);
    await exporter.look();
    broken = true;
    await expect(exporter.look()).rejects.toThrow('503');
    expect(exporter.up).toBe(false);
    expect(exporter.numbers).toHaveLength(1);
  });

  it.each([
    ['not JSON', '{'],
    ['of another version', JSON.stringify({ version: 999, cards: [] })],
    ['without numbers', JSON.stringify({ version: WIRE_VERSION, cards: [{ pci: 'x' }] })],
  ])('takes no answer that is %s', async (_title, body) => {
    const exporter = link(await serve(() => ({ status: 200, body })));
    await expect(exporter.look()).rejects.toThrow();
    expect(exporter.numbers).toBeUndefined();
  });

  it('gives up on one that does not answer', async () => {
    const exporter = link(await serve(() => undefined));
    await expect(exporter.look()).rejects.toThrow('no answer within 200 ms');
  });

  it.each(['ftp://x', 'localhost:9510', 'unix:relative'])('refuses %s', (url) => {
    expect(() => link(url)).toThrow('--exporter.url');
  });
});
