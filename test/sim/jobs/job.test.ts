import { describe, expect, it } from 'vitest';
import { JobRun, type OnTerm } from '../../../sim/jobs/job.ts';

const GB = 1e9;

interface Rig {
  run: JobRun;
  told: string[];
  /** Lets so many seconds pass in steps of a tenth, with so many GB asked for. */
  live(seconds: number, wants?: number, more?: { stuck?: boolean; lost?: boolean }): void;
}

function rig(term: OnTerm = 'end'): Rig {
  const told: string[] = [];
  let t = 0;
  const run: JobRun = new JobRun(
    {
      term,
      write: 5 * GB,
      free: 30 * GB,
      tell: (event) => told.push(`${t.toFixed(1)} ${event}`),
      finish: () => run.ended({ code: 0, signal: null }),
    },
    undefined,
  );
  run.begin();
  return {
    run,
    told,
    live(seconds, wants = 60, { stuck = false, lost = false } = {}) {
      for (let left = Math.round(seconds * 10); left > 0; left--) {
        t += 0.1;
        run.step({ dt: 0.1, t, wants: wants * GB, stuck, lost });
      }
    },
  };
}

describe('a job', () => {
  it('saves for SIGUSR1 as long as its memory takes to be written, and goes on', () => {
    const { run, live, told } = rig();
    live(1);
    expect(run.signal('SIGUSR1')).toBe('saves');
    live(11.8);
    expect(run.phase).toBe('checkpoint');
    live(0.4);
    expect(run.phase).toBeUndefined();
    expect(run.state).toBe('running');
    expect(told.map((line) => line.replace(/^\S+ /, ''))).toEqual(['job start', 'checkpoint start', 'checkpoint end']);
  });

  it.each([
    ['end', 'SIGTERM', 'ends', { code: 143, signal: null }, 'a program that does not save'],
    ['ignore', 'SIGTERM', 'ignores', undefined, 'a framework that swallows it'],
    ['ignore', 'SIGKILL', 'ends', { code: null, signal: 'SIGKILL' }, 'nobody can ignore that'],
    ['save', 'SIGKILL', 'ends', { code: null, signal: 'SIGKILL' }, 'nor save first'],
  ] as const)('that is to %s for SIGTERM and gets %s %s with %j: %s', (term, signal, does, end, _why) => {
    const { run, live } = rig(term);
    live(1);
    expect(run.signal(signal)).toBe(does);
    expect(run.end).toEqual(end);
    live(1);
    expect(run.state).toBe(end ? 'freeing' : 'running');
  });

  it('that saves for SIGTERM ends with 0 afterwards, also when it was saving already', () => {
    for (const first of [[], ['SIGUSR1']] as const) {
      const { run, live, told } = rig('save');
      live(1);
      for (const signal of first) run.signal(signal);
      live(2);
      expect(run.signal('SIGTERM')).toBe('saves');
      live(12.2);
      expect(run.end).toEqual({ code: 0, signal: null });
      expect(told.filter((line) => line.endsWith('checkpoint start'))).toHaveLength(1);
    }
  });

  it('gives its memory back at the pace of the link once it has ended, then nothing is left', () => {
    const { run, live } = rig();
    live(1);
    run.signal('SIGTERM');
    live(1);
    expect(run.held / GB).toBeCloseTo(30, 5);
    live(0.9);
    expect(run.state).toBe('freeing');
    live(0.2);
    expect([run.state, run.held]).toEqual(['freed', 0]);
    expect(run.signal('SIGKILL')).toBe('ignores');
  });

  it('that needs less holds less at the same pace, and more at once', () => {
    const { run, live } = rig();
    live(1, 60);
    live(1, 10);
    expect(run.held / GB).toBeCloseTo(30, 5);
    live(1, 10);
    expect(run.held / GB).toBe(10);
    live(0.1, 50);
    expect(run.held / GB).toBe(50);
  });

  it('on a GPU that hangs neither saves nor frees, and a reset takes all that it holds', () => {
    const { run, live } = rig('save');
    live(1);
    run.signal('SIGTERM');
    live(60, 60, { stuck: true });
    expect(run.saving).toBe(true);
    run.signal('SIGKILL');
    live(60, 60, { stuck: true });
    expect([run.state, run.held / GB]).toEqual(['freeing', 60]);
    live(0.1, 60, { lost: true });
    expect([run.state, run.held]).toEqual(['freed', 0]);
  });
});
