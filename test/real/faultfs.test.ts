import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Errno, type FaultFs, faultsUnavailable, mountFaults } from '../support/faultfs.ts';
import { skipUnless } from '../support/skips.ts';

const DEVICE = 'sys/devices/pci0000:00/0000:c1:00.0';
const POWER = `${DEVICE}/hwmon/hwmon3/power1_average`;
const BUSY = `${DEVICE}/gpu_busy_percent`;

let source: string;
let faults: FaultFs;

beforeEach(async () => {
  skipUnless(faultsUnavailable() === undefined, faultsUnavailable() ?? '');
  source = mkdtempSync(join(tmpdir(), 'faultfs-source-'));
  mkdirSync(join(source, DEVICE, 'hwmon/hwmon3'), { recursive: true });
  mkdirSync(join(source, 'sys/class/drm'), { recursive: true });
  writeFileSync(join(source, POWER), '41000000\n');
  writeFileSync(join(source, BUSY), '7\n');
  symlinkSync('../../devices/pci0000:00/0000:c1:00.0', join(source, 'sys/class/drm/card0'));
  symlinkSync(join(source, DEVICE), join(source, 'sys/class/drm/absolute'));
  faults = await mountFaults(source);
});

afterEach(async () => {
  await faults?.unmount();
  if (source) rmSync(source, { recursive: true });
});

const mounted = (path: string) => join(faults.path, path);
const read = (path: string) => readFileSync(mounted(path), 'utf8');

function readAgain(fd: number): string {
  const buffer = Buffer.alloc(4096);
  return buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, 0));
}

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
  return 'no error';
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('without faults', () => {
  it('shows the directory as sysfs would: symlinks lead on, every attribute says 4096 bytes, nothing can be written', () => {
    expect(readdirSync(mounted('sys/class/drm')).sort()).toEqual(['absolute', 'card0']);
    expect(readlinkSync(mounted('sys/class/drm/card0'))).toBe('../../devices/pci0000:00/0000:c1:00.0');
    expect(read('sys/class/drm/card0/gpu_busy_percent')).toBe('7\n');
    const fd = openSync(mounted(BUSY), 'r');
    expect(fstatSync(fd).size).toBe(4096);
    closeSync(fd);
    expect(codeOf(() => writeFileSync(mounted(BUSY), '1'))).toBe('EROFS');
  });

  it('keeps absolute links to the source inside the mount, where faults still reach', async () => {
    await faults.set(BUSY, { errno: 'EIO' });
    expect(codeOf(() => read('sys/class/drm/absolute/gpu_busy_percent'))).toBe('EIO');
  });

  it('shows a kept descriptor the present content, also when the file was replaced', () => {
    const fd = openSync(mounted(BUSY), 'r');
    expect(readAgain(fd)).toBe('7\n');
    writeFileSync(join(source, BUSY), '100\n');
    expect(readAgain(fd)).toBe('100\n');
    writeFileSync(join(source, 'next'), '55\n');
    renameSync(join(source, 'next'), join(source, BUSY));
    expect(readAgain(fd)).toBe('55\n');
    closeSync(fd);
  });

  it('answers ENODEV on a kept descriptor whose file has gone', () => {
    const fd = openSync(mounted(BUSY), 'r');
    unlinkSync(join(source, BUSY));
    expect(codeOf(() => readAgain(fd))).toBe('ENODEV');
    closeSync(fd);
  });

  it('counts the reads of each file and nothing else', () => {
    expect(faults.allReads().size).toBe(0);
    read('sys/class/drm/card0/gpu_busy_percent');
    read(BUSY);
    closeSync(openSync(mounted(POWER), 'r'));
    expect(faults.reads(BUSY)).toBe(2);
    expect(faults.reads(mounted(BUSY))).toBe(2);
    expect(faults.reads(POWER)).toBe(0);
    expect([...faults.allReads().keys()]).toEqual([BUSY]);
  });
});

describe('errors', () => {
  const atRead: Errno[] = ['EBUSY', 'EIO', 'EINVAL', 'ENODATA', 'EPERM', 'EOPNOTSUPP', 'ENODEV', 'ETIME', 'EREMOTEIO'];
  it.each(atRead)('gives %s from read, on kept descriptors too, and stops when cleared', async (errno) => {
    const fd = openSync(mounted(BUSY), 'r');
    await faults.set(BUSY, { errno });
    // Node prints EOPNOTSUPP under its other name, and has none for ETIME.
    const expected = { EOPNOTSUPP: 'ENOTSUP', ETIME: 'Unknown system error -62' }[errno as string] ?? errno;
    expect(codeOf(() => readAgain(fd))).toBe(expected);
    expect(codeOf(() => read(BUSY))).toBe(expected);
    expect(read(POWER)).toBe('41000000\n');
    await faults.clear(BUSY);
    expect(readAgain(fd)).toBe('7\n');
    closeSync(fd);
  });

  it.each<Errno>(['EACCES', 'EMFILE', 'ENFILE', 'ENOENT'])(
    'gives %s from open, and leaves kept descriptors alone',
    async (errno) => {
      const fd = openSync(mounted(BUSY), 'r');
      await faults.set(BUSY, { errno });
      expect(codeOf(() => openSync(mounted(BUSY), 'r'))).toBe(errno);
      expect(readAgain(fd)).toBe('7\n');
      closeSync(fd);
    },
  );

  it('takes the stage from `on` where it is given', async () => {
    await faults.set(BUSY, { errno: 'EBUSY', on: 'open' });
    expect(codeOf(() => openSync(mounted(BUSY), 'r'))).toBe('EBUSY');
  });

  it('strikes only as often as `times` says', async () => {
    await faults.set(BUSY, { errno: 'EBUSY', times: 2 });
    expect([codeOf(() => read(BUSY)), codeOf(() => read(BUSY)), read(BUSY)]).toEqual(['EBUSY', 'EBUSY', '7\n']);
  });

  it('refuses a directory to list', async () => {
    await faults.set(DEVICE, { errno: 'EACCES' });
    expect(codeOf(() => readdirSync(mounted(DEVICE)))).toBe('EACCES');
    expect(read(BUSY)).toBe('7\n');
  });

  it('says so when it does not know an errno', async () => {
    await expect(faults.set(BUSY, { errno: 'ENOSUCH' as Errno })).rejects.toThrow(/ENOSUCH/);
    expect(read(BUSY)).toBe('7\n');
  });
});

describe('patterns', () => {
  it.each([
    ['sys/**/power1_average', ['POWER']],
    ['**/power1_average', ['POWER']],
    [`${DEVICE}/*`, ['BUSY']],
    [`${DEVICE}/gpu_busy_percen?`, ['BUSY']],
    [`/${DEVICE}/**`, ['POWER', 'BUSY']],
    ['**', ['POWER', 'BUSY']],
    ['power1_average', []],
    [`${DEVICE}/gpu.busy.percent`, []],
  ])('%s reaches %s', async (pattern, reached) => {
    await faults.set(pattern, { errno: 'EIO' });
    const struck = Object.entries({ POWER, BUSY }).filter(([, path]) => codeOf(() => read(path)) === 'EIO');
    expect(struck.map(([name]) => name)).toEqual(reached);
  });

  it('lets the fault set last win, and clears all of them at once', async () => {
    await faults.set('**', { errno: 'EIO' });
    await faults.set(BUSY, { empty: true });
    expect(read(BUSY)).toBe('');
    expect(codeOf(() => read(POWER))).toBe('EIO');
    await faults.clear();
    expect([read(BUSY), read(POWER)]).toEqual(['7\n', '41000000\n']);
  });
});

describe('time', () => {
  it('answers late', async () => {
    await faults.set(BUSY, { delayMs: 80 });
    const before = performance.now();
    expect(read(BUSY)).toBe('7\n');
    expect(performance.now() - before).toBeGreaterThan(79);
  });

  it('hangs one reader, deaf to SIGKILL, while others are served, until the fault is cleared', async () => {
    await faults.set(POWER, { hangSeconds: 50 });
    const reader = spawn('cat', [mounted(POWER)], { stdio: 'ignore' });
    const exit = once(reader, 'exit');
    await until(() => faults.reads(POWER) === 1);
    expect(read(BUSY)).toBe('7\n');
    reader.kill('SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(reader.signalCode).toBeNull();
    await faults.clear(POWER);
    expect((await exit)[1]).toBe('SIGKILL');
  });

  it('serves others while many readers hang', async () => {
    await faults.set(POWER, { hangSeconds: 50 });
    const readers = Array.from({ length: 20 }, () => promisify(execFile)('cat', [mounted(POWER)]));
    await until(() => faults.reads(POWER) === readers.length);
    expect(read(BUSY)).toBe('7\n');
    await faults.clear();
    expect((await Promise.all(readers)).map(({ stdout }) => stdout)).toEqual(readers.map(() => '41000000\n'));
  });

  it('lets a hanging reader go by itself after the time', async () => {
    await faults.set(BUSY, { hangSeconds: 0.1 });
    expect(read(BUSY)).toBe('7\n');
  });
});

describe('vanishing', () => {
  it('takes a subtree away, and its kept descriptors stay dead when it comes back', async () => {
    const fd = openSync(mounted(BUSY), 'r');
    await faults.vanish(DEVICE);
    expect(existsSync(mounted(DEVICE))).toBe(false);
    expect(codeOf(() => read(POWER))).toBe('ENOENT');
    expect(codeOf(() => read('sys/class/drm/card0/gpu_busy_percent'))).toBe('ENOENT');
    expect(readdirSync(mounted('sys/devices/pci0000:00'))).toEqual([]);
    expect(codeOf(() => readAgain(fd))).toBe('ENODEV');
    await faults.clear(DEVICE);
    expect(read(BUSY)).toBe('7\n');
    expect(codeOf(() => readAgain(fd))).toBe('ENODEV');
    closeSync(fd);
  });

  it('takes a symlink away and leaves what it led to', async () => {
    await faults.vanish('sys/class/drm/card0');
    expect(readdirSync(mounted('sys/class/drm'))).toEqual(['absolute']);
    expect(read(BUSY)).toBe('7\n');
  });
});

describe('unmounting', () => {
  it('frees readers that hang, leaves nothing behind, and may be done twice', async () => {
    await faults.set(BUSY, { hangSeconds: 50 });
    const reader = spawn('cat', [mounted(BUSY)], { stdio: 'ignore' });
    const exit = once(reader, 'exit');
    await until(() => faults.reads(BUSY) === 1);
    await faults.unmount();
    await faults.unmount();
    expect((await exit)[0]).toBe(1);
    expect(existsSync(faults.path)).toBe(false);
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(faults.path);
    expect(faults.reads(BUSY)).toBe(1);
    await expect(faults.set(BUSY, { empty: true })).rejects.toThrow('faultfs ended');
  });

  it('happens by itself when the process that mounted is killed', async () => {
    const program = new URL('../support/faultfs.py', import.meta.url).pathname;
    const mount = mkdtempSync(join(tmpdir(), 'faultfs-orphan-'));
    const script = `exec 3> >(exec /usr/bin/python3 ${program} ${source} ${mount} ${mount}.reads >/dev/null); exec sleep 60`;
    const owner = spawn('bash', ['-c', script], { stdio: 'ignore' });
    await until(() => readFileSync('/proc/mounts', 'utf8').includes(mount));
    owner.kill('SIGKILL');
    await until(() => !existsSync(mount));
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(mount);
    expect(existsSync(`${mount}.reads`)).toBe(false);
  });
});
