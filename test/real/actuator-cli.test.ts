import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import Database from 'libsql';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { describeNode, writeTree } from '../../sim/tree.ts';
import { type Daemon, daemon, freePort, NIGHTSHIFT } from '../support/daemon.ts';
import { folderInMemory } from '../support/memory.ts';
import { skipUnless } from '../support/skips.ts';
import { until, untilAnswers } from '../support/until.ts';

const MODES = `version: 1
modes:
  low: { description: Low., limits: { power_cap: 50% } }
`;
const THRESHOLDS = `version: 1
thresholds:
  junction_hot: { value: 110°C, description: Hotter than this node ever is. }
`;
const RULES = `version: 1
policies:
  - name: quiet
    description: A person asks for less power.
    mode: enforce
    on: [{ manual: quiet-please }]
    target: gpu
    do: [{ mode: low }]
    dwell: 0s
    cooldown: 10m
    limits: { gpus: 8, percent: 100 }
  - name: rehearsal
    description: What would be.
    mode: dry_run
    on: [{ manual: rehearse }]
    target: gpu
    do: [{ throttle: { power_cap: 80% } }]
    dwell: 0s
    limits: { gpus: 8, percent: 100 }
  - name: too-hot
    description: Never true here.
    mode: enforce
    target: gpu
    when: { ">=": [{ var: gpu.temperature.junction }, { var: threshold.junction_hot }] }
    do: [{ throttle: { power_cap: 80% } }]
    until: { "<": [{ var: gpu.temperature.junction }, 60°C] }
    limits: { gpus: 8, percent: 100 }
`;
const [DEFAULT_W, LOW_W] = [750, 375];

let dir: string;
let pcis: string[];
let where: string;
let url: string;
beforeEach(() => {
  dir = folderInMemory('nightshift-cli-');
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const node = describeNode({ model: 'mi300x', cards: 2 });
  pcis = node.gpus.map(({ pci }) => pci);
  writeTree(dir, node);
  mkdirSync(join(dir, 'rules'));
  writeFileSync(join(dir, 'rules/modes.yaml'), MODES);
  writeFileSync(join(dir, 'rules/thresholds.yaml'), THRESHOLDS);
  writeFileSync(join(dir, 'rules/rules.yaml'), RULES);
  where = `--ledger=${dir}/ledger.db`;
});

const capFile = (gpu: number): string => {
  const hwmon = join(dir, 'sys/bus/pci/devices', pcis[gpu] as string, 'hwmon');
  return join(hwmon, readdirSync(hwmon)[0] as string, 'power1_cap');
};
const cap = (gpu: number): number => Number(readFileSync(capFile(gpu), 'utf8')) / 1e6;

const actuator = (...more: string[]): Promise<Daemon> => startActuator('ready', more);

/** `healthy`: it stands, and may never be ready. */
async function startActuator(state: 'ready' | 'healthy', more: readonly string[] = []): Promise<Daemon> {
  url = `http://127.0.0.1:${await freePort()}`;
  const args = [
    `--path.sysfs=${dir}/sys`,
    `--rules=${dir}/rules`,
    ...(more.some((flag) => flag.startsWith('--ledger=')) ? [] : [where]),
    `--web.listen-address=${new URL(url).host}`,
    // Two cores under other tests: a card that is late is no card that hangs.
    '--lane.deadline=5s',
    ...more,
  ];
  const running = daemon(['actuator', ...args]);
  await untilAnswers(`${url}/-/${state}`, running);
  return running;
}

interface Ran {
  code: number | undefined;
  out: string;
  error: string;
}

async function nightshift(...args: string[]): Promise<Ran> {
  const env = { SUDO_USER: 'ann' };
  const { exitCode, stdout, stderr } = await execa(process.execPath, [NIGHTSHIFT, ...args], { reject: false, env });
  return { code: exitCode, out: stdout, error: stderr };
}

/** Calls the policy, and waits until the card has it. */
async function hold(gpu = 0): Promise<void> {
  const said = await until('the trigger is taken', async () => {
    const ran = await nightshift('trigger', 'quiet-please', `--gpu=${gpu}`, '--for=1h', '--reason=measuring', where);
    return ran.code === 0 && ran;
  });
  expect(said.out).toContain('heard by quiet');
  await until('the cap is set', () => cap(gpu) === LOW_W);
  await until('the case is active', async () => (await nightshift('cases', where)).out.includes('active'));
}

interface CasesJson {
  cases: { id: string; state: string; policy: string }[];
}
const casesJson = async (): Promise<CasesJson['cases']> =>
  (JSON.parse((await nightshift('cases', '--all', '--json', where)).out) as CasesJson).cases;

describe('with an actuator that runs', () => {
  it('a person calls, looks, asks why, and has it given back', async () => {
    await actuator();
    expect((await nightshift('cases', where)).out).toBe('Nothing is held, and nothing is about to be.');
    await hold();
    const { out } = await nightshift('cases', where);
    expect(out).toMatch(/^POLICY +GPU +STATE/);
    expect(out).toMatch(
      new RegExp(`^quiet +0 ${pcis[0]} +active +\\d+s +5?\\d.* power cap ≤ 375 W \\(found 750 W, now 375 W\\)`, 'm'),
    );
    const [held] = await casesJson();
    const id = held?.id as string;
    const why = (await nightshift('explain', id, where)).out;
    expect(why).toContain(`quiet holds GPU 0 (${pcis[0]})`);
    expect(why).toMatch(/triggers +manual quiet-please, open for/);
    expect(why).toContain(`nightshift revert --case ${id}`);

    const reverted = await nightshift('revert', `--case=${id}`, '--reason=done', where);
    expect(reverted).toMatchObject({ code: 0, error: '' });
    expect(reverted.out).toBe(`given back    GPU 0 (${pcis[0]}), quiet: power cap 750 W`);
    expect(cap(0)).toBe(DEFAULT_W);
    expect((await casesJson()).find((one) => one.id === id)?.state).toBe('released');
    const past = (await nightshift('history', `--case=${id}`, where)).out;
    expect(past).toMatch(/released +released_by_person .*author=ann because=done/);
    expect(past.indexOf('acted')).toBeLessThan(past.indexOf('released'));
    expect(JSON.parse((await nightshift('history', '--json', '--outcome=acted', where)).out)).toMatchObject({
      history: [{ policy: 'quiet', outcome: 'acted' }],
    });
    expect((await nightshift('explain', id, where)).out).toMatch(/^That case is over/);
  }, 90_000);

  it('an explanation says which value, how old and from where, and what would have to change', async () => {
    await actuator();
    await until('the card is read', async () => {
      const { out } = await nightshift('explain', '--policy=too-hot', '--gpu=1', where);
      return /too-hot does nothing about GPU 1 .*: its condition is false\./.test(out) && out;
    }).then((out) => {
      expect(out).toMatch(
        /when +gpu\.temperature\.junction = \d+ °C \(\d+\.\d s old, gpu_metrics\) >= .*110 °C: false/,
      );
      expect(out).toMatch(/to act +Its condition is false/);
    });
    expect((await nightshift('explain', where)).out).toContain('quiet waits: none of its triggers is open (GPU 0, 1)');
  }, 60_000);

  it('a pause holds back what is called, says so everywhere, and ends; with --revert all is back at once', async () => {
    await actuator();
    await hold(1);
    const paused = await nightshift('pause', '--revert', '--for=2h', '--reason=fans are changed', where);
    expect(paused.code).toBe(0);
    expect(paused.out).toMatch(/^Paused everything until .*\ngiven back +GPU 1 /);
    expect(cap(1)).toBe(DEFAULT_W);
    expect((await nightshift('cases', where)).out).toMatch(/^PAUSED for (?:1h59m|2h).* by ann .*fans are changed/);
    await nightshift('trigger', 'quiet-please', '--gpu=0', '--reason=again', where);
    const why = await until('it is held back', async () => {
      const { out } = await nightshift('explain', '--policy=quiet', '--gpu=0', where);
      return out.includes('a person paused it') && out;
    });
    expect(why).toMatch(/It is paused by ann for (?:1h59m|2h).*: fans are changed \(nightshift resume p\w+\)\./);
    expect(cap(0)).toBe(DEFAULT_W);
    expect((await nightshift('resume', where)).out).toMatch(/^Resumed everything \(p\w+\)\.$/);
    await until('what was called is acted on', () => cap(0) === LOW_W);
    expect(await nightshift('resume', where)).toMatchObject({ code: 2 });
  }, 90_000);

  it('a pause of one policy gives back nothing of another', async () => {
    await actuator();
    await hold(0);
    const { code, out } = await nightshift('pause', '--policy=too-hot', '--revert', '--reason=wrong cards', where);
    expect([code, out]).toEqual([0, expect.stringContaining('Nothing was held.')]);
    expect(cap(0)).toBe(LOW_W);
  }, 60_000);

  it('a dry run is told as one', async () => {
    await actuator();
    const called = await until('it is taken', async () => {
      const ran = await nightshift('trigger', 'rehearse', '--gpu=0', '--reason=look', '--author=bo', where);
      return ran.code === 0 && ran;
    });
    expect(called.out).toContain('Dry run, nothing is written: rehearsal.');
    const cases = await until('its case is there', async () => {
      const { out } = await nightshift('cases', where);
      return out.includes('active, dry run') && out;
    });
    expect(cases).toContain('would: power cap ≤ 600 W');
    expect((await nightshift('explain', '--policy=rehearsal', '--gpu=0', where)).out).toContain('would hold GPU 0');
    expect((await nightshift('trigger', 'rehearse', '--gpu=0', '--close', '--reason=seen', where)).out).toMatch(
      /^Closed/,
    );
    expect((await nightshift('history', '--outcome=acted', where)).out).toContain('acted, dry run');
    expect(cap(0)).toBe(DEFAULT_W);
  }, 60_000);

  it('a protected card is not armed, and one that is not there is told at the start', async () => {
    const running = await actuator(`--protect=${pcis[1]}`, '--protect=0000:fe:00.0');
    expect(running.log()).toMatch(/no such GPU is here.*0000:fe:00\.0/);
    const paths = [`--path.sysfs=${dir}/sys`, `--path.procfs=${dir}/proc`];
    const { out } = await nightshift('doctor', where, `--rules=${dir}/rules`, ...paths);
    expect(out).toMatch(/GPU 0\n +power cap +armed /);
    expect(out).toMatch(/GPU 1\n +power cap +not armed +protected: /);
  }, 60_000);

  it('what nobody waits for, and what is not there, is an error that names what is', async () => {
    await actuator();
    const cases: [string[], RegExp][] = [
      [['trigger', 'quiet', '--reason=x'], /TRIGGER_UNHEARD: .*Policies wait for: quiet-please, rehearse\./],
      [['trigger', 'quiet-please'], /FLAG_INVALID: --reason is missing/],
      [['trigger', 'quiet-please', '--gpu=99', '--reason=x'], /no GPU 99 on this node/],
      [['trigger', 'quiet-please', '--gpu=0000:ff:00.0', '--reason=x'], /no GPU 0000:ff:00.0 on this node/],
      [['pause', '--reason=x', '--policy=none'], /ACTUATOR_REFUSED: no policy is named none/],
      [['revert', '--reason=x', '--case=none'], /ACTUATOR_REFUSED: no open case none/],
      [['revert'], /FLAG_INVALID: --reason is missing/],
      [['revert', '--only-expired', '--reason=x'], /FLAG_INVALID: --only-expired goes with --offline/],
      [['cases', '--gpu=9'], /ACTUATOR_REFUSED: no GPU 9 here; there is 0 \(/],
      [['explain', 'none'], /ACTUATOR_REFUSED: no such case/],
      [['resume'], /ACTUATOR_REFUSED: nothing is paused/],
    ];
    for (const [args, message] of cases) {
      const { code, error } = await nightshift(...args, where);
      expect(error, args.join(' ')).toMatch(message);
      expect(code, args.join(' ')).toBe(2);
    }
  }, 90_000);

  it('at TCP a stranger may look and change nothing; a token opens it, and is asked for where there is one', async () => {
    const token = join(dir, 'token');
    writeFileSync(token, `${'a'.repeat(32)}\n`, { mode: 0o600 });
    const open = await actuator();
    const at = `--actuator.url=${url}`;
    expect((await nightshift('cases', at)).code).toBe(0);
    const { code, error } = await nightshift('pause', '--reason=x', at);
    expect([code, error]).toEqual([2, expect.stringMatching(/ACTUATOR_DENIED: .*--web\.bearer-token-file/)]);
    await open.stop();
    await actuator(`--web.bearer-token-file=${token}`);
    const now = `--actuator.url=${url}`;
    expect((await nightshift('cases', now)).error).toMatch(/ACTUATOR_DENIED: .*who you are.*--web\.bearer-token-file/);
    expect((await nightshift('pause', '--reason=x', now, `--web.bearer-token-file=${token}`)).code).toBe(0);
    expect((await nightshift('cases', where)).out).toMatch(/^PAUSED until a person resumes it/);
  }, 90_000);

  it('one that is frozen says so, and does not claim to have given anything back', async () => {
    writeFileSync(join(dir, 'ledger.db'), 'x'.repeat(8192));
    await startActuator('healthy');
    expect((await nightshift('cases', where)).out).toMatch(/^FROZEN, nothing is begun: LEDGER_BROKEN/);
    const reverted = await nightshift('revert', '--reason=x', where);
    expect(reverted).toMatchObject({ code: 1 });
    expect(reverted.error).toMatch(/ACTUATOR_UNABLE: .*cannot read its ledger.*revert --offline/);
    expect((await nightshift('pause', '--reason=x', where)).error).toMatch(/ACTUATOR_UNABLE: .*LEDGER_FROZEN/);
  }, 60_000);
});

describe('without one', () => {
  it('every command says that nobody answers, and what can be done', async () => {
    for (const args of [
      ['cases'],
      ['history'],
      ['explain'],
      ['pause', '--reason=x'],
      ['resume'],
      ['revert', '--reason=x'],
    ]) {
      const { code, error } = await nightshift(...args, `--actuator.url=unix:${dir}/none.sock`);
      expect(code).toBe(1);
      expect(error).toMatch(/^nightshift: ACTUATOR_UNREACHABLE: no actuator answers at .*revert --offline\.$/);
    }
    const other = await nightshift('cases', '--actuator.url=ftp://here');
    expect([other.code, other.error]).toEqual([2, expect.stringContaining('FLAG_INVALID')]);
  }, 60_000);
});

describe('after one that was killed', () => {
  const offline = (...more: string[]): Promise<Ran> =>
    nightshift('revert', '--offline', where, `--path.sysfs=${dir}/sys`, ...more);

  async function killed(gpu = 0): Promise<void> {
    const one = await actuator();
    await hold(gpu);
    await one.stop('SIGKILL');
    expect(cap(gpu)).toBe(LOW_W);
  }

  it('everything is given back, and a later start finds nothing to do', async () => {
    await killed();
    expect(await offline('--only-expired')).toMatchObject({ code: 0, out: expect.stringMatching(/^kept +GPU 0/) });
    expect(cap(0)).toBe(LOW_W);
    const { code, out } = await offline('--reason=it died');
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^given back +GPU 0 .*power cap.*750.*\nCases that are over: quiet\./),
    ]);
    expect(cap(0)).toBe(DEFAULT_W);
    expect((await offline()).out).toBe('The ledger knows of no setting that is left on a card.');
    // The call itself has not ended, and an actuator would hear it: the person who gave back paused it, or ends it.
    writeFileSync(
      join(dir, 'rules/rules.yaml'),
      RULES.replace('mode: enforce\n    on: [{ manual', 'mode: off\n    on: [{ manual'),
    );
    await actuator();
    expect((await nightshift('cases', where)).out).toBe('Nothing is held, and nothing is about to be.');
    expect((await nightshift('history', where)).out).toMatch(
      /closed +given_back +quiet .*author=ann because="?it died/,
    );
    expect(cap(0)).toBe(DEFAULT_W);
  }, 120_000);

  it('what somebody else has set is left alone', async () => {
    await killed();
    writeFileSync(capFile(0), '500000000\n');
    expect(await offline()).toMatchObject({ code: 0, out: expect.stringMatching(/^left alone +GPU 0/) });
    expect(cap(0)).toBe(500);
  }, 60_000);

  it('a card that is not there is told, and its row stays for the next time', async () => {
    await killed();
    const bus = join(dir, 'sys/bus/pci/devices', pcis[0] as string);
    const report = await nightshift('revert', '--offline', where, `--path.sysfs=${emptySysfs()}`);
    expect(report).toMatchObject({ code: 1, out: expect.stringMatching(/^NO ANSWER +GPU \? /) });
    expect(existsSync(bus)).toBe(true);
    expect(await offline()).toMatchObject({ code: 0, out: expect.stringMatching(/^given back/) });
  }, 60_000);

  it('it is refused while an actuator lives, which is to be asked instead', async () => {
    await actuator();
    await hold();
    const { code, error } = await offline();
    expect([code, error]).toEqual([
      1,
      expect.stringMatching(/HOST_LOCK_HELD: .*nightshift revert --ledger .*ledger\.db/),
    ]);
    // Also where only the ledger tells.
    const elsewhere = await nightshift('revert', '--offline', where, `--path.sysfs=${emptySysfs()}`);
    expect([elsewhere.code, elsewhere.error]).toEqual([
      1,
      expect.stringMatching(/LEDGER_LOCKED: .*nightshift revert --ledger/),
    ]);
    expect(cap(0)).toBe(LOW_W);
  }, 60_000);

  it('of a ledger with a broken row what can be read is given back, and the rest is told', async () => {
    await killed();
    const db = new Database(join(dir, 'ledger.db'));
    db.exec("UPDATE cases SET body = '{}'");
    db.close();
    expect((await offline('--only-expired')).error).toMatch(/LEDGER_BROKEN: .*no lease can be read/);
    const { code, out, error } = await offline();
    expect([code, out, error]).toEqual([1, expect.stringMatching(/^given back +GPU 0[\s\S]*THE LEDGER IS BROKEN/), '']);
    expect(cap(0)).toBe(DEFAULT_W);
  }, 60_000);

  it('a ledger that is none, is not there, or goes with a living one’s flags is an error', async () => {
    expect((await offline()).error).toMatch(/LEDGER_MISSING/);
    writeFileSync(join(dir, 'ledger.db'), 'x'.repeat(8192));
    expect(await offline()).toMatchObject({ code: 1, error: expect.stringMatching(/LEDGER_BROKEN: .*is no database/) });
    expect((await offline('--case=x')).error).toMatch(/FLAG_INVALID: --case goes with a running actuator/);
  }, 60_000);

  it('on a full disk everything is given back all the same, and it is told that the ledger does not know', async () => {
    const disk = join(dir, 'disk');
    mkdirSync(disk);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]).status === 0;
    skipUnless(mounted, 'no tmpfs can be mounted');
    onTestFinished(() => void spawnSync('umount', ['-l', disk]));
    where = `--ledger=${disk}/ledger.db`;
    const one = await actuator(where);
    await hold();
    await one.stop('SIGKILL');
    fill(disk);
    const { code, out } = await offline();
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/^given back +GPU 0[\s\S]*THE LEDGER WAS NOT TOLD \(LEDGER_/),
    ]);
    expect(cap(0)).toBe(DEFAULT_W);
    rmSync(join(disk, 'filler'));
    expect(await offline()).toMatchObject({ code: 0, out: expect.stringMatching(/^given back +GPU 0/) });
  }, 90_000);
});

/** A tree without cards, with a lock of its own. */
function emptySysfs(): string {
  const sysfs = join(dir, 'other/sys');
  mkdirSync(sysfs, { recursive: true });
  return sysfs;
}

function fill(disk: string): void {
  spawnSync('dd', ['if=/dev/zero', `of=${disk}/filler`, 'bs=4k'], { stdio: 'ignore' });
  expect(spawnSync('dd', ['if=/dev/zero', `of=${disk}/more`, 'bs=4k', 'count=1'], { stdio: 'ignore' }).status).not.toBe(
    0,
  );
  rmSync(`${disk}/more`, { force: true });
  spawnSync('dd', ['if=/dev/zero', `of=${disk}/filler`, 'bs=512', 'oflag=append', 'conv=notrunc'], { stdio: 'ignore' });
}
