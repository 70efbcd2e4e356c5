import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type AlertAbout, type Answered, alertOf, messageOf, NODE } from './actuator.ts';

const HARNESS = fileURLToPath(new URL('./crash-harness.mjs', import.meta.url));

export interface CrashOptions {
  tree: string;
  ledger: string;
  socket: string;
  rules: string;
  /** Ends itself where it passes this point for the nth time. */
  crash?: readonly [point: string, nth: number];
  count?: boolean;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** An actuator that is going to be killed. It is loaded from the start, and begins when it is told to. */
export class Victim {
  readonly #child: Child;
  readonly #ended: Promise<unknown>;
  #said = '';
  #complained = '';
  isOver = false;

  constructor(options: CrashOptions) {
    this.#child = spawn(process.execPath, [HARNESS, JSON.stringify({ ...options, node: NODE })], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child.stdin.on('error', () => {}); // told by its end
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#said += text;
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#complained = (this.#complained + text).slice(-8_000);
    });
    this.#ended = once(this.#child, 'exit').then(() => {
      this.isOver = true;
    });
    onTestFinished(() => this.kill());
  }

  begin(): void {
    this.#child.stdin.write('go\n');
  }

  get isLoaded(): boolean {
    return this.#said.includes('loaded');
  }

  get isReady(): boolean {
    return this.#said.includes('ready');
  }

  /** It ended by SIGKILL, and by nothing else. */
  get wasKilled(): boolean {
    return this.#child.signalCode === 'SIGKILL';
  }

  /** What it wrote to standard error, the end of it. */
  get complaints(): string {
    return this.#complained;
  }

  /** How often it passed each point, where it counts. */
  get passed(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const [, name = ''] of this.#said.matchAll(/^passed (.*)$/gm)) counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/** Undefined where nobody answered, or not to the end. */
export function tellOver(socketPath: string, about: AlertAbout): Promise<Answered | undefined> {
  return new Promise((resolve) => {
    const headers = { 'Content-Type': 'application/json' };
    const out = request({ socketPath, path: '/v1/alerts', method: 'POST', headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      // A 202 that was begun was meant: what stands before it is on disk.
      response.once('close', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    out.once('error', () => resolve(undefined));
    out.setTimeout(10_000, () => out.destroy());
    out.end(messageOf(alertOf(about)));
  });
}
