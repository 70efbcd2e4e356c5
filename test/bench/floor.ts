import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('floor.c', import.meta.url));

export interface Floor {
  files: number;
  /** Files that could not be opened or read; they were asked in each pass all the same. */
  failed: number;
  passes: number;
  /** Microseconds a pass over all files. */
  p50: number;
  p99: number;
}

export interface FloorOptions {
  /** Timed passes; one more goes before them, untimed. Default 1000. */
  passes?: number;
  /** Open and close each file in each pass instead of keeping descriptors. */
  reopen?: boolean;
}

/** What a C program that does nothing else needs to read these files: the time no reader in any language gets below. */
export function measureFloor(paths: readonly string[], { passes = 1000, reopen = false }: FloorOptions = {}): Floor {
  const broken = paths.find((path) => path === '' || path.includes('\n'));
  if (broken !== undefined) throw new Error(`not a path for the list: ${JSON.stringify(broken)}`);
  const directory = mkdtempSync(join(tmpdir(), 'floor-'));
  try {
    const program = join(directory, 'floor');
    execFileSync('gcc', ['-O2', '-Wall', '-Wextra', '-Werror', '-o', program, SOURCE]);
    const args = [String(passes), ...(reopen ? ['--reopen'] : [])];
    const answer = execFileSync(program, args, { input: paths.map((path) => `${path}\n`).join(''), encoding: 'utf8' });
    return JSON.parse(answer) as Floor;
  } finally {
    rmSync(directory, { recursive: true });
  }
}
