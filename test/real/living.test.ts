import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { daemon, isRunning, NIGHTSHIFT } from '../support/daemon.ts';
import { inTreeUnavailable, runInTree } from '../support/in-tree.ts';
import { folderInMemory } from '../support/memory.ts';
import { rocmSmiJson } from '../support/rocm-smi.ts';
import { skipUnless } from '../support/skips.ts';

const scratch = (name: string): string => {
  const dir = folderInMemory(`nightshift-${name}-`);
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

function installed(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('rocm-smi on a living node', () => {
  const simulate = async (more: readonly string[] = []): Promise<{ dir: string; log: () => string }> => {
    const lacking = inTreeUnavailable() ?? (installed('rocm-smi') ? undefined : 'rocm-smi is not installed');
    skipUnless(lacking === undefined, lacking ?? '');
    const dir = join(scratch('smi'), 'node');
    const sim = daemon(['sim', 'start', dir, '--model=mi210', '--cards=2', '--hz=50', ...more]);
    await sim.says('Ctrl-C');
    return { dir, log: sim.log };
  };

  it('reads it again and again while it is written, without an error', async () => {
    const { dir } = await simulate(['--scenario=night-shift', '--driver=linux-6.1']);
    execFileSync(process.execPath, [NIGHTSHIFT, 'sim', 'load', dir, '1', '0.6']);
    const clocks = new Set<string>();
    for (let round = 0; round < 8; round++) {
      const { stderr, stdout } = runInTree(dir, 'rocm-smi', ['-a', '--json']);
      expect(stderr).not.toMatch(/assert|abort|exception/i);
      const shown = JSON.parse(stdout) as Record<string, Record<string, string>>;
      expect(Number(shown.card0?.['Average Graphics Package Power (W)'])).toBeGreaterThan(30);
      expect(Number(shown.card0?.['Temperature (Sensor junction) (C)'])).toBeGreaterThan(20);
      for (const [key, value] of Object.entries(shown.card0 ?? {})) if (/clock speed/.test(key)) clocks.add(value);
    }
    expect(clocks.size).toBeGreaterThan(2);
  }, 60_000);

  it('sets caps and clocks, and power and temperature follow', async () => {
    const { dir } = await simulate(['--speed=20']);
    const set = (...args: string[]): void => {
      const { status, stdout, stderr } = runInTree(dir, 'rocm-smi', args);
      expect(`${stdout}${stderr}`).not.toMatch(/Unable|not supported|ERROR/i);
      expect(status).toBe(0);
    };
    for (const gpu of ['0', '1']) execFileSync(process.execPath, [NIGHTSHIFT, 'sim', 'load', dir, gpu, '1']);
    await sleep(10_000);
    const before = rocmSmiJson(dir, ['-P', '-t']).card0 ?? {};
    set('-d', '0', '--setpoweroverdrive', '180', '--autorespond', 'y');
    await sleep(10_000);
    const after = rocmSmiJson(dir, ['-P', '-t', '-M']).card0 ?? {};
    expect(Number(before['Average Graphics Package Power (W)'])).toBeGreaterThan(280);
    expect(Number(after['Average Graphics Package Power (W)'])).toBeLessThan(185);
    expect(Number(after['Max Graphics Package Power (W)'])).toBe(180);
    const junction = 'Temperature (Sensor junction) (C)';
    expect(Number(after[junction])).toBeLessThan(Number(before[junction]) - 5);
    set('--setperflevel', 'manual');
    await sleep(300);
    set('-d', '0', '--setsclk', '0');
    await sleep(1000);
    const clock = rocmSmiJson(dir, ['-c']).card0 ?? {};
    expect(Object.entries(clock).find(([key]) => /sclk clock speed/.test(key))?.[1]).toContain('500Mhz');
    expect(readFileSync(join(dir, 'driver.log'), 'utf8')).toBe('');
  }, 90_000);
});

describe('nightshift sim start --fuse', () => {
  it('lets a write fail in the call, and the reads of a hung GPU wait until it is well again', async () => {
    skipUnless(installed('fusermount3') && installed('python3'), 'no FUSE here');
    const home = scratch('fuse');
    const [dir, mount] = [join(home, 'node'), join(home, 'mount')];
    mkdirSync(mount);
    const sim = daemon(['sim', 'start', dir, '--model=mi210', '--cards=1', '--fuse', mount]);
    try {
      await sim.says('Ctrl-C');
    } catch (error) {
      skipUnless(!/SIMULATION_NO_FUSE/.test(sim.log()), 'FUSE cannot be mounted here');
      throw error;
    }
    const device = join(mount, 'sys/class/drm/card0/device');
    const cap = join(device, 'hwmon', readdirSync(join(device, 'hwmon'))[0] as string, 'power1_cap');
    expect(() => writeFileSync(cap, '999000000\n')).toThrow(/EINVAL/);
    writeFileSync(cap, '200000000\n');
    expect(Number(readFileSync(cap, 'utf8'))).toBe(200e6);
    execFileSync(process.execPath, [NIGHTSHIFT, 'sim', 'event', dir, 'hang', '0']);
    await sleep(300);
    // Nobody can interrupt that read, so another process makes it.
    const reading = daemon([join(device, 'gpu_busy_percent')], ['cat']);
    await sleep(1000);
    expect(isRunning(reading.pid)).toBe(true);
    expect(reading.log()).toBe('');
    expect(Number(readFileSync(join(device, 'mem_info_vram_total'), 'utf8'))).toBe(68_702_699_520);
    execFileSync(process.execPath, [NIGHTSHIFT, 'sim', 'event', dir, 'unhang', '0']);
    expect((await reading.ended).code).toBe(0);
    expect(reading.log()).toMatch(/^\d+ *\n$/);
    // While the chip starts anew the driver refuses to look and to set; then all is as it was at boot.
    execFileSync(process.execPath, [NIGHTSHIFT, 'sim', 'event', dir, 'reset', '0']);
    expect(() => readFileSync(join(device, 'gpu_busy_percent'))).toThrow(/EPERM/);
    expect(() => writeFileSync(cap, '200000000\n')).toThrow(/EPERM/);
    await expect.poll(() => readFileSync(cap, 'utf8'), { timeout: 10_000 }).toMatch(/^300000000 *\n/);
    expect((await sim.stop()).code).toBe(0);
    expect(readdirSync(mount)).toEqual([]);
  }, 60_000);
});
