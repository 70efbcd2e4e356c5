import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folderInMemory } from '../support/memory.ts';
import { skipUnless } from '../support/skips.ts';

const MAIN = join(import.meta.dirname, '../../dist/cli/main.js');
let dir: string;
beforeEach(() => {
  dir = folderInMemory('nightshift-commands-');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const nightshift = (...args: string[]) =>
  execa('node', [MAIN, ...args], { cwd: dir, reject: false, env: { TMPDIR: dir }, timeout: 40_000 });

describe('the command line', () => {
  it.each(['exporter', 'actuator', 'start', 'doctor', 'capture', 'revert'])(
    'explains %s by itself',
    async (command) => {
      const { stdout, exitCode } = await nightshift(command, '--help');
      expect(stdout).toContain('--path.sysfs');
      expect(exitCode).toBe(0);
    },
  );

  it.each([
    [['doctor', '--jsn'], /^nightshift: FLAG_UNKNOWN: .*Did you mean --json\?$/, 2],
    [['doctor', '--path.sysfs=/no/such/folder'], /^nightshift: PATH_INVALID: .*no such folder/, 2],
    [['docs', '--check', '--output=stale.md'], /^nightshift: DOCS_STALE: .*npm run docs/, 2],
    [['docs', '--output=no/such/m.md'], /^nightshift: OUTPUT_UNWRITABLE: /, 1],
    [['doctr'], /^nightshift: COMMAND_INVALID: .*Did you mean doctor\?$/, 2],
  ] as const)('answers %j with one line', async (args, line, code) => {
    const { stderr, exitCode } = await nightshift(...args);
    expect(stderr).toMatch(line);
    expect(stderr.split('\n')).toHaveLength(1);
    expect(exitCode).toBe(code);
  });

  it.each(['cases', 'history', 'explain', 'pause', 'resume', 'revert', 'trigger'])(
    'lets %s speak to any actuator',
    async (command) => {
      const { stdout, exitCode } = await nightshift(command, '--help');
      for (const flag of ['--actuator.url', '--ledger', '--web.bearer-token-file']) expect(stdout).toContain(flag);
      expect(exitCode).toBe(0);
    },
  );

  it('writes the reference, and then finds it up to date', async () => {
    expect((await nightshift('docs', '--output=m.md')).stdout).toBe('m.md: written');
    expect((await nightshift('docs', '--check', '--output=m.md')).stdout).toBe('m.md: up to date');
  });

  it('prints the findings of the doctor as JSON, and fails where nothing is readable', async () => {
    mkdirSync(join(dir, 'sys'));
    const { stdout, exitCode } = await nightshift('doctor', '--json', `--path.sysfs=${dir}/sys`);
    expect(JSON.parse(stdout)).toMatchObject({ cards: [], driver: { loaded: false } });
    expect(exitCode).toBe(1);
  });
});

describe('nightshift start', () => {
  const hasCards = existsSync('/sys/bus/pci/drivers/amdgpu');

  it('without a card serves a simulated node on loopback, says so, and leaves nothing behind', async () => {
    skipUnless(!hasCards, 'this machine has AMD GPUs');
    const running = nightshift('start', '--web.listen-address=127.0.0.1:0', '--actuator.listen-address=127.0.0.1:0');
    let shown = '';
    running.stdout?.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
    });
    await expect.poll(() => shown, { timeout: 35_000 }).toContain('Ctrl-C');
    expect(shown).toContain('SIMULATED');
    const url = /http:\/\/127\.0\.0\.1:\d+\/metrics/.exec(shown)?.[0] ?? '';
    const text = await (await fetch(url)).text();
    expect(text.match(/^amdgpu_info\{.*simulated="true".*\} 1$/gm)).toHaveLength(4);
    expect(text).toContain('amdgpu_node_info{name="simulated"} 1');
    const joules = (scrape: string): number =>
      Number(/^amdgpu_energy_joules_total\{gpu="0"\} (\S+)$/m.exec(scrape)?.[1]);
    const later = async (): Promise<number> => joules(await (await fetch(url)).text());
    await expect.poll(later, { timeout: 10_000 }).toBeGreaterThan(joules(text));
    const page = await (await fetch(url.replace(/metrics$/, ''))).text();
    expect(page).toContain('SIMULATED');
    // Beside it an actuator acts on that node: shown is how to ask it.
    const [, cases = ''] = /-n 1 node \S+ (cases --ledger \S+)/.exec(shown) ?? [];
    expect((await nightshift(...cases.split(' '), '--json')).stdout).toContain('"cases"');
    running.kill('SIGTERM');
    expect((await running).exitCode).toBe(0);
    expect(readdirSync(dir)).toEqual([]);
  }, 60_000);

  it('does not serve a simulated node to others', async () => {
    skipUnless(!hasCards, 'this machine has AMD GPUs');
    const { stderr, exitCode } = await nightshift('start', '--web.listen-address=:0');
    expect(stderr).toMatch(/^nightshift: SIMULATION_LOOPBACK_ONLY: /);
    expect(exitCode).toBe(2);
    expect(readdirSync(dir)).toEqual([]);
  }, 30_000);

  it('never simulates where a path is given', async () => {
    mkdirSync(join(dir, 'sys'));
    writeFileSync(join(dir, 'sys/empty'), '');
    const running = nightshift('start', `--path.sysfs=${dir}/sys`, '--web.listen-address=127.0.0.1:0');
    let shown = '';
    running.stderr?.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
    });
    running.stdout?.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
    });
    await expect.poll(() => shown, { timeout: 20_000 }).toContain('no AMD GPU found');
    expect(shown).not.toContain('SIMULATED');
    running.kill('SIGTERM');
    await running;
  }, 30_000);
});
