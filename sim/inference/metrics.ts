import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { InferenceServer } from '../live/inference.ts';
import type { Answer } from './service.ts';

/**
 * A server's metrics under vLLM's names and labels, as of versions 0.9.2 and later (before, `kv_cache_usage_perc` was
 * `gpu_cache_usage_perc`). Source: vllm/v1/metrics/loggers.py.
 */

const LABELS = ['model_name', 'engine'] as const;
/** vLLM's own, of time_to_first_token_seconds. */
const FIRST_TOKEN = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
];
/** vLLM's begin at 0.3 s, within which an objective of 80 ms cannot be seen: what is below is ours. */
const LATENCY = [
  ...[0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2],
  ...[0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680],
];
/** All that a request can end in, told from the start. */
const REASONS = ['stop', 'length', 'abort'] as const;

export class VllmMetrics {
  readonly #registry = new Registry();

  constructor(server: InferenceServer) {
    const { service, model } = server;
    const labels = { model_name: model, engine: '0' };
    const shared = { registers: [this.#registry], labelNames: LABELS };
    const gauge = (name: string, help: string, value: () => number): void => {
      new Gauge({
        ...shared,
        name,
        help,
        collect() {
          this.set(labels, value());
        },
      });
    };
    gauge('vllm:num_requests_running', 'Requests that are worked on.', () => service.running);
    gauge('vllm:num_requests_waiting', 'Requests that wait.', () => service.waiting);
    gauge('vllm:kv_cache_usage_perc', 'Share of the KV cache in use, 0 to 1.', () => service.cache);
    const counter = (name: string, help: string): Counter<(typeof LABELS)[number]> => {
      const made = new Counter({ ...shared, name, help });
      made.inc(labels, 0);
      return made;
    };
    const prompt = counter('vllm:prompt_tokens_total', 'Tokens of prompts that were read.');
    const generated = counter('vllm:generation_tokens_total', 'Tokens that were generated.');
    const success = new Counter({
      registers: [this.#registry],
      labelNames: [...LABELS, 'finished_reason'],
      name: 'vllm:request_success_total',
      help: 'Requests that ended, by reason.',
    });
    for (const finished_reason of REASONS) success.inc({ ...labels, finished_reason }, 0);
    const histogram = (name: string, help: string, buckets: number[]): Histogram<(typeof LABELS)[number]> => {
      const made = new Histogram({ ...shared, name, help, buckets });
      made.zero(labels);
      return made;
    };
    const first = histogram('vllm:time_to_first_token_seconds', 'From the arrival to the first token.', FIRST_TOKEN);
    const latency = histogram('vllm:e2e_request_latency_seconds', 'From the arrival to the last token.', LATENCY);
    server.listeners.push((answer: Answer) => {
      success.inc({ ...labels, finished_reason: answer.outcome });
      if (answer.outcome === 'abort') return;
      prompt.inc(labels, answer.request.prompt);
      generated.inc(labels, answer.request.generated);
      if (answer.firstToken !== undefined) first.observe(labels, answer.firstToken);
      latency.observe(labels, answer.latency);
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** In the text format of Prometheus. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
