import { Agent, get, request } from 'node:http';

export interface Answer {
  status: number;
  bytes: number;
  /** Empty unless it was asked for. */
  body: string;
}

/** A client that keeps its one connection, as Prometheus does. */
export class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;

  constructor(port: number, path = '/metrics') {
    this.#url = `http://127.0.0.1:${port}${path}`;
  }

  ask(encoding: 'identity' | 'gzip', keep = false): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = get(this.#url, { agent: this.#agent, headers: { 'accept-encoding': encoding } }, (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (keep) chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, bytes, body: Buffer.concat(chunks).toString('utf8') }),
        );
      });
      request.on('error', reject);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** A sender that keeps its connections, as Alertmanager does. */
export class Sender {
  readonly #agent: Agent;
  readonly #url: string;

  constructor(port: number, connections = 1) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
    this.#url = `http://127.0.0.1:${port}/v1/alerts`;
  }

  /** Resolves with the status once the answer is whole. */
  post(body: string): Promise<number> {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const sent = request(this.#url, { method: 'POST', agent: this.#agent, headers }, (response) => {
        response.resume().on('error', reject);
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      sent.on('error', reject).end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Number of series in a text of the Prometheus format. */
export function seriesIn(exposition: string): number {
  return exposition.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
}
