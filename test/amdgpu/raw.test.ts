import { constants } from 'node:os';
import { expect, it } from 'vitest';
import { RawFiles, reasonOf } from '../../amdgpu/raw.ts';
import { REASONS } from '../../model/reading.ts';

it.each([
  ['EPERM', 'busy'],
  ['EBUSY', 'busy'],
  ['EACCES', 'denied'],
  ['EROFS', 'denied'],
  ['EOPNOTSUPP', 'unsupported'],
  ['ENODATA', 'absent'],
  ['ENODEV', 'gone'],
  ['ENOENT', 'gone'],
  ['EIO', 'timeout'],
  ['ETIME', 'timeout'],
  ['ETIMEDOUT', 'timeout'],
  ['EMFILE', 'exhausted'],
  ['ENFILE', 'exhausted'],
  ['EINVAL', 'failed'],
] as const)('%s means %s', (name, reason) => {
  expect(reasonOf(constants.errno[name])).toBe(reason);
  expect(REASONS).toContain(reason);
});

it('an unanswered remote I/O of the firmware is a timeout', () => {
  expect(reasonOf(121)).toBe('timeout');
});

it('a text is parsed once for the same bytes, and again for others', () => {
  const raw = new RawFiles();
  let calls = 0;
  const parser = (text: string): string => {
    calls += 1;
    return text.trim();
  };
  raw.set('a', Buffer.from('1\n'));
  expect([raw.parse('a', parser), raw.parse('a', parser)]).toEqual(['1', '1']);
  raw.set('a', Buffer.from('1\n'));
  expect(raw.parse('a', parser)).toBe('1');
  expect(calls).toBe(1);
  raw.set('a', Buffer.from('2\n'));
  expect(raw.parse('a', parser)).toBe('2');
  expect(calls).toBe(2);
});

it('a failed read replaces what was there', () => {
  const raw = new RawFiles();
  raw.set('a', Buffer.from('1\n'));
  raw.set('a', 5);
  expect(raw.parse('a', String)).toBeUndefined();
  expect(raw.bytes('a')).toBeUndefined();
  expect(raw.errno('a')).toBe(5);
  raw.set('a', Buffer.from('2\n'));
  expect(raw.text('a')).toBe('2\n');
  expect(raw.errno('a')).toBeUndefined();
});

it('a copy is not changed with the frame that it was a window on', () => {
  const frame = Buffer.from('1\n2\n');
  const raw = new RawFiles();
  raw.set('a', frame.subarray(0, 2), true);
  frame.fill(0x39);
  expect(raw.text('a')).toBe('1\n');
});

it('a content that a read uses up is fresh once a read', () => {
  const raw = new RawFiles();
  expect(raw.takeFresh('a')).toBe(false);
  raw.set('a', Buffer.from('1\n'));
  expect([raw.takeFresh('a'), raw.takeFresh('a')]).toEqual([true, false]);
  raw.set('a', Buffer.from('1\n'));
  expect(raw.takeFresh('a')).toBe(true);
});
