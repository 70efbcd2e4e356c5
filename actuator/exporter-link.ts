import { get } from 'node:http';
import * as z from 'zod';
import type { Clock, Stoppable } from '../base/clock.ts';
import { configurationError, describe, toError } from '../base/errors.ts';
import { type Log, onceLog } from '../base/log.ts';
import { WIRE_VERSION } from '../model/wire-version.ts';

export interface ExporterLinkOptions {
  /** `http://127.0.0.1:9510`, or `unix:/run/nightshift/exporter.sock`. */
  url: string;
  clock: Clock;
  log: Log;
  everyMs?: number;
  timeoutMs?: number;
}

/** What is taken of `/v1/state`: by which number the exporter, and so every alert, calls which card. */
const stateSchema = z.object({
  version: z.literal(WIRE_VERSION),
  cards: z.array(z.object({ pci: z.string(), gpu: z.number().int().nonnegative() })),
});

const EVERY_MS = 15_000;
const TIMEOUT_MS = 2_000;
/** Most that is read of an answer: the state of 64 partitions is less than a tenth of it. */
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * The exporter of this node. Alerts carry its numbers of cards; ours are the same only where both processes have seen the same
 * cards come and go. Without it our own have to do.
 */
export class ExporterLink {
  readonly #options: ExporterLinkOptions;
  readonly #target: { host: string; port: string } | { socketPath: string };
  #numbers: readonly { pci: string; gpu: number }[] | undefined;
  #up = false;

  /** Throws FLAG_INVALID for a URL that is none of the two kinds. */
  constructor(options: ExporterLinkOptions) {
    this.#options = options;
    this.#target = targetOf(options.url);
  }

  get up(): boolean {
    return this.#up;
  }

  /** As the exporter last told; undefined before it did. */
  get numbers(): readonly { pci: string; gpu: number }[] | undefined {
    return this.#numbers;
  }

  start(): Stoppable {
    const { clock, log, everyMs = EVERY_MS } = this.#options;
    const once = onceLog(log);
    const look = (): void => {
      this.look().then(
        () => once.report('exporter', undefined),
        (error: unknown) => once.report('exporter', `the exporter does not answer: ${describe(toError(error))}`),
      );
    };
    look();
    return clock.every(everyMs, look);
  }

  /** Asks once. Rejects where there is no good answer; what was known before stays. */
  async look(): Promise<void> {
    try {
      const { cards } = stateSchema.parse(JSON.parse(await this.#fetch()));
      this.#numbers = cards;
      this.#up = true;
    } catch (error) {
      this.#up = false;
      throw error;
    }
  }

  #fetch(): Promise<string> {
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    return new Promise((resolve, reject) => {
      const request = get({ ...this.#target, path: '/v1/state', timeout: timeoutMs, agent: false }, (response) => {
        if (response.statusCode !== 200) {
          response.resume();
          reject(new Error(`it answers ${response.statusCode}`));
          return;
        }
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          if (text.length > MOST_BYTES) request.destroy(new Error('its answer does not end'));
        });
        response.on('end', () => resolve(text)).on('error', reject);
      });
      request.on('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs} ms`))).on('error', reject);
    });
  }
}

function targetOf(url: string): { host: string; port: string } | { socketPath: string } {
  if (url.startsWith('unix:/')) return { socketPath: url.slice('unix:'.length) };
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'http:') {
    // An IPv6 address stands in brackets in a URL, and without them in a connection.
    return { host: parsed.hostname.replace(/^\[|\]$/g, ''), port: parsed.port || '80' };
  }
  const hint = 'Write it like http://127.0.0.1:9510 or unix:/run/nightshift/exporter.sock.';
  throw configurationError('FLAG_INVALID', `--exporter.url=${url}: neither http:// nor unix:/`, hint);
}
