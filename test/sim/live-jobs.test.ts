import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JobEnd, JobSignal } from '../../sim/jobs/job.ts';
import type { StartWorker, WorkerEvents } from '../../sim/live/children.ts';
import { linkRate } from '../../sim/live/jobs.ts';
import { MODELS } from '../../sim/models.ts';
import { type Lab, type LabOptions, lab } from './living.ts';

const KFD = 'sys/class/kfd/kfd/proc';
const job = (more: string, curve = 'curve: steady, busy: 0.9, vram: 0.8'): string =>
  `description: one job\nduration: 1h\nload:\n  - { ${curve}, job: { class: batch, ${more} } }\n`;
const pids = ({ node }: Lab): number[] => node.processes.map(({ pid }) => pid);
const inProc = ({ dir }: Lab): string[] => readdirSync(join(dir, 'proc')).filter((name) => /^\d+$/.test(name));
const text = ({ dir }: Lab, path: string): string => readFileSync(join(dir, path), 'utf8');
const oneCard = (scenario: string, more: Partial<LabOptions> = {}): Lab =>
  lab({ node: { model: 'mi210', cards: 1 }, scenario, ...more });

describe('a job that ends', () => {
  it('gives its memory back at the pace of the link; then its entry in KFD goes, then its files', () => {
    const node = oneCard(job('owner: slurm'));
    node.clock.advance(1000);
    const [pid] = pids(node);
    const full = node.number(0, 'mem_info_vram_used');
    expect(node.live.event('signal', 0, 'term')).toBe(`SIGTERM to batch job ${pid}`);
    const rate = linkRate(MODELS.mi210);
    expect(rate).toBeCloseTo(31.5e9, -8);
    for (const seconds of [0.5, 1, 1.5]) {
      node.clock.advance(500);
      expect(Math.abs(node.number(0, 'mem_info_vram_used') - (full - seconds * rate))).toBeLessThan(0.02 * full);
      expect(text(node, `proc/${pid}/status`)).toContain('State:\tZ (zombie)');
      expect(text(node, `proc/${pid}/cmdline`)).toBe('');
      expect(existsSync(join(node.dir, `proc/${pid}/fd`))).toBe(false);
      expect(readdirSync(join(node.dir, KFD))).toEqual([String(pid)]);
    }
    while (existsSync(join(node.dir, KFD, String(pid)))) node.clock.advance(100);
    expect(node.number(0, 'mem_info_vram_used')).toBeLessThan(300 * 2 ** 20);
    expect(inProc(node)).toEqual([String(pid)]);
    node.clock.advance(100);
    expect(inProc(node)).toEqual([]);
    expect(node.number(0, 'gpu_busy_percent')).toBe(0);
    const [end] = node.events('job end') as unknown as (JobEnd & { held: number })[];
    expect(end).toMatchObject({ code: 143, signal: null });
    const [freed] = node.events('vram freed');
    expect((freed?.t ?? 0) - 1).toBeCloseTo((end?.held ?? 0) / rate, 0);
  });

  it('starts again as another process, in whose place nothing of the old one is left', () => {
    const node = oneCard(job('owner: slurm'));
    const [old] = pids(node);
    node.clock.advance(500);
    expect(node.live.event('restart', 0)).toBe('no batch job has ended there');
    node.live.event('signal', 0, 'kill');
    node.clock.advance(300);
    expect(node.live.event('restart', 'all')).toBe('1 batch job(s) start again');
    node.clock.advance(1100);
    expect(pids(node)).not.toContain(old);
    expect(inProc(node)).toEqual(pids(node).map(String));
    expect(node.number(0, 'gpu_busy_percent')).toBeGreaterThan(80);
    const start = (): string => text(node, `proc/${pids(node)[0]}/stat`).split(' ')[21] ?? '';
    const before = start();
    node.clock.advance(7777);
    expect(start()).toBe(before);
  });

  it('comes back when its scenario begins anew', () => {
    const node = oneCard(job('owner: slurm').replace('1h', '20s'));
    node.live.event('signal', 0, 'kill');
    node.clock.advance(10_000);
    expect(pids(node)).toEqual([]);
    node.clock.advance(11_000);
    expect(pids(node)).toHaveLength(1);
    expect(node.number(0, 'gpu_busy_percent')).toBeGreaterThan(80);
  });

  it('on a hung GPU keeps what it holds until the reset', () => {
    const node = oneCard(job('owner: slurm'));
    node.clock.advance(1000);
    node.live.event('hang', 0);
    node.live.event('signal', 0, 'kill');
    node.clock.advance(10_000);
    expect(readdirSync(join(node.dir, KFD))).toHaveLength(1);
    node.live.event('reset', 0);
    node.clock.advance(400);
    expect(inProc(node)).toEqual([]);
  });

  it('has a pid that no process of Linux has, so that a signal meant for it reaches nobody', () => {
    for (const pid of pids(lab({ node: { model: 'mi300x', cards: 8 }, scenario: 'night-shift' })))
      expect(pid).toBeGreaterThan(4_194_304);
  });

  it('other classes hear only what is meant for them', () => {
    const node = lab({ node: { model: 'mi300x', cards: 2 }, scenario: 'night-shift' });
    expect(node.live.event('signal', 1, 'term')).toBe('SIGTERM: no batch job runs there');
    expect(node.live.event('signal', 1, 'term', 'inference')).toMatch(/^SIGTERM to inference job \d+$/);
  });

  it('keeps its work over another partitioning', () => {
    const node = lab({ node: { model: 'mi300x', cards: 1 }, scenario: job('owner: slurm') });
    const [pid] = pids(node);
    node.live.event('repartition', 'cpx');
    node.clock.advance(1000);
    expect(pids(node)).toEqual([pid]);
    expect(node.node.processes[0]?.gpus.map(({ vram }) => vram > 0)).toEqual(new Array(8).fill(true));
  });
});

describe('phases', () => {
  const phases = job('owner: slurm, phases: { compute: 20s, communicate: 4s, checkpoint_every: 60s }');

  it('show in load and links: traffic while it communicates, a dip and PCIe while it saves', () => {
    const node = lab({ node: { model: 'mi300x', cards: 2 }, scenario: phases });
    const rows: { busy: number; sent: number; pcie: number; phase: string }[] = [];
    let sent = 0;
    for (let step = 0; step < 1500; step++) {
      node.clock.advance(100);
      const gpu = node.node.gpus[0];
      const total = gpu?.counters.xgmiWrite.reduce((sum, value) => sum + value, 0) ?? 0;
      rows.push({
        busy: node.number(0, 'gpu_busy_percent'),
        sent: (total - sent) * 10,
        pcie: gpu?.counters.pcieSample ?? 0,
        phase: node.events('checkpoint start').length > node.events('checkpoint end').length ? 'saves' : 'works',
      });
      sent = total;
    }
    const still = rows.filter(({ sent: kilobytes }) => kilobytes === 0).length / rows.length;
    expect(still).toBeGreaterThan(0.6);
    expect(still).toBeLessThan(0.95);
    const saving = rows.filter(({ phase }) => phase === 'saves');
    // 154 of 192 GiB at 5 GB/s are half a minute.
    expect(saving.length).toBeGreaterThan(250);
    for (const { busy, pcie } of saving.slice(5, -5)) {
      expect(busy).toBeLessThan(10);
      expect(pcie).toBe(5);
    }
    // All of a job's processes wait for each other.
    const began = node.events('checkpoint start') as unknown as { gpu: number; t: number }[];
    expect(new Set(began.map(({ t }) => t)).size).toBe(began.length / 2);
  }, 30_000);
});

describe('jobs with real processes', () => {
  interface Fake extends WorkerEvents {
    signals: (JobSignal | 'finish')[];
    term: string;
  }

  /** Processes that are none: what a signal does to them the test says. */
  function workers(): { start: StartWorker; made: Fake[] } {
    const made: Fake[] = [];
    const start: StartWorker = ({ term }, on) => {
      const signals: Fake['signals'] = [];
      made.push({ ...on, signals, term });
      const pid = 700 + made.length;
      return { pid, kill: (signal) => void signals.push(signal), finish: () => void signals.push('finish') };
    };
    return { start, made };
  }

  it('are shown from the moment on in which they hear signals, with pid and owner of this machine', async () => {
    const { start, made } = workers();
    const node = oneCard(job('real: true'), { startWorker: start });
    expect(pids(node)).toEqual([]);
    const ready = node.live.ready();
    made[0]?.ready();
    await ready;
    expect(inProc(node)).toEqual(['701']);
    expect(text(node, 'proc/701/status')).toContain(`Uid:\t${process.getuid?.()}\t`);
    node.clock.advance(1000);
    expect(node.number(0, 'gpu_busy_percent')).toBeGreaterThan(80);
  });

  it('are told to end when they have saved, and what ends by itself is noticed', () => {
    const { start, made } = workers();
    const node = oneCard(job('real: true, term: save'), { startWorker: start });
    made[0]?.ready();
    node.clock.advance(1000);
    made[0]?.heard('SIGTERM');
    node.clock.advance(15_000);
    expect(made[0]).toMatchObject({ term: 'save', signals: ['finish'] });
    made[0]?.ended({ code: 0, signal: null });
    node.clock.advance(3000);
    expect(node.events('job end')[0]).toMatchObject({ pid: 701, code: 0 });
    expect(inProc(node)).toEqual([]);
    node.live.event('restart', 0);
    made[1]?.ready();
    node.clock.advance(100);
    expect(inProc(node)).toEqual(['702']);
    node.live.event('signal', 0, 'kill');
    expect(made[1]?.signals).toEqual(['SIGKILL']);
    node.live.stop();
    expect(made[1]?.signals).toEqual(['SIGKILL', 'SIGKILL']);
  });

  it('that cannot be started are an error of the machine', async () => {
    const { start, made } = workers();
    const node = oneCard(job('owner: slurm'), { startWorker: start, realJobs: true });
    const ready = node.live.ready();
    made[0]?.ended({ code: null, signal: null });
    await expect(ready).rejects.toMatchObject({ code: 'SIMULATION_JOB_FAILED', fault: 'environment' });
  });
});
