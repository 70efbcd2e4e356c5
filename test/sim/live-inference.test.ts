import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLog } from '../../base/log.ts';
import { serveInference } from '../../sim/inference/serve.ts';
import { MODELS } from '../../sim/models.ts';
import { type Lab, lab } from './living.ts';

const SHARED = `description: inference beside a job that grows
duration: 1h
load:
  - { curve: steady, busy: 0.4, vram: 0.3, job: { class: inference } }
  - curve: steps
    points: [{ at: 0s, busy: 0.9, vram: 0.5 }, { at: 30s, busy: 0.9, vram: 0.85 }, { at: 60s, busy: 0.9, vram: 0.5 }]
    job: { class: batch }
`;
const shared = (): Lab => lab({ node: { model: 'mi210', cards: 1 }, scenario: SHARED });
const server = (node: Lab) => node.live.inference[0]?.state();

describe('inference on a GPU that a batch job fills', () => {
  it('falls back to the CPU, from 80 ms to 2.1 s, and is back when its memory is and the model is loaded', () => {
    const node = shared();
    node.clock.advance(25_000);
    expect(server(node)).toMatchObject({ backend: 'gpu', rate: 32, waiting: 0 });
    expect(server(node)?.p99).toBeLessThan(0.09);
    node.clock.advance(30_000);
    expect(server(node)?.backend).toBe('cpu');
    expect(server(node)?.p99).toBeGreaterThan(1.8);
    expect(server(node)?.p99).toBeLessThan(2.4);
    const [batch, inference] = ['python3', 'vllm'].map((name) => node.node.processes.find(({ comm }) => comm === name));
    // What the one took the other does not have: together they hold what there is.
    const held = (batch?.gpus[0]?.vram ?? 0) + (inference?.gpus[0]?.vram ?? 0);
    expect(batch?.gpus[0]?.vram).toBeGreaterThan(0.84 * MODELS.mi210.vram);
    expect(held).toBeLessThanOrEqual(MODELS.mi210.vram);
    node.clock.advance(25_000);
    expect(server(node)?.backend).toBe('gpu');
    expect(server(node)?.p99).toBeLessThan(0.09);
    expect(node.events('inference').map((line) => 'event' in line && line.backend)).toEqual(['cpu', 'gpu']);
  });

  it('asks nothing of the GPU meanwhile', () => {
    const alone = SHARED.replace(/busy: 0\.9/g, 'busy: 0');
    const node = lab({ node: { model: 'mi210', cards: 1 }, scenario: alone });
    node.clock.advance(20_000);
    expect(node.number(0, 'gpu_busy_percent')).toBeGreaterThan(30);
    node.clock.advance(30_000);
    expect(node.number(0, 'gpu_busy_percent')).toBe(0);
  });

  it('gets its requests in the time of its readers, however fast the node lives', () => {
    const node = lab({ node: { model: 'mi210', cards: 1 }, scenario: 'quiet-night', speed: 100 });
    const answers: number[] = [];
    for (const one of node.live.inference) one.listeners.push(() => answers.push(1));
    expect(node.live.inference.length).toBeGreaterThan(0);
    node.clock.advance(20_000);
    expect(answers.length / 20).toBeLessThan(10);
  });

  it('waits while the GPU hangs, and is down once its process has ended', () => {
    const node = shared();
    node.clock.advance(1000);
    node.live.event('hang', 0);
    node.clock.advance(2000);
    expect(server(node)).toMatchObject({ backend: 'stuck' });
    expect((server(node)?.waiting ?? 0) + (server(node)?.running ?? 0)).toBeGreaterThan(30);
    node.live.event('unhang', 0);
    node.live.event('signal', 0, 'kill', 'inference');
    node.clock.advance(200);
    expect(server(node)).toMatchObject({ backend: 'down', running: 0, waiting: 0, rate: 0 });
  });
});

describe('the servers over HTTP', () => {
  const log = createLog({ level: 'error', format: 'logfmt' });

  it('answer after the time that the model takes, and tell their metrics under vLLM’s names', async () => {
    const node = shared();
    const { clock, live, dir } = node;
    const serving = await serveInference({
      ...{ servers: live.inference, listen: '127.0.0.1:0', dir, log, clock },
      now: () => live.passed,
    });
    try {
      const [{ url = '' } = {}] = serving.served;
      expect(JSON.parse(readFileSync(join(dir, 'inference.json'), 'utf8'))).toEqual(serving.served);
      clock.advance(20_000);
      const service = live.inference[0]?.service;
      const before = service?.running ?? 0;
      let answered = false;
      const asked = fetch(`${url}/v1/completions`, {
        method: 'POST',
        body: JSON.stringify({ prompt: 'a prompt of forty characters, more or le', max_tokens: 5 }),
      }).then((response) => {
        answered = true;
        return response.json() as Promise<{ usage: object; choices: { text: string }[] }>;
      });
      // Time stands still: one more at work can only be this one.
      await expect.poll(() => service?.running, { timeout: 10_000 }).toBe(before + 1);
      expect(answered).toBe(false);
      clock.advance(200);
      const { usage, choices } = await asked;
      expect(usage).toEqual({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
      expect(choices[0]?.text.split(' ')).toHaveLength(6);
      const text = await (await fetch(`${url}/metrics`)).text();
      const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
      const labels = '\\{model_name="example/model-70b",engine="0"\\}';
      expect(value(`vllm:e2e_request_latency_seconds_count${labels}`)).toBeGreaterThan(500);
      expect(value(`vllm:generation_tokens_total${labels}`)).toBeGreaterThan(1000);
      expect(value(`vllm:num_requests_waiting${labels}`)).toBe(0);
      expect(value(`vllm:kv_cache_usage_perc${labels}`)).toBeLessThan(0.2);
      const { port } = new URL(url);
      const vllm = node.node.processes.find(({ comm }) => comm === 'vllm');
      expect(vllm?.cmdline.join(' ')).toContain(`--port ${port}`);
      live.event('signal', 0, 'kill', 'inference');
      await expect(fetch(`${url}/health`)).rejects.toThrow();
      live.event('restart', 0, 'inference');
      expect((await fetch(`${url}/health`)).status).toBe(200);
      expect(node.node.processes.find(({ comm }) => comm === 'vllm')?.cmdline.join(' ')).toContain(`--port ${port}`);
    } finally {
      await serving.stop();
    }
  }, 30_000);

  it.each([
    ['{"prompt": 3}', 400, 'a prompt is text'],
    ['{"prompt": "x", "model": "another"}', 404, 'each serves its own model'],
    ['{"prompt": "x"', 400, 'no JSON'],
  ])('refuse %j with %i: %s', async (body, status) => {
    const { clock, live, dir } = shared();
    const serving = await serveInference({
      ...{ servers: live.inference, listen: '127.0.0.1:0', dir, log, clock },
      now: () => live.passed,
    });
    try {
      const response = await fetch(`${serving.served[0]?.url}/v1/completions`, { method: 'POST', body });
      expect(response.status).toBe(status);
      expect(await response.json()).toHaveProperty('error.message');
    } finally {
      await serving.stop();
    }
  });

  it.each(['0.0.0.0:0', ':8000', 'unix:/run/x.sock'])(
    'are not served at %s, where others reach them',
    async (listen) => {
      const { clock, live, dir } = shared();
      const served = serveInference({ servers: live.inference, listen, dir, log, clock, now: () => live.passed });
      await expect(served).rejects.toMatchObject({ code: 'SIMULATION_LOOPBACK_ONLY' });
    },
  );
});
