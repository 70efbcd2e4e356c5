import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { pathsOfGpu } from '../../sim/driver/unplug.ts';
import { fileModes } from '../../sim/driver/write.ts';
import { devicePath, hwmonPath } from '../../sim/files/paths.ts';
import { type RelayTarget, relayCommand, startRelay } from '../../sim/relay.ts';
import { describeNode, type Gpu, type NodeOptions, writeTree } from '../../sim/tree.ts';
import { pathOf } from '../sim/driver/support.ts';
import { ROWS, type Row } from '../sim/driver/writes.ts';
import { faultsUnavailable } from '../support/faultfs.ts';
import { inTree, inTreeUnavailable } from '../support/in-tree.ts';
import { type Mounted, mountNode, runProgram, runSteps, type Step } from '../support/relay.ts';
import { suitRocmSmi } from '../support/rocm-smi.ts';
import { skipUnless } from '../support/skips.ts';

const LEVEL = 'power_dpm_force_performance_level';

async function mounted(options: NodeOptions, prepare?: (dir: string) => void): Promise<Mounted> {
  const unavailable = faultsUnavailable();
  skipUnless(unavailable === undefined, `no FUSE: ${unavailable}`);
  const one = await mountNode(options, prepare);
  onTestFinished(one.close);
  return one;
}

const place = ({ mount, node }: Mounted, file: string, gpu = 0): string =>
  join(mount, pathOf(node.gpus[gpu] as Gpu, file));

describe('a write(2) through the mounted file system', () => {
  // A write of no bytes ends in the kernel and reaches no file system.
  const rows = ROWS.filter(({ text }) => text !== '');
  const nodes = [...new Set(rows.map(({ on }) => JSON.stringify(on)))];

  const stepsOf = (one: Mounted, { after = [], file, text, gpu, shows, in: other }: Row): Step[] => [
    ...after.map(([earlier, value]) => ({ write: place(one, earlier, gpu), text: value })),
    { write: place(one, file, gpu), text },
    ...(shows === undefined ? [] : [{ read: place(one, other ?? file, gpu) }]),
  ];

  it.each(nodes)('ends in the errno of the driver, and what it changed reads at once, on %s', async (on) => {
    const one = await mounted(JSON.parse(on) as NodeOptions);
    for (const row of rows.filter((candidate) => JSON.stringify(candidate.on) === on)) {
      one.restart();
      const expected = [
        ...(row.after ?? []).map(() => 'ok'),
        row.ends,
        ...(row.shows === undefined ? [] : [row.shows]),
      ];
      expect({ row, results: await runSteps(stepsOf(one, row)) }).toEqual({ row, results: expected });
    }
  });

  it('was tried often enough to prove something', () => {
    expect(rows.length).toBeGreaterThan(40);
    expect(rows.filter(({ ends }) => ends !== 'ok').length).toBeGreaterThan(20);
  });

  it('fails in a shell as on a real card', async () => {
    const one = await mounted({ model: 'mi210', cards: 1 });
    const echo = (text: string, file: string) =>
      runProgram('/bin/bash', ['-c', 'echo "$1" > "$2"', 'sh', text, place(one, file)]);
    expect(await echo('301000000', 'power1_cap')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Invalid'),
    });
    expect(await echo('3', 'gpu_busy_percent')).toMatchObject({ status: 1, stderr: expect.stringContaining('denied') });
    expect(await echo('3', 'no_such_file')).toMatchObject({ status: 1, stderr: expect.stringContaining('denied') });
    expect(await echo('250000000', 'power1_cap')).toMatchObject({ status: 0 });
    expect(one.node.gpus[0]?.settings.cap).toBe(250);
  });

  it('makes agents come and go, and descriptors of those that went are dead', async () => {
    const one = await mounted({ model: 'mi300x', cards: 1 });
    const nodes = join(one.mount, 'sys/class/kfd/kfd/topology/nodes');
    const before = await runSteps([{ list: nodes }, { read: join(nodes, '2/gpu_id') }]);
    const after = await runSteps([
      { write: place(one, 'current_compute_partition'), text: 'cpx\n' },
      { list: nodes },
      { read: join(nodes, '2/gpu_id') },
      { read: place(one, 'enforce_isolation') },
      { write: place(one, 'current_compute_partition'), text: 'SPX\n' },
      { list: nodes },
    ]);
    expect(before[0]).toBe('0 1 2');
    expect([after[0], after[1], after[3], after[5]]).toEqual([
      'ok',
      '0 1 2 3 4 5 6 7 8 9',
      '0 0 0 0 0 0 0 0\n',
      '0 1 2',
    ]);
    expect(after[2]).not.toBe(before[1]);
  });
});

describe('the mounted file system', () => {
  it('looks like the kernel: modes, sizes and nothing but sys and proc', async () => {
    const one = await mounted({ model: 'mi300x', cards: 1, processes: [{ pid: 4711 }] });
    const stat = async (path: string): Promise<string> =>
      (await runProgram('stat', ['-c', '%a %s', join(one.mount, path)])).stdout.trim();
    const device = devicePath(one.node.gpus[0] as Gpu);
    expect(await stat(`${device}/gpu_busy_percent`)).toBe('444 4096');
    expect(await stat(`${device}/pp_dpm_sclk`)).toBe('644 4096');
    expect(await stat(`${device}/compute_partition_config/xcc/num_inst`)).toBe('400 4096');
    expect(await stat('proc/4711/environ')).toBe('400 0');
    expect(await runSteps([{ list: one.mount }])).toEqual(['proc sys']);
    expect(await runSteps([{ read: join(one.mount, '.simulated-node') }])).toEqual(['ENOENT']);
  });

  it('gives out what the folder holds, binary tables whole', async () => {
    const one = await mounted({ model: 'mi210', cards: 1 });
    const same = await runProgram('cmp', [
      join(one.mount, devicePath(one.node.gpus[0] as Gpu), 'gpu_metrics'),
      join(one.dir, devicePath(one.node.gpus[0] as Gpu), 'gpu_metrics'),
    ]);
    expect(same).toMatchObject({ status: 0 });
  });

  it('does not lead out of the node over a link or a path', async () => {
    const one = await mounted({ model: 'mi210', cards: 1 });
    writeFileSync(join(one.dir, 'secret'), 'secret');
    symlinkSync('../secret', join(one.dir, 'sys/way'));
    expect(await runSteps([{ read: join(one.mount, 'sys/way') }, { read: `${one.mount}/sys/../secret` }])).toEqual([
      'ENOENT',
      'ENOENT',
    ]);
  });

  it('resets the GPU where the file of the recovery is read', async () => {
    const one = await mounted({ model: 'mi210', cards: 1 });
    const recover = join(one.mount, `sys/kernel/debug/dri/${one.node.gpus[0]?.card}/amdgpu_gpu_recover`);
    const cap = place(one, 'power1_cap');
    expect(
      await runSteps([{ write: cap, text: '200000000' }, { read: cap }, { read: recover }, { read: cap }]),
    ).toEqual(['ok', '200000000\n', '0\n', '300000000\n']);
    expect(one.node.gpus[0]?.counters.energy).toBe(0);
  });
});

describe('a fault', () => {
  it('of any errno strikes writes, reads or both, and can be taken back', async () => {
    const one = await mounted({ model: 'mi210', cards: 1 });
    const steps: Step[] = [{ write: place(one, 'power1_cap'), text: '250000000' }, { read: place(one, 'power1_cap') }];
    await one.relay.fault('sys/**/power1_cap', { errno: 'EIO', on: 'write' });
    expect(await runSteps(steps)).toEqual(['EIO', '300000000\n']);
    await one.relay.fault('sys/**/power1_cap', { errno: 'EOPNOTSUPP', on: 'write' });
    expect(await runSteps(steps)).toEqual(['ENOTSUP', '300000000\n']); // one number, and Node knows it by this name
    await one.relay.fault('sys/**/power1_cap', { errno: 'EBUSY' });
    expect(await runSteps(steps)).toEqual(['EBUSY', 'EBUSY']);
    await one.relay.fault('sys/**/power1_cap', { errno: 'EROFS', on: 'write' });
    expect(await runSteps(steps)).toEqual(['EROFS', '300000000\n']);
    await one.relay.fault('sys/**/power1_cap', { errno: 'EACCES', on: 'read' });
    expect(await runSteps(steps)).toEqual(['ok', 'EACCES']);
    await one.relay.clear('sys/**/power1_cap');
    expect(await runSteps(steps)).toEqual(['ok', '250000000\n']);
  });

  it('of ignored writes answers yes and does nothing', async () => {
    const one = await mounted({ model: 'mi210', cards: 1 });
    await one.relay.fault('sys/**/power1_cap', { ignoreWrites: true });
    const cap = place(one, 'power1_cap');
    expect(await runSteps([{ write: cap, text: '250000000' }, { read: cap }])).toEqual(['ok', '300000000\n']);
  });

  it('of delay holds an access up, until it is cleared at the latest', async () => {
    const one = await mounted({ model: 'mi210', cards: 1 });
    const cap = place(one, 'power1_cap');
    await one.relay.fault('sys/**/power1_cap', { delayMs: 300 });
    const start = performance.now();
    expect(await runSteps([{ write: cap, text: '250000000' }, { read: cap }])).toEqual(['ok', '250000000\n']);
    expect(performance.now() - start).toBeGreaterThan(600);
    await one.relay.fault('sys/**/power1_cap', { delayMs: 60_000 });
    const late = [runSteps([{ write: cap, text: '200000000' }]), runSteps([{ read: cap }])];
    await new Promise((resolve) => setTimeout(resolve, 500));
    await one.relay.clear();
    expect((await Promise.all(late)).flat()[0]).toBe('ok');
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  it('of a vanished card takes all that leads to it, and brings it back', async () => {
    const one = await mounted({ model: 'mi300x', cards: 2 });
    const [first, second] = one.node.gpus as [Gpu, Gpu];
    const drm = join(one.mount, 'sys/class/drm');
    const look: Step[] = [
      { list: drm },
      { read: place(one, 'vendor', 0) },
      { write: place(one, 'power1_cap', 0), text: '0' },
    ];
    const before = await runSteps(look);
    await one.relay.fault(pathsOfGpu(one.node, 0), { vanish: true });
    const gone = await runSteps(look);
    expect(gone[0]?.split(' ')).not.toContain(`card${first.card}`);
    expect(gone[0]?.split(' ')).toContain(`card${second.card}`);
    expect(gone.slice(1)).toEqual(['ENOENT', 'ENOENT']);
    await one.relay.clear(pathsOfGpu(one.node, 0));
    expect(await runSteps(look)).toEqual(before);
  });
});

describe('rocm-smi on a mounted MI210', () => {
  const smi = async (one: Mounted, ...args: string[]) => await runProgram(...inTree(one.mount, 'rocm-smi', args));

  it('sets the cap, the level and the clock of the simulated card', async () => {
    const unavailable = inTreeUnavailable();
    skipUnless(unavailable === undefined, `no mount namespace: ${unavailable}`);
    skipUnless(existsSync('/usr/bin/rocm-smi'), 'rocm-smi is not installed');
    const one = await mounted({ model: 'mi210', cards: 1 }, suitRocmSmi);
    const settings = () => one.node.gpus[0]?.settings;
    await smi(one, '--setpoweroverdrive', '250', '--autorespond', 'y');
    expect(settings()).toMatchObject({ cap: 250, level: 'auto' });
    await smi(one, '--setperflevel', 'manual');
    expect(settings()).toMatchObject({ level: 'manual', gfxMin: 500, gfxMax: 1700 });
    await smi(one, '--setsclk', '1');
    expect(settings()).toMatchObject({ gfxMin: 1700, gfxMax: 1700 });
    const { stdout } = await smi(one, '--showmaxpower', '--showperflevel', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      card0: { 'Max Graphics Package Power (W)': '250.0', 'Performance Level': 'manual' },
    });
    await smi(one, '--resetclocks');
    expect(settings()).toMatchObject({ level: 'auto', gfxMin: 500, gfxMax: 1700 });
  });
});

describe('the relay', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'nightshift-relay-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));
  const at = (name: string): string => join(root, name);
  const node = describeNode({ model: 'mi210', cards: 1, processes: [] });
  const target: RelayTarget = {
    write: () => ({ ok: true, changed: [] }),
    read: () => ({ ok: true, changed: [] }),
    readsWithEffect: [],
    modes: () => fileModes(node),
  };
  const run = (dir: string, mount: string, socket: string) => {
    const [command, ...args] = relayCommand(dir, mount, socket) as [string, ...string[]];
    return runProgram(command, args);
  };

  it('serves no folder that is not of the simulator', async () => {
    writeFileSync(at('precious'), '');
    await expect(startRelay(root, at('socket'), target)).rejects.toMatchObject({ code: 'SIMULATION_FOREIGN_FOLDER' });
    expect(readdirSync(root)).toEqual(['precious']);
  });

  it('serves no other folder than its own, and mounts over nothing that is there', async () => {
    skipUnless(faultsUnavailable() === undefined, 'no FUSE');
    for (const name of ['one', 'other']) writeTree(at(name), node);
    mkdirSync(at('mount'));
    const relay = await startRelay(at('one'), at('socket'), target);
    expect(await run(at('other'), at('mount'), at('socket'))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`this relay serves ${at('one')}`),
    });
    expect(await run(at('one'), at('other'), at('socket'))).toMatchObject({
      stderr: expect.stringContaining('not empty'),
    });
    mkdirSync(at('one/inside'));
    expect(await run(at('one'), at('one/inside'), at('socket'))).toMatchObject({ status: 1 });
    await relay.close();
    expect(await run(at('one'), at('mount'), at('socket'))).toMatchObject({ status: 1 });
  });

  it('takes its socket with it, and one that a crash left over', async () => {
    writeTree(at('one'), node);
    const relay = await startRelay(at('one'), at('socket'), target);
    await expect(startRelay(at('one'), at('socket'), target)).rejects.toMatchObject({ code: 'SIMULATION_SOCKET' });
    await relay.close();
    expect(existsSync(at('socket'))).toBe(false);
    await runProgram('/usr/bin/python3', [
      '-c',
      'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])',
      at('socket'),
    ]);
    expect(existsSync(at('socket'))).toBe(true);
    const again = await startRelay(at('one'), at('socket'), target);
    await again.close();
    expect(existsSync(at('socket'))).toBe(false);
  });

  /** The first answer, or `closed` where the relay hung up. */
  const say = (line: string): Promise<string> =>
    new Promise((resolve) => {
      const connection = connect(at('socket'));
      connection.on('connect', () => connection.write(line)).on('error', () => resolve('closed'));
      connection.on('close', () => resolve('closed')).setEncoding('utf8');
      connection.on('data', (text: string) => {
        resolve(text.trim());
        connection.destroy();
      });
    });

  it('answers for no path outside the node, and hangs up on whoever speaks otherwise', async () => {
    writeTree(at('one'), node);
    const asked: string[] = [];
    const relay = await startRelay(at('one'), at('socket'), {
      ...target,
      write: (path, text) => {
        asked.push(`${path} ${text}`);
        return { ok: true, changed: [] };
      },
    });
    const request = (path: string): string => `${JSON.stringify({ op: 'write', path, data: 'YXV0bw==' })}\n`;
    for (const path of ['../x', 'sys/../../x', '/etc/passwd', 'etc/passwd', 'sys//x', 'sys/.', 'driver.log'])
      expect([path, await say(request(path))]).toEqual([path, '{"ok":false,"errno":"ENOENT"}']);
    for (const line of ['nonsense\n', '{}\n', 'null\n', '{"op":"write"}\n', request('sys/\0'), 'x'.repeat(70_000)])
      expect([line.slice(0, 20), await say(line)]).toEqual([line.slice(0, 20), 'closed']);
    expect(asked).toEqual([]);
    expect(await say(request('sys/x'))).toBe('{"ok":true}');
    expect(asked).toEqual(['sys/x auto']);
    await relay.close();
  });

  it('answers EIO where the driver throws, and says so', async () => {
    writeTree(at('one'), node);
    const failures: string[] = [];
    const relay = await startRelay(at('one'), at('socket'), {
      ...target,
      write: () => {
        throw new Error('broken');
      },
      failed: (error) => {
        failures.push(error.message);
      },
    });
    expect(await say('{"op":"write","path":"sys/x","data":""}\n')).toBe('{"ok":false,"errno":"EIO"}');
    expect(failures).toEqual(['broken']);
    await relay.close();
  });
});

describe('the end of the mount', () => {
  it('comes with the end of the relay', async () => {
    const one = await mounted({ model: 'mi210', cards: 1 });
    await one.relay.close();
    await expect.poll(() => one.child.exitCode, { timeout: 10_000 }).toBe(0);
    expect(readdirSync(one.mount)).toEqual([]);
  });

  it('comes with SIGTERM, and a mount that SIGKILL left is taken over', async () => {
    const one = await mounted({ model: 'mi210', cards: 1 });
    one.child.kill('SIGTERM');
    await expect.poll(() => one.child.exitCode, { timeout: 10_000 }).toBe(0);
    expect(readdirSync(one.mount)).toEqual([]);
    const two = await mounted({ model: 'mi210', cards: 1 });
    two.child.kill('SIGKILL');
    await expect.poll(() => two.child.signalCode, { timeout: 10_000 }).toBe('SIGKILL');
    expect(() => readdirSync(two.mount)).toThrow('ENOTCONN');
    await two.remount();
    expect(await runSteps([{ list: two.mount }])).toEqual(['proc sys']);
  });

  it('does not disturb its neighbour', async () => {
    const [one, two] = [await mounted({ model: 'mi210', cards: 1 }), await mounted({ model: 'mi100', cards: 1 })];
    await one.close();
    expect(
      await runSteps([{ write: join(two.mount, hwmonPath(two.node.gpus[0] as Gpu), 'power1_cap'), text: '200000000' }]),
    ).toEqual(['ok']);
    expect(await runSteps([{ read: place(two, LEVEL) }])).toEqual(['auto\n']);
  });
});
