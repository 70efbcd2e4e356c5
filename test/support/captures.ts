import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The directory of captures of real machines: NIGHTSHIFT_CAPTURES, else where it lies beside this repository.
 * Undefined where there is none, so that tests of it can skip; but a NIGHTSHIFT_CAPTURES that leads nowhere is an error.
 */
export function capturesDir(): string | undefined {
  const named = process.env.NIGHTSHIFT_CAPTURES;
  const directory = resolve(REPOSITORY, named || '../shared/fixtures/captures');
  if (existsSync(directory)) return directory;
  if (named) throw new Error(`NIGHTSHIFT_CAPTURES=${named}: there is no such directory`);
  return undefined;
}

/** Path of one capture, the directory that holds its `sys` or `proc`. A name that is not there is a mistake of the test. */
export function captureTree(name: string): string {
  const directory = capturesDir();
  if (!directory) throw new Error(`capture ${name}: no captures here; skip unless capturesDir()`);
  const tree = join(directory, name);
  if (!existsSync(tree)) throw new Error(`capture ${name}: not in ${directory}`);
  return tree;
}
