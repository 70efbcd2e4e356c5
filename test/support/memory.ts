import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder, in memory where the system has such a place: a tree of thousands of small files takes seconds on a disk. */
export function folderInMemory(prefix: string): string {
  const place = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  return mkdtempSync(join(place, prefix));
}
