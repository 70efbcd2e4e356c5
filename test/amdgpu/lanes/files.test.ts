import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Descriptors } from '../../../amdgpu/lanes/files.ts';

let dir: string;
let now: number;
const buffer = Buffer.alloc(1 << 20);
const at = (name: string): string => join(dir, name);
const open = (): number => readdirSync('/proc/self/fd').length;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'descriptors-'));
  now = 0;
});
afterEach(() => rmSync(dir, { recursive: true }));

function read(files: Descriptors, name: string, keep = true): string | number {
  const length = files.read(at(name), buffer, 0, keep);
  return length < 0 ? length : buffer.toString('latin1', 0, length);
}

it('reads a kept file anew from its start, without opening it again', () => {
  const files = new Descriptors(10, () => now);
  writeFileSync(at('a'), 'one');
  expect(read(files, 'a')).toBe('one');
  const before = open();
  writeFileSync(at('a'), 'three');
  expect(read(files, 'a')).toBe('three');
  expect(open()).toBe(before);
});

it('notices within a quarter of a second that a file was replaced', () => {
  const files = new Descriptors(10, () => now);
  writeFileSync(at('a'), 'old');
  read(files, 'a');
  writeFileSync(at('next'), 'new');
  renameSync(at('next'), at('a'));
  now += 250;
  files.tick();
  expect(read(files, 'a')).toBe('new');
});

it('says ENOENT of a file that has gone, and closes what it kept of it', () => {
  const files = new Descriptors(10, () => now);
  writeFileSync(at('a'), 'x');
  read(files, 'a');
  unlinkSync(at('a'));
  now += 250;
  files.tick();
  expect(read(files, 'a')).toBe(-constants.errno.ENOENT);
  expect(files.size).toBe(0);
});

it('keeps no more descriptors than its limit and still reads every file', () => {
  const files = new Descriptors(5, () => now);
  const before = open();
  for (let i = 0; i < 20; i++) writeFileSync(at(String(i)), `value ${i}`);
  for (let pass = 0; pass < 2; pass++) {
    for (let i = 0; i < 20; i++) expect(read(files, String(i))).toBe(`value ${i}`);
  }
  expect(open() - before).toBe(5);
});

it('keeps nothing of a file that is read once', () => {
  const files = new Descriptors(10, () => now);
  writeFileSync(at('a'), 'x');
  expect(read(files, 'a', false)).toBe('x');
  expect(files.size).toBe(0);
});

it('reads on where a file fills the page, to its end', () => {
  const files = new Descriptors(10, () => now);
  const long = 'bad page\n'.repeat(2000);
  writeFileSync(at('long'), long);
  expect(read(files, 'long')).toBe(long);
});

it('lists names with kinds and link targets, and says why it cannot', () => {
  const files = new Descriptors(10, () => now);
  mkdirSync(at('sub'));
  writeFileSync(at('file'), '');
  symlinkSync('sub', at('link'));
  const entries = files.list(dir, false);
  expect(Array.isArray(entries) && [...entries].sort((a, b) => a.name.localeCompare(b.name))).toEqual([
    { name: 'file', kind: 'file' },
    { name: 'link', kind: 'link', target: 'sub' },
    { name: 'sub', kind: 'dir' },
  ]);
  expect(files.list(at('nowhere'), true)).toBe(constants.errno.ENOENT);
});
