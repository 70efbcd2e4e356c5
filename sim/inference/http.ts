import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Clock, Stoppable } from '../../base/clock.ts';
import { describe } from '../../base/errors.ts';
import type { InferenceServer } from '../live/inference.ts';
import { VllmMetrics } from './metrics.ts';
import type { Answer } from './service.ts';

/** What an inference server says over HTTP, in the words of the OpenAI interface that vLLM speaks. */

/** While somebody waits, the server is looked after this often, ms: an answer comes so much late at most. */
const LOOK_MS = 2;
const LONGEST_BODY = 1 << 20;
/** Characters of text that make a token, as a rule. */
const CHARACTERS = 4;

const completion = z.looseObject({
  model: z.string().optional(),
  prompt: z.union([z.string(), z.array(z.string()).min(1)]),
  max_tokens: z.number().int().min(1).max(100_000).default(16),
});

export interface HttpTerms {
  clock: Clock;
  /** Seconds of the servers' time, also between two steps of the node. */
  now: () => number;
}

export function inferenceApp(server: InferenceServer, { clock, now }: HttpTerms): RequestListener {
  const metrics = new VllmMetrics(server);
  const catchUp = (): void => server.service.advance(now());
  let asking = 0;
  let look: Stoppable | undefined;
  let requests = 0;

  /** Resolves with what became of it; undefined where the client left before. */
  const ask = (
    tokens: { prompt: number; generated: number },
    response: ServerResponse,
  ): Promise<Answer | undefined> => {
    catchUp();
    asking += 1;
    look ??= clock.every(LOOK_MS, catchUp);
    return new Promise((resolve) => {
      const cancel = server.service.submit(tokens, (answer) => {
        asking -= 1;
        if (asking === 0) {
          look?.stop();
          look = undefined;
        }
        resolve(response.destroyed ? undefined : answer);
      });
      response.once('close', cancel);
    });
  };

  const complete = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await jsonOf(request);
    const parsed = completion.safeParse(body.value);
    if (body.wrong !== undefined) {
      send(response, 400, failure(body.wrong, 400));
      return;
    }
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      send(response, 400, failure(`${issue?.path.join('.') || 'the body'}: ${issue?.message}`, 400));
      return;
    }
    const { prompt, max_tokens: generated, model = server.model } = parsed.data;
    if (model !== server.model) {
      send(response, 404, failure(`The model "${model}" does not exist.`, 404));
      return;
    }
    const text = typeof prompt === 'string' ? prompt : prompt.join('');
    const tokens = { prompt: Math.max(1, Math.ceil(text.length / CHARACTERS)), generated };
    const answer = await ask(tokens, response);
    if (answer === undefined) return;
    if (answer.outcome === 'abort') {
      response.destroy();
      return;
    }
    requests += 1;
    send(response, 200, {
      id: `cmpl-${requests}`,
      object: 'text_completion',
      created: Math.floor(clock.now() / 1000),
      model,
      choices: [{ index: 0, text: ' simulated'.repeat(generated), logprobs: null, finish_reason: 'length' }],
      usage: { prompt_tokens: tokens.prompt, completion_tokens: generated, total_tokens: tokens.prompt + generated },
    });
  };

  const routes: Record<string, (request: IncomingMessage, response: ServerResponse) => unknown> = {
    'GET /metrics': async (_request, response) => {
      catchUp();
      response.writeHead(200, { 'content-type': metrics.contentType }).end(await metrics.text());
    },
    'GET /health': (_request, response) => response.writeHead(200).end(),
    'GET /v1/models': (_request, response) =>
      send(response, 200, { object: 'list', data: [{ id: server.model, object: 'model', owned_by: 'simulated' }] }),
    'POST /v1/completions': complete,
  };

  return (request, response) => {
    // A process that is gone listens no more.
    if (!server.up) {
      request.socket.destroy();
      return;
    }
    const path = (request.url ?? '/').split('?', 1)[0];
    const route = routes[`${request.method} ${path}`];
    if (route === undefined) send(response, 404, failure('Not Found', 404));
    else
      void (async () => {
        try {
          await route(request, response);
        } catch (error) {
          if (response.headersSent) response.destroy();
          else send(response, 500, failure(describe(error), 500));
        }
      })();
  };
}

const failure = (message: string, code: number): object => ({
  error: { message, type: 'invalid_request_error', code },
});

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function jsonOf(request: IncomingMessage): Promise<{ value?: unknown; wrong?: string }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LONGEST_BODY) return { wrong: `the body is longer than ${LONGEST_BODY} bytes` };
    chunks.push(chunk);
  }
  try {
    return { value: JSON.parse(Buffer.concat(chunks).toString('utf8')) };
  } catch (error) {
    return { wrong: `the body is no JSON: ${(error as SyntaxError).message}` };
  }
}
