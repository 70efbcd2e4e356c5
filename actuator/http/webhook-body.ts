import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';

/** The bytes of a body, or why there are none: it is longer than allowed, or its sender left. */
export type Body = Buffer | 'too_large' | 'left';

/** Reads at most `limit` bytes. A body that says itself that it is longer is not read at all. */
export function readBody(request: IncomingMessage, limit: number): Promise<Body> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.resolve('too_large');
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (body: Body) => {
      request.off('data', take).off('end', whole).off('close', left).off('error', left);
      // An error that comes after the answer is nobody's any more, but one without a listener ends the process.
      request.on('error', () => undefined);
      resolve(body);
    };
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) end('too_large');
      else chunks.push(chunk);
    };
    const whole = () => end(Buffer.concat(chunks));
    const left = () => end('left');
    request.on('data', take).on('end', whole).on('close', left).on('error', left);
  });
}

/** How long, and how much of, a body that was refused is still thrown away. */
const LINGER_MS = 250;
const LINGER_BYTES = 4 * 1024 * 1024;

/**
 * Answers 413 in the middle of a body and closes. What is on its way is thrown away for a moment: a connection that is closed
 * on unread bytes is reset, and the reset would overtake the answer.
 */
export function refuseTooLarge(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  response.writeHead(413, { 'Content-Length': '0', Connection: 'close' });
  response.flushHeaders();
  let thrown = 0;
  const end = () => {
    timer.stop();
    request.off('data', discard).off('end', end).off('close', end);
    request.pause();
    response.end();
  };
  const discard = (chunk: Buffer) => {
    thrown += chunk.length;
    if (thrown > LINGER_BYTES) end();
  };
  const timer = clock.timer(LINGER_MS, end);
  request.on('data', discard).on('end', end).on('close', end);
  request.resume();
}
