import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LanePool } from '../../../amdgpu/lanes/pool.ts';
import type { WriteItem, WriteStep } from '../../../amdgpu/lanes/protocol.ts';
import { accessOf, refuseSteps, takeSteps } from '../../../amdgpu/lanes/write.ts';
import { systemClock } from '../../../base/clock.ts';

const { EACCES, EINVAL, EISDIR, ENOENT, EROFS } = constants.errno;

let dir: string;
const at = (name: string): string => join(dir, name);
const step = (name: string, text: string): WriteStep => ({ file: at(name), text });
const text = (name: string): string => readFileSync(at(name), 'utf8');
const always = (): boolean => true;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lane-write-'));
  for (const name of ['a', 'b', 'c']) writeFileSync(at(name), 'a long text that was there before\n');
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('steps', () => {
  it('write exactly their text, in order', () => {
    expect(takeSteps([step('a', 'manual'), step('b', 's 1 1200'), step('a', 'auto')], always)).toEqual([0, 0, 0]);
    expect([text('a'), text('b')]).toEqual(['auto', 's 1 1200']);
  });

  it('end at the first that fails, and those behind it are not tried', () => {
    expect(takeSteps([step('a', '1'), step('none', '2'), step('c', '3')], always)).toEqual([0, ENOENT, -1]);
    expect(text('c')).toMatch(/before/);
  });

  it('create no file', () => {
    takeSteps([step('none', '1')], always);
    expect(existsSync(at('none'))).toBe(false);
  });

  it.each(['', '\n', ' '])('never hand over an empty text: %j is refused before the file is opened', (empty) => {
    expect(takeSteps([step('a', empty), step('b', '1')], always)).toEqual([EINVAL, -1]);
    expect(text('a')).toMatch(/before/);
    expect(takeSteps([step('none', empty)], always)).toEqual([EINVAL]);
  });

  it('are not begun when time is up', () => {
    let left = 2;
    expect(takeSteps([step('a', '1'), step('b', '2'), step('c', '3')], () => left-- > 0)).toEqual([0, 0, -1]);
    expect(text('c')).toMatch(/before/);
  });

  it('tell what stood in the way', () => {
    expect(takeSteps([{ file: dir, text: '1' }], always)).toEqual([EISDIR]);
    expect(refuseSteps([step('a', '1'), step('b', '2')])).toEqual([EROFS, -1]);
  });
});

describe('access', () => {
  it.each<[why: string, mode: number, writable: boolean, expected: number]>([
    ['a file with a write bit may be written', 0o644, true, 0],
    ['one without may not, by root neither, as sysfs has it', 0o444, true, EACCES],
    ['a lane that does not write says so', 0o644, false, EROFS],
  ])('%s', (_why, mode, writable, expected) => {
    rmSync(at('a'));
    writeFileSync(at('a'), 'x', { mode });
    expect(accessOf(at('a'), writable)).toBe(expected);
  });

  it('of what is not there is ENOENT', () => {
    expect(accessOf(at('none'), true)).toBe(ENOENT);
  });
});

describe('a lane process', () => {
  const DEADLINE = 5000;
  const item = (steps: WriteStep[], more: Partial<WriteItem> = {}): WriteItem => ({
    op: 'write',
    steps,
    readBack: [at('a'), at('none')],
    ...more,
  });

  async function withPool<T>(writable: boolean, use: (pool: LanePool) => Promise<T>): Promise<T> {
    const pool = new LanePool({ clock: systemClock, itemDeadline: 2000, writable });
    try {
      return await use(pool);
    } finally {
      pool.close();
    }
  }

  it('writes where it was opened for it, and reads back what stands there then', async () => {
    const outcome = await withPool(true, (pool) =>
      pool.write('x', item([step('a', '250'), step('none', '1')]), DEADLINE),
    );
    expect(outcome).toMatchObject({ op: 'write', asleep: false, steps: [0, ENOENT] });
    const files = outcome.op === 'write' ? outcome.files : [];
    expect([Buffer.from(files[0] as Uint8Array).toString(), files[1]]).toEqual(['250', ENOENT]);
  });

  it('refuses everywhere else, and still reads back', async () => {
    const outcome = await withPool(false, (pool) =>
      pool.write('x', item([step('a', '250'), step('b', '1')]), DEADLINE),
    );
    expect(outcome).toMatchObject({ op: 'write', steps: [EROFS, -1] });
    expect(text('a')).toMatch(/before/);
    expect(outcome.op === 'write' && Buffer.from(outcome.files[0] as Uint8Array).toString()).toMatch(/before/);
  });

  it('writes nothing to a card that sleeps', async () => {
    writeFileSync(at('status'), 'suspended\n');
    const gated = item([step('a', '250')], { gate: at('status') });
    const outcome = await withPool(true, (pool) => pool.write('x', gated, DEADLINE));
    expect(outcome).toMatchObject({ op: 'write', asleep: true, steps: [], files: [] });
    expect(text('a')).toMatch(/before/);
  });

  it('that was too slow to start writes nothing after the time for it', async () => {
    await withPool(true, async (pool) => {
      expect(await pool.write('x', item([step('a', '250')]), 1)).toEqual({ op: 'timeout' });
      expect(await pool.write('x', item([]), DEADLINE)).toMatchObject({ op: 'write', steps: [] });
      expect(text('a')).toMatch(/before/);
    });
  });

  it('says which files it may write', async () => {
    const ask = (writable: boolean) =>
      withPool(writable, (pool) =>
        pool.run([{ owner: 'x', item: { op: 'access', files: [at('a'), at('none')] } }], DEADLINE),
      );
    expect(await ask(true)).toEqual([{ op: 'access', files: [0, ENOENT] }]);
    expect(await ask(false)).toEqual([{ op: 'access', files: [EROFS, ENOENT] }]);
  });
});
