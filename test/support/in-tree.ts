import { spawnSync } from 'node:child_process';
import { getuid } from 'node:process';

/**
 * The tree's sys/ stands at /sys, and only for this program and what it starts. /dev/shm is its own too: locks that a program
 * leaves there when it aborts would stop the next one. The tree may itself lie in /dev/shm, so /sys comes first.
 */
const ENTER = 'mount --bind "$0/sys" /sys && mount -t tmpfs tmpfs /dev/shm && exec "$@"';

export interface Ran {
  stdout: string;
  stderr: string;
  /** Undefined where the program did not end by itself. */
  status: number | undefined;
}

/** Why nothing can be run in a tree here; undefined where it can. */
export function inTreeUnavailable(): string | undefined {
  if (getuid?.() !== 0) return 'a mount namespace needs root';
  const tried = spawnSync('unshare', ['-m', 'true'], { encoding: 'utf8' });
  if (tried.error) return `unshare cannot be started (${tried.error.message})`;
  return tried.status === 0 ? undefined : `no mount namespace here (${tried.stderr.trim()})`;
}

/** The command by which a program starts that takes the tree for this machine's own hardware. */
export function inTree(tree: string, command: string, args: readonly string[]): [command: string, args: string[]] {
  return ['unshare', ['-m', '--', 'sh', '-c', ENTER, tree, command, ...args]];
}

/** Runs a program to its end with the tree as this machine's hardware. Throws where it cannot be started or takes too long. */
export function runInTree(tree: string, command: string, args: readonly string[], timeoutMs = 20_000): Ran {
  const ran = spawnSync(...inTree(tree, command, args), {
    encoding: 'utf8',
    timeout: timeoutMs,
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (ran.error) throw new Error(`${command} in ${tree}: ${ran.error.message}`, { cause: ran.error });
  return { stdout: ran.stdout, stderr: ran.stderr, status: ran.status ?? undefined };
}
