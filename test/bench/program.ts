import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { Client } from './client.ts';
import { cpuSeconds, familyOf, type Memory, memoryOf } from './processes.ts';
import { sleep } from './times.ts';

/** The built command. */
export const CLI: string = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const PLAIN = fileURLToPath(new URL('plain-server.mjs', import.meta.url));
const PATIENCE_MS = 15_000;

/** A server that was started to be measured, with all the processes that it needs. */
export interface Program {
  port: number;
  /** Of the server itself. */
  pid: number;
  client: Client;
  /** From its start to the first answer that was good, ms. */
  startMs: number;
  cpuSeconds(): number;
  memory(): Memory;
  processes(): number;
  stop(): Promise<void>;
}

/** Starts a program that serves on a port, and waits until an answer is good. Throws, with what it printed, where none comes. */
export async function startProgram(
  command: string,
  args: (port: number) => readonly string[],
  isGood: (body: string) => boolean,
  { path = '/metrics' }: { path?: string } = {},
): Promise<Program> {
  const port = await freePort();
  const start = performance.now();
  const child = spawn(command, args(port), { stdio: ['ignore', 'ignore', 'pipe'] });
  let printed = '';
  let broken: Error | undefined;
  child.stderr.on('data', (chunk) => {
    printed = (printed + chunk).slice(-4000);
  });
  child.on('error', (error) => {
    broken = error;
  });
  const client = new Client(port, path);
  for (;;) {
    const answer = await client.ask('identity', true).catch(() => undefined);
    if (answer?.status === 200 && isGood(answer.body)) break;
    const ended = broken !== undefined || child.exitCode !== null || child.signalCode !== null;
    if (ended || performance.now() - start > PATIENCE_MS) {
      client.close();
      await end(child);
      throw new Error(`${command} gave no good answer: ${broken?.message ?? printed}`);
    }
    await sleep(5);
  }
  const startMs = performance.now() - start;
  const pid = child.pid as number;
  return {
    port,
    pid,
    client,
    startMs,
    cpuSeconds: () => cpuSeconds(familyOf(pid)),
    memory: () => memoryOf(familyOf(pid)),
    processes: () => familyOf(pid).length,
    async stop() {
      client.close();
      await end(child);
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await Promise.race([gone, sleep(5000)]);
  child.kill('SIGKILL');
}

/** The built exporter as people start it, on a tree; good is an answer that shows all cards at work. */
export function startNightshift(tree: string, cards: number): Promise<Program> {
  return startProgram(
    execPath,
    (port) => [CLI, 'exporter', `--path.sysfs=${tree}/sys`, `--web.listen-address=127.0.0.1:${port}`],
    (body) => (body.match(/^amdgpu_up\{[^}]*\} 1$/gm) ?? []).length === cards,
  );
}

/** Node's own HTTP server with an answer of so many bytes ready: below this no scrape in Node can be. */
export function startPlainServer(bytes: number): Promise<Program> {
  return startProgram(
    execPath,
    (port) => [PLAIN, String(port), String(bytes)],
    (body) => body.length === bytes,
  );
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
