import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { measureFloor } from '../bench/floor.ts';
import { faultsUnavailable, mountFaults } from '../support/faultfs.ts';
import { skipUnless } from '../support/skips.ts';

let directory: string;
let paths: string[];

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'floor-files-'));
  paths = Array.from({ length: 300 }, (_, n) => join(directory, `file ${n}`));
  for (const path of paths) writeFileSync(path, '41000000\n');
});
afterAll(() => rmSync(directory, { recursive: true }));

it.each([false, true])('the floor counts files and passes and orders its times (reopen: %s)', (reopen) => {
  const floor = measureFloor(paths, { passes: 200, reopen });
  expect(floor).toMatchObject({ files: 300, failed: 0, passes: 200 });
  expect(floor.p50).toBeGreaterThan(0);
  expect(floor.p99).toBeGreaterThanOrEqual(floor.p50);
});

it('keeping descriptors is cheaper than opening each time', () => {
  expect(measureFloor(paths).p50).toBeLessThan(measureFloor(paths, { reopen: true }).p50);
});

it('files that cannot be read are counted, not left out', () => {
  const list = [...paths, join(directory, 'none'), directory];
  expect(measureFloor(list, { passes: 3 })).toMatchObject({ files: 302, failed: 2 });
  expect(measureFloor(list, { passes: 3, reopen: true })).toMatchObject({ files: 302, failed: 2 });
});

it('a path that would break the list is refused', () => {
  expect(() => measureFloor(['/a\n/b'])).toThrow('not a path for the list');
});

it('every file is read from its start once a pass, and once before', async () => {
  skipUnless(faultsUnavailable() === undefined, faultsUnavailable() ?? '');
  const faults = await mountFaults(directory);
  measureFloor([join(faults.path, 'file 0'), join(faults.path, 'file 1')], { passes: 4 });
  expect([...faults.allReads()].sort()).toEqual([
    ['file 0', 5],
    ['file 1', 5],
  ]);
});
