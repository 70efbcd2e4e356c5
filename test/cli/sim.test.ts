import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeNode, writeTree } from '../../sim/tree.ts';
import { daemon } from '../support/daemon.ts';
import { folderInMemory } from '../support/memory.ts';

const MAIN = join(import.meta.dirname, '../../dist/cli/main.js');
let dir: string;
beforeEach(() => {
  dir = folderInMemory('nightshift-sim-');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const nightshift = (...args: string[]) =>
  execa('node', [MAIN, ...args], { cwd: dir, reject: false, env: { TMPDIR: dir }, timeout: 40_000 });

/** First GPU of an MI210 node. */
const FIRST = 'sys/devices/pci0000:00/0000:00:01.1/0000:03:00.0';

async function started(...more: string[]): Promise<{ node: string; sim: ReturnType<typeof daemon> }> {
  const node = join(dir, 'node');
  const sim = daemon(['sim', 'start', node, '--model=mi210', '--cards=2', ...more]);
  await sim.says('Ctrl-C');
  return { node, sim };
}

describe('nightshift sim', () => {
  it('lets a node live in a folder, hears of loads and events, and leaves the files when it is stopped', async () => {
    const { node, sim } = await started('--scenario=quiet-night');
    expect(sim.log()).toContain('SIMULATED: 2 GPUs (mi210)');
    const busy = (): number => Number(readFileSync(join(node, FIRST, 'gpu_busy_percent'), 'utf8'));
    expect((await nightshift('sim', 'load', node, '0', '0.9')).stdout).toBe('load: GPU 0');
    await expect.poll(busy, { timeout: 5000 }).toBeGreaterThan(70);
    expect((await nightshift('sim', 'event', node, 'ambient', '40')).stdout).toBe('the room has 40 °C');
    expect((await nightshift('sim', 'event', node, 'hang', 'all')).stdout).toBe('hang: GPU 0, 1');
    expect(readFileSync(join(node, FIRST, 'gpu_metrics'))).toHaveLength(0);
    const wrong = await nightshift('sim', 'event', node, 'hang', '7');
    expect(wrong.stderr).toMatch(
      /^nightshift: SIMULATION_EVENT_INVALID: hang 7: there is no GPU 7; this node has 0 to 1\. Write/,
    );
    expect(wrong.exitCode).toBe(2);
    expect((await sim.stop('SIGINT')).code).toBe(0);
    expect(readdirSync(node).sort()).toEqual(['.simulated-node', 'driver.log', 'proc', 'sys', 'truth.jsonl']);
    const gone = await nightshift('sim', 'event', node, 'unhang', '0');
    expect(gone.stderr).toMatch(/^nightshift: SIMULATION_NOT_RUNNING: /);
    expect(gone.exitCode).toBe(1);
  }, 60_000);

  it('starts again where it was killed, and not where it runs', async () => {
    const { node, sim } = await started();
    const second = await nightshift('sim', 'start', node);
    expect(second.stderr).toMatch(/SIMULATION_RUNNING: .* is kept alive by process \d+ already/);
    expect(second.exitCode).toBe(1);
    await sim.stop('SIGKILL');
    expect(existsSync(join(node, '.owner'))).toBe(true);
    const { sim: again } = await started();
    expect((await again.stop()).code).toBe(0);
  }, 60_000);

  it('takes a scenario from a file, and tells what is wrong in it with file, line and column', async () => {
    writeFileSync(join(dir, 'mine.yaml'), 'description: x\nduration: 1m\ntimeline:\n  - { at: 5s, event: explode }\n');
    const { stderr, exitCode } = await nightshift('sim', 'start', join(dir, 'node'), '--scenario', 'mine.yaml');
    expect(stderr).toMatch(
      /^nightshift: SCENARIO_INVALID: .*mine\.yaml:4:22: timeline\.0\.event must be one of load, ambient/,
    );
    expect(exitCode).toBe(2);
    expect(existsSync(join(dir, 'node'))).toBe(false);
  }, 30_000);

  it.each([
    [['--model=mi300z'], /FLAG_INVALID: --model=mi300z: use one of mi100, mi210/],
    [['--model=mi210', '--partition=cpx'], /SIMULATION_OPTION_INVALID: no such node: mi210 cannot be partitioned/],
    [['--model=mi300x', '--partition=tpx'], /SIMULATION_OPTION_INVALID: no such node: mi300x has no mode tpx in nps1/],
    [['--scenario=hot-rom'], /SCENARIO_UNKNOWN: .*Did you mean hot-room\?/],
    [['--speed=0'], /FLAG_INVALID: --speed=0: must be between 1 and 3600/],
  ] as const)(
    'refuses %j',
    async (args, line) => {
      const { stderr, exitCode } = await nightshift('sim', 'start', join(dir, 'node'), ...args);
      expect(stderr).toMatch(line);
      expect(exitCode).toBe(2);
      expect(readdirSync(dir)).toEqual([]);
    },
    30_000,
  );

  it('never writes to a folder with somebody else’s files', async () => {
    mkdirSync(join(dir, 'home'));
    writeFileSync(join(dir, 'home', 'letter'), 'dear');
    const { stderr, exitCode } = await nightshift('sim', 'start', join(dir, 'home'));
    expect(stderr).toMatch(/SIMULATION_FOREIGN_FOLDER/);
    expect(exitCode).toBe(2);
    expect(readdirSync(join(dir, 'home'))).toEqual(['letter']);
  }, 30_000);

  it('writes nothing where a flag is wrong, and says nothing of servers that died with the last start', async () => {
    const there = join(dir, 'node');
    for (const listen of ['foo', '0.0.0.0:0', '127.0.0.1:70000']) {
      const { exitCode } = await nightshift('sim', 'start', there, '--model=mi210', `--inference.listen=${listen}`);
      expect([exitCode, readdirSync(dir)], listen).toEqual([2, []]);
    }
    writeTree(there, describeNode({ model: 'mi210', cards: 1 }));
    writeFileSync(join(there, 'inference.json'), '[]');
    const node = daemon(['sim', 'start', there, '--model=mi210', '--cards=1']);
    await node.says('Ctrl-C');
    expect(readdirSync(there)).not.toContain('inference.json');
    await node.stop('SIGINT');
  }, 60_000);

  it('explains its events', async () => {
    const { stdout } = await nightshift('sim', '--help');
    for (const word of ['start', 'load', 'event', 'ecc GPUS SEVERITY COUNT', 'ambient CELSIUS OVER'])
      expect(stdout).toContain(word);
  });
});

/** Others may run one on this machine. */
const ANYWHERE = ['--web.listen-address=127.0.0.1:0', '--actuator.listen-address=127.0.0.1:0'];

describe('nightshift demo', () => {
  it('says in five lines what runs where and that it is SIMULATED, moves, and leaves nothing behind', async () => {
    const demo = daemon(
      ['demo', '--cards=2', ...ANYWHERE, '--scenario=look-alikes'],
      ['env', `TMPDIR=${dir}`, 'node', MAIN],
    );
    await demo.says('Ctrl-C');
    const told = demo.log().trim().split('\n\n')[0]?.split('\n') ?? [];
    expect(told).toHaveLength(5);
    expect(told[0]).toContain('SIMULATED: 2 × AMD Instinct MI300X');
    const url = /http:\/\/127\.0\.0\.1:\d+\/metrics/.exec(demo.log())?.[0] ?? '';
    const energy = async (): Promise<number> => {
      const text = await (await fetch(url)).text();
      expect(text).toContain('simulated="true"');
      return Number(/^amdgpu_energy_joules_total\{gpu="0"\} (\S+)$/m.exec(text)?.[1]);
    };
    const before = await energy();
    await expect.poll(energy, { timeout: 5000 }).toBeGreaterThan(before + 100);
    expect((await demo.stop('SIGINT')).code).toBe(0);
    expect(readdirSync(dir)).toEqual([]);
  }, 60_000);

  it('takes away what one left that was killed, and nothing else', async () => {
    const left = join(dir, 'nightshift-simulated-killed');
    const other = join(dir, 'nightshift-simulated-notes');
    for (const path of [left, other]) mkdirSync(path);
    writeTree(left, describeNode({ model: 'mi210', cards: 1 }));
    writeFileSync(join(other, 'mine'), '');
    for (const path of [left, other]) utimesSync(path, 1e9, 1e9);
    const { exitCode } = await nightshift('demo', '--cards=1', '--scenario=no-such-one');
    expect(exitCode).toBe(2);
    expect(readdirSync(dir)).toEqual(['nightshift-simulated-notes']);
  }, 30_000);

  it('is not served to others', async () => {
    const { stderr, exitCode } = await nightshift('demo', '--web.listen-address=:0');
    expect(stderr).toMatch(/^nightshift: SIMULATION_LOOPBACK_ONLY: /);
    expect(exitCode).toBe(2);
    expect(readdirSync(dir)).toEqual([]);
  }, 30_000);
});
