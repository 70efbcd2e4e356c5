import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { capturesDir, captureTree } from './support/captures.ts';

afterEach(() => vi.unstubAllEnvs());

it('the environment says where the captures are', () => {
  const directory = mkdtempSync(join(tmpdir(), 'captures-'));
  mkdirSync(join(directory, 'mi300x/sys'), { recursive: true });
  vi.stubEnv('NIGHTSHIFT_CAPTURES', directory);
  expect(capturesDir()).toBe(directory);
  expect(captureTree('mi300x')).toBe(join(directory, 'mi300x'));
  expect(() => captureTree('mi300y')).toThrow('capture mi300y: not in');
  rmSync(directory, { recursive: true });
});

it('a place named in the environment that is not there is an error, not a reason to skip', () => {
  vi.stubEnv('NIGHTSHIFT_CAPTURES', '/nowhere/captures');
  expect(() => capturesDir()).toThrow('/nowhere/captures');
});
