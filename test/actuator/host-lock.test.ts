import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type HostLock, hostLockHolder, takeHostLock } from '../../actuator/host-lock.ts';

const SELF = { pid: 4711, ledger: '/var/lib/nightshift/ledger.db' };

let root: string;
let sysfs: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'host-lock-'));
  sysfs = join(root, 'sys');
  mkdirSync(sysfs);
});
afterEach(() => rmSync(root, { recursive: true }));

async function take(path = sysfs): Promise<HostLock> {
  const lock = await takeHostLock(path, SELF);
  onTestFinished(() => lock.release());
  return lock;
}

/** What the kernel knows the lock of this tree as; written again here, so that a change of it is a decision. */
function nameOf(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true });
  return `\0nightshift-actuator/${dev}/${ino}`;
}

/** Somebody else under that name. */
async function squatter(onVisit: Parameters<typeof createServer>[1]): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => {}));
  server.on('connection', onVisit as never);
  server.listen(nameOf(sysfs));
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return server;
}

async function stranger(): Promise<ChildProcess> {
  const body = `require('node:net').createServer((s) => s.end(JSON.stringify({ pid: process.pid, ledger: '/l.db' })))
    .listen(${JSON.stringify(nameOf(sysfs))}, () => console.log('up'))`;
  const child = spawn(process.execPath, ['-e', body], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout!, 'data');
  return child;
}

describe('the lock of a tree of cards', () => {
  it('is held by one, and the second hears by whom', async () => {
    await take();
    await expect(takeHostLock(sysfs, { pid: 1, ledger: '/other.db' })).rejects.toMatchObject({
      code: 'HOST_LOCK_HELD',
      message: expect.stringContaining('process 4711 (ledger /var/lib/nightshift/ledger.db)'),
    });
    expect(await hostLockHolder(sysfs)).toEqual(SELF);
  });

  it('is free at once after its release', async () => {
    const lock = await takeHostLock(sysfs, SELF);
    await lock.release();
    expect(await hostLockHolder(sysfs)).toBeUndefined();
    await take();
  });

  it('is the same by every path to the tree', async () => {
    const link = join(root, 'link');
    symlinkSync(sysfs, link);
    await take(link);
    await expect(takeHostLock(`${root}/./sys`, SELF)).rejects.toMatchObject({ code: 'HOST_LOCK_HELD' });
  });

  it('does not keep another tree', async () => {
    const other = join(root, 'other');
    mkdirSync(other);
    await take();
    await take(other);
    expect(await hostLockHolder(other)).toEqual(SELF);
  });

  it('is given back at once, also while a visitor stays', async () => {
    const lock = await takeHostLock(sysfs, SELF);
    const visitor = connect({ path: nameOf(sysfs), allowHalfOpen: true });
    visitor.on('error', () => {});
    await once(visitor, 'connect');
    const start = performance.now();
    await lock.release();
    expect(performance.now() - start).toBeLessThan(300);
    visitor.destroy();
    await take();
  });

  it('ends with its process, however that ends', async () => {
    const child = await stranger();
    expect(await hostLockHolder(sysfs)).toEqual({ pid: child.pid, ledger: '/l.db' });
    await expect(takeHostLock(sysfs, SELF)).rejects.toThrow(`process ${child.pid}`);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await take();
  });

  it('does not keep its process alive', async () => {
    const before = process.getActiveResourcesInfo().filter((kind) => kind === 'PipeWrap' || kind === 'PipeServerWrap');
    await take();
    const after = process.getActiveResourcesInfo().filter((kind) => kind === 'PipeWrap' || kind === 'PipeServerWrap');
    expect(after).toEqual(before);
  });
});

describe('whoever sits on the name', () => {
  it.each([
    ['says nothing', () => {}],
    ['says nonsense', (socket: { end(text: string): void }) => socket.end('hello')],
    ['names a process that cannot be', (socket: { end(text: string): void }) => socket.end('{"pid":-1,"ledger":""}')],
    ['never ends', (socket: { write(text: string): void }) => socket.write('x'.repeat(100_000))],
  ])('and %s, holds it all the same', async (_what, onVisit) => {
    await squatter(onVisit as never);
    await expect(takeHostLock(sysfs, SELF)).rejects.toMatchObject({
      code: 'HOST_LOCK_HELD',
      message: expect.stringContaining('does not say who'),
    });
    expect(await hostLockHolder(sysfs)).toBe('unknown');
  });
});

it('a tree that is not there cannot be locked', async () => {
  await expect(takeHostLock(join(root, 'none'), SELF)).rejects.toMatchObject({
    code: 'HOST_LOCK_FAILED',
    message: expect.stringContaining('ENOENT'),
  });
});
