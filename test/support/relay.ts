import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { withDifference } from '../../sim/driver/difference.ts';
import { READS_WITH_EFFECT, readFile } from '../../sim/driver/reset.ts';
import { fileModes, type WriteResult, writeFile } from '../../sim/driver/write.ts';
import { type Relay, relayCommand, startRelay } from '../../sim/relay.ts';
import { describeNode, type NodeDescription, type NodeOptions, renderNode, writeTree } from '../../sim/tree.ts';

type Child = ChildProcessByStdio<null, Readable, Readable>;

export interface Mounted {
  node: NodeDescription;
  /** The plain folder, and where it is seen with a driver behind it. */
  dir: string;
  mount: string;
  relay: Relay;
  /** The file system's process. */
  child: Child;
  /** Puts the node back to how it began. */
  restart(): void;
  /** Mounts again after the file system's process has ended. */
  remount(): Promise<void>;
  /** Takes down what is up. May be called twice. */
  close(): Promise<void>;
}

/** A node whose physics stand still, mounted through the real FUSE relay. `prepare` changes the tree before it is mounted. */
export async function mountNode(options: NodeOptions, prepare: (dir: string) => void = () => {}): Promise<Mounted> {
  const root = mkdtempSync(join(tmpdir(), 'nightshift-relay-'));
  const [dir, mount, socket] = [join(root, 'node'), join(root, 'mount'), join(root, 'relay.sock')];
  mkdirSync(mount);
  const node = describeNode({ processes: [], ...options });
  const fresh = structuredClone(node);
  writeTree(dir, node);
  prepare(dir);
  const shown = (result: WriteResult): WriteResult => {
    if (result.ok) show(dir, node, result.changed);
    return result;
  };
  const relay = await startRelay(dir, socket, {
    write: (path, text) => shown(writeFile(node, path, text)),
    read: (path) => shown(readFile(node, path)),
    readsWithEffect: READS_WITH_EFFECT,
    modes: () => fileModes(node),
  });
  const restart = (): void => {
    const back = withDifference(node, () => {
      Object.assign(node, structuredClone(fresh));
      return [];
    });
    shown(back);
  };
  const one: Mounted = {
    node,
    dir,
    mount,
    relay,
    child: start(dir, mount, socket),
    restart,
    remount: async () => {
      one.child = start(dir, mount, socket);
      await ready(one.child);
    },
    close: async () => {
      await relay.close();
      if (one.child.exitCode === null && one.child.signalCode === null) await once(one.child, 'exit');
      await promisify(execFile)('fusermount3', ['-uz', mount]).catch(() => {}); // unmounted already, as a rule
      rmSync(root, { recursive: true, force: true });
    },
  };
  try {
    await ready(one.child);
    await relay.mounted();
  } catch (error) {
    await one.close();
    throw error;
  }
  return one;
}

function start(dir: string, mount: string, socket: string): Child {
  const [command, ...args] = relayCommand(dir, mount, socket) as [string, ...string[]];
  return spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Resolves with the word on standard output; throws what stands on standard error where the process ends before. */
function ready(child: Child): Promise<void> {
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('exit', () => reject(new Error(`the file system ended: ${stderr}`)));
  });
}

/** Brings the files that read otherwise up to date, in place. */
function show(dir: string, node: NodeDescription, changed: readonly string[]): void {
  const files = renderNode(node);
  for (const path of changed) {
    const entry = files.get(path);
    const full = join(dir, path);
    if (!entry) rmSync(full, { force: true });
    else {
      mkdirSync(dirname(full), { recursive: true });
      if ('content' in entry) writeFileSync(full, entry.content);
      else {
        rmSync(full, { force: true });
        symlinkSync(entry.link, full);
      }
    }
  }
  for (const parent of new Set(changed.map((path) => dirname(join(dir, path))))) removeEmpty(parent);
}

function removeEmpty(directory: string): void {
  if (!existsSync(directory) || readdirSync(directory).length > 0) return;
  rmSync(directory, { recursive: true });
  removeEmpty(dirname(directory));
}

/** What one system call after another came to: `ok`, the content read, or the errno. */
export type Step = { write: string; text: string } | { read: string } | { list: string };

/** In a process of its own: this one serves the file system, and would wait for itself. */
const PROGRAM = `
const { closeSync, constants, openSync, readdirSync, readSync, writeSync } = require('node:fs');
let input = '';
process.stdin.on('data', (chunk) => { input += chunk; }).on('end', () => {
  process.stdout.write(JSON.stringify(JSON.parse(input).map(run)));
});
function run(step) {
  let fd;
  try {
    if (step.list !== undefined) return readdirSync(step.list).sort().join(' ');
    fd = openSync(step.write ?? step.read, step.write === undefined ? 'r' : constants.O_WRONLY | constants.O_TRUNC);
    if (step.write !== undefined) {
      const bytes = Buffer.from(step.text);
      return writeSync(fd, bytes) === bytes.length ? 'ok' : 'short';
    }
    const buffer = Buffer.alloc(8192);
    return buffer.toString('utf8', 0, readSync(fd, buffer, 0, 8192, 0));
  } catch (error) {
    return error.code;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}`;

export async function runSteps(steps: readonly Step[]): Promise<string[]> {
  const running = promisify(execFile)(process.execPath, ['-e', PROGRAM]);
  running.child.stdin?.end(JSON.stringify(steps));
  return JSON.parse((await running).stdout) as string[];
}

/** Runs a program to its end without holding up this process. */
export async function runProgram(
  command: string,
  args: readonly string[],
): Promise<{ stdout: string; stderr: string; status: number }> {
  try {
    return { ...(await promisify(execFile)(command, [...args], { timeout: 40_000 })), status: 0 };
  } catch (error) {
    const { stdout, stderr, code } = error as { stdout?: string; stderr?: string; code?: unknown };
    if (typeof code !== 'number') throw error;
    return { stdout: stdout ?? '', stderr: stderr ?? '', status: code };
  }
}
