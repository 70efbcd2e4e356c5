import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Ledger, openLedger } from '../../actuator/ledger/ledger.ts';
import type { Change } from '../../model/decision.ts';
import { aDecision, aKnob, anEntry, NOW, opened, PCI, scratch } from '../actuator/ledger/samples.ts';
import { skipUnless } from '../support/skips.ts';

const WRITER = fileURLToPath(new URL('../actuator/ledger/writer.mjs', import.meta.url));

interface Writer {
  child: ChildProcessByStdio<null, Readable, Readable>;
  /** The last commit that it has acknowledged. */
  acknowledged(): number;
}

/** A process that writes until it is killed, and has acknowledged a first commit. */
async function writer(file: string): Promise<Writer> {
  const child = spawn(process.execPath, [WRITER, file], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [said, complaint] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    complaint += chunk;
  });
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    said += chunk;
  });
  const ended = once(child, 'close').then(() => Promise.reject(new Error(`the writer ended: ${complaint}`)));
  // Later it is meant to end.
  ended.catch(() => {});
  await Promise.race([once(child.stdout, 'data'), ended]);
  return { child, acknowledged: () => Number(said.slice(0, said.lastIndexOf('\n')).split('\n').at(-1)) };
}

/** Writes until it is killed after `ms` of writing; the last commit that it had acknowledged. */
async function writeAndDie(file: string, ms: number): Promise<number> {
  const { child, acknowledged } = await writer(file);
  await sleep(ms);
  child.kill('SIGKILL');
  const [code, signal] = await once(child, 'close');
  expect([code, signal]).toEqual([null, 'SIGKILL']);
  return acknowledged();
}

describe('a process killed in full flight', () => {
  it('leaves every commit that it acknowledged, whole, in a sound file that opens by itself', async () => {
    const file = join(scratch(), 'ledger.db');
    let kept = 0;
    for (const ms of [0, 3, 17, 60, 120, 250, 400, 33, 71, 5]) {
      const acknowledged = await writeAndDie(file, ms);
      expect(acknowledged).toBeGreaterThan(kept);
      const ledger = openLedger(file, { now: () => NOW, waitMs: 0 });
      ledger.checkIntegrity();
      const { knobs, claims } = ledger.load();
      const wrote = knobs.get(`${PCI} power_cap`)!.wrote!;
      // The one commit that was under way may be there, and nothing else may.
      expect([acknowledged, acknowledged + 1]).toContain(wrote);
      expect([...claims.keys()]).toEqual([`case-${wrote}`]);
      const past = ledger.history({ limit: 100_000 }).map(({ detail }) => detail.i);
      expect(past).toEqual(Array.from({ length: wrote }, (_, i) => wrote - i));
      ledger.close();
      kept = wrote;
    }
    console.info(`10 kills, ${kept} commits, none lost`);
  });

  it('leaves its log, out of which a reader sees the last commit too', async () => {
    const file = join(scratch(), 'ledger.db');
    const acknowledged = await writeAndDie(file, 20);
    const reader = opened(file, { readOnly: true });
    expect(reader.load().knobs.get(`${PCI} power_cap`)!.wrote).toBeGreaterThanOrEqual(acknowledged);
  });

  it('held the ledger until it died, and no longer', async () => {
    const file = join(scratch(), 'ledger.db');
    const { child } = await writer(file);
    for (const readOnly of [false, true]) {
      expect(() => opened(file, { readOnly })).toThrow(expect.objectContaining({ code: 'LEDGER_LOCKED' }));
    }
    child.kill('SIGKILL');
    await once(child, 'exit');
    opened(file).checkIntegrity();
  });
});

describe('a disk of its own', () => {
  let disk: string;
  beforeEach(() => {
    disk = mkdtempSync(join(tmpdir(), 'ledger-disk-'));
    const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]).status === 0;
    onTestFinished(() => {
      if (isMounted) spawnSync('umount', ['-l', disk]);
      rmSync(disk, { recursive: true, force: true });
    });
    skipUnless(isMounted, 'no tmpfs can be mounted here: it needs root');
  });

  const FULL = expect.objectContaining({ code: 'LEDGER_FULL' });
  /** Takes all room but `left` bytes; the room is back when it is removed. */
  function ballast(left: number): string {
    const file = join(disk, 'ballast');
    const free = Number(spawnSync('stat', ['-f', '-c', '%a', disk], { encoding: 'utf8' }).stdout) * 4096;
    writeFileSync(file, Buffer.alloc(Math.max(0, free - left), 1));
    onTestFinished(() => rmSync(file, { force: true }));
    return file;
  }
  const line = (i: number): Change[] => [
    { put: 'knob', knob: aKnob({ wrote: i }) },
    { add: 'history', entry: anEntry({ detail: { i, padding: 'x'.repeat(4_000) } }) },
  ];
  function fillUp(ledger: Ledger): number {
    for (let i = 1; i < 10_000; i++) {
      try {
        ledger.commit(line(i));
      } catch (error) {
        expect(error).toEqual(FULL);
        return i - 1;
      }
    }
    throw new Error('the disk did not become full');
  }

  it('that is full refuses commits whole, reads on, and takes them again once there is room', () => {
    const file = join(disk, 'full.db');
    const ledger = opened(file);
    ledger.commit(line(0));
    const filler = ballast(200_000);
    const last = fillUp(ledger);
    expect(() => ledger.commit(line(last + 1))).toThrow(FULL);
    expect(ledger.load().knobs.get(`${PCI} power_cap`)?.wrote).toBe(last);
    expect(ledger.history()).toHaveLength(last + 1);
    ledger.checkIntegrity();
    rmSync(filler);
    ledger.commit(line(last + 1));
    expect(ledger.history()).toHaveLength(last + 2);
    ledger.checkIntegrity();
    ledger.close();
    const again = opened(file);
    again.checkIntegrity();
    expect(again.load().knobs.get(`${PCI} power_cap`)?.wrote).toBe(last + 1);
    again.close();
  });

  it('whose room is taken by the log alone is not full: the log is folded in', () => {
    const file = join(disk, 'log.db');
    const detail = 'x'.repeat(15_000);
    const rewrite = (i: number): Change[] => [{ put: 'knob', knob: aKnob({ wrote: 1_000 + i, detail }) }];
    const before = opened(file);
    before.commit(rewrite(0));
    before.close();
    const ledger = opened(file);
    const filler = ballast(700_000);
    // Each rewrites the same few pages in place: 200 of them would be 4 MB of log.
    for (let i = 1; i < 200; i++) ledger.commit(rewrite(i));
    expect(ledger.load().knobs.get(`${PCI} power_cap`)?.wrote).toBe(1_199);
    ledger.close();
    rmSync(filler);
  });

  it('that is full when the actuator stops keeps all, and when it starts lets no ledger be made', () => {
    const file = join(disk, 'stop.db');
    const ledger = opened(file);
    ledger.commit(line(0));
    const filler = ballast(100_000);
    const last = fillUp(ledger);
    ledger.close();
    expect(() => opened(join(disk, 'new.db'))).toThrow(FULL);
    rmSync(filler);
    // As the next process finds it; in this one the library still holds the file that could not be folded.
    const copy = join(scratch(), 'ledger.db');
    for (const end of ['', '-wal']) copyFileSync(`${file}${end}`, `${copy}${end}`);
    const again = opened(copy);
    expect(again.load().knobs.get(`${PCI} power_cap`)?.wrote).toBe(last);
    rmSync(join(disk, 'new.db'), { force: true });
  });

  it('that is mounted read-only is told', () => {
    opened(join(disk, 'ledger.db')).close();
    const view = scratch();
    const mount = (...args: string[]) => spawnSync('mount', [...args, view]).status;
    onTestFinished(() => void spawnSync('umount', ['-l', view]));
    expect([mount('--bind', disk), mount('-o', 'remount,bind,ro')]).toEqual([0, 0]);
    for (const name of ['ledger.db', 'new.db']) {
      const refused = expect.objectContaining({ code: 'LEDGER_UNWRITABLE' });
      expect(() => opened(join(view, name))).toThrow(refused);
    }
    opened(join(disk, 'ledger.db')).commit(aDecision('one'));
  });
});

it('a folder that is not ours is told by name', () => {
  skipUnless(process.getuid?.() === 0, 'only root can run a program as another user');
  const folder = mkdtempSync('/var/tmp/ledger-rights-');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, 'mine'));
  const { stderr, status } = spawnSync(process.execPath, [WRITER, join(folder, 'mine/ledger.db')], {
    uid: 65534,
    gid: 65534,
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr).toContain('LEDGER_UNWRITABLE');
  expect(statSync(join(folder, 'mine')).uid).toBe(0);
});

it('commits of a decision are durable in a few milliseconds', () => {
  const ledger = opened(join(scratch(), 'ledger.db'));
  const times: number[] = [];
  for (let i = 0; i < 2_000; i++) {
    const start = performance.now();
    ledger.commit(aDecision(`case-${i % 16}`));
    times.push(performance.now() - start);
  }
  const total = times.reduce((sum, ms) => sum + ms, 0);
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(share * times.length)]!;
  console.info(
    `${((times.length / total) * 1000).toFixed(0)} decisions a second; median ${at(0.5).toFixed(2)} ms, p99 ${at(0.99).toFixed(2)} ms`,
  );
  expect(at(0.5)).toBeLessThan(50);
});
