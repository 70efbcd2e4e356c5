import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readRules } from '../../actuator/rules-folder.ts';
import { folderInMemory } from '../support/memory.ts';

let dir: string;
beforeEach(() => {
  dir = folderInMemory('nightshift-rules-');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(name: string, text = name): void {
  mkdirSync(join(dir, name, '..'), { recursive: true });
  writeFileSync(join(dir, name), text);
}

const names = (...paths: string[]): string[] => readRules(paths).map(({ file }) => file.slice(dir.length + 1));

describe('a rules folder', () => {
  it('is all YAML below it, in order, once', () => {
    for (const name of ['b.yaml', 'a/c.yml', 'a/b/d.yaml', 'notes.md', 'x.yaml.bak']) put(name);
    expect(names(dir, join(dir, 'b.yaml'))).toEqual(['a/b/d.yaml', 'a/c.yml', 'b.yaml']);
    expect(readRules([dir])[0]?.text).toBe('a/b/d.yaml');
  });

  it('leaves out hidden folders, as editors, git and mounted maps have them', () => {
    for (const name of ['.git/a.yaml', '..2026_01_01/b.yaml', 'node_modules/c.yaml', '.d.yaml', 'e.yaml']) put(name);
    expect(names(dir)).toEqual(['e.yaml']);
  });

  it('follows links to files, as in a mounted ConfigMap, and not those to folders', () => {
    put('..data/real.yaml', 'text');
    symlinkSync('..data/real.yaml', join(dir, 'rules.yaml'));
    symlinkSync('.', join(dir, 'loop'));
    expect(readRules([dir])).toEqual([{ file: join(dir, 'rules.yaml'), text: 'text' }]);
  });

  it('may be one file of any name', () => {
    put('policy.txt');
    expect(names(join(dir, 'policy.txt'))).toEqual(['policy.txt']);
  });

  it('reads no more of a file than is needed to refuse it', () => {
    put('big.yaml', 'x'.repeat(3_000_000));
    expect(readRules([dir])[0]?.text.length).toBe(262_145);
  });

  it.each([
    ['is not there', 'none'],
    ['lies below a file', 'a.yaml/none'],
  ])('that %s is told by code', (_, name) => {
    put('a.yaml');
    expect(() => readRules([join(dir, name)])).toThrow(expect.objectContaining({ code: 'RULES_NOT_FOUND' }));
  });
});
