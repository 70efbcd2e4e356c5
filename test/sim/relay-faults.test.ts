import { describe, expect, it } from 'vitest';
import { expressionOf, Faults, type RelayFault } from '../../sim/relay-faults.ts';
import { parseRequest } from '../../sim/relay-wire.ts';

describe('a pattern', () => {
  it.each([
    ['sys/*/power1_cap', 'sys/a/power1_cap', true],
    ['sys/*/power1_cap', 'sys/a/b/power1_cap', false],
    ['sys/**/power1_cap', 'sys/a/b/power1_cap', true],
    ['sys/**/power1_cap', 'sys/power1_cap', true],
    ['sys/**', 'sys/a/b', true],
    ['sys/card?', 'sys/card1', true],
    ['sys/card?', 'sys/card10', false],
    ['sys/0000:03:00.0', 'sys/0000:03:0000', false],
    ['sys/(a)+[b]', 'sys/(a)+[b]', true],
  ])('%s and %s: %s', (pattern, path, matches) => {
    expect(new RegExp(`^${expressionOf(pattern)}$`).test(path)).toBe(matches);
  });

  it('covers what lies below where it is asked to', () => {
    const regex = new RegExp(`^${expressionOf('sys/card1', true)}$`);
    expect(['sys/card1', 'sys/card1/x/y', 'sys/card10'].map((path) => regex.test(path))).toEqual([true, true, false]);
  });
});

describe('faults', () => {
  const only = (fault: RelayFault) => {
    const faults = new Faults();
    faults.set('sys/x', fault);
    return faults;
  };

  it.each<[RelayFault, object]>([
    [{ errno: 'EIO' }, { read: 'EIO' }],
    [{ errno: 'EIO', on: 'write' }, {}],
    [{ errno: 'EACCES' }, { openRead: 'EACCES', openWrite: 'EACCES' }],
    [{ errno: 'EROFS', on: 'write' }, { openWrite: 'EROFS' }],
    [{ delayMs: 250 }, { delay: 0.25 }],
    [{ delayMs: 250, on: 'write' }, {}],
    [{ ignoreWrites: true }, {}],
  ])('%j are told to the mounted side as %j', (fault, order) => {
    expect(only(fault).orders()).toEqual([{ key: 1, match: 'sys/x', ...order }]);
  });

  it.each<[RelayFault, unknown]>([
    [{ errno: 'EIO' }, { ok: false, errno: 'EIO' }],
    [{ errno: 'EIO', on: 'read' }, undefined],
    [{ delayMs: 1 }, undefined],
    [{ ignoreWrites: true }, { ok: true, changed: [] }],
    [{ vanish: true }, undefined],
  ])('%j answer a write with %j', async (fault, answer) => {
    expect(await only(fault).beforeWrite('sys/x')).toEqual(answer);
    expect(await only(fault).beforeWrite('sys/y')).toBeUndefined();
  });

  it('that were set last win, once for each pattern, and go when they are cleared', async () => {
    const faults = only({ errno: 'EIO' });
    faults.set('sys/*', { errno: 'EBUSY' });
    expect(await faults.beforeWrite('sys/x')).toMatchObject({ errno: 'EBUSY' });
    faults.set('sys/x', { errno: 'EPERM' });
    expect(await faults.beforeWrite('sys/x')).toMatchObject({ errno: 'EPERM' });
    expect(faults.orders().length).toBe(2);
    faults.clear('sys/x');
    expect(await faults.beforeWrite('sys/x')).toMatchObject({ errno: 'EBUSY' });
    faults.clear();
    expect(await faults.beforeWrite('sys/x')).toBeUndefined();
  });

  it('that hold a write up let it go when they are cleared', async () => {
    const faults = only({ delayMs: 3_600_000 });
    const write = faults.beforeWrite('sys/x');
    faults.clear();
    expect(await write).toBeUndefined();
  });
});

describe('a line of the relay', () => {
  it('carries bytes in base64', () => {
    expect(parseRequest('{"op":"write","path":"sys/x","data":"YXV0bwo="}')).toEqual({
      op: 'write',
      path: 'sys/x',
      text: 'auto\n',
    });
  });

  it.each([
    '',
    '[]',
    '1',
    '"x"',
    '{"op":"write","path":"sys/x"}',
    '{"op":"read","path":""}',
    '{"op":"attach"}',
    '{"op":"rm"}',
  ])('that says %s says nothing', (line) => {
    expect(parseRequest(line)).toBeUndefined();
  });
});
