import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeClock } from '../../base/clock.ts';
import type { ProcessTarget } from '../../exporter/processes/targets.ts';
import { counterValue, ProfilerCollector } from '../../exporter/profiler.ts';
import { profiler as quantities } from '../../model/quantities/profiler.ts';

const A = '0000:0c:00.0';
const B = '0000:0d:00.0';
const TARGETS: ProcessTarget[] = [
  { pci: A, gpu: 0, partitions: [{ number: 0, renderMinor: 128, kfdGpuId: 1000 }] },
  {
    pci: B,
    gpu: 1,
    partitions: [
      { number: 0, renderMinor: 129, kfdGpuId: 2000 },
      { number: 1, renderMinor: 130, kfdGpuId: 2001 },
    ],
  },
];
const NOW = 1_700_000_000;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nightshift-profiler-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A document as the tool prints it, written so many seconds ago. */
function write(file: string, devices: Record<number, Record<string, string>>, age = 0): void {
  const GpuMetrics = Object.entries(devices).map(([minor, counters], i) => ({
    GpuId: String(50_000 + i),
    DrmRenderId: minor,
    LogicalNodeId: String(i),
    Metrics: Object.entries(counters).map(([Field, Value]) => ({ Field, Value })),
  }));
  raw(file, JSON.stringify({ GpuMetrics }), age);
}

function raw(file: string, text: string, age = 0): void {
  writeFileSync(join(dir, file), text);
  utimesSync(join(dir, file), NOW - age, NOW - age);
}

async function scan(folder = dir) {
  const collector = new ProfilerCollector({ dir: folder, maxAgeMs: 60_000, clock: fakeClock(NOW * 1000) });
  await collector.scan(TARGETS);
  const counters = (pci: string) =>
    Object.fromEntries(
      [...collector.readings(pci).of(quantities.value)].map((slot) => [slot.labels.join(' '), slot.value]),
    );
  const mtimes = Object.fromEntries(
    [...collector.nodeReadings().of(quantities.mtime)].map((slot) => [slot.labels.join(' '), slot.value]),
  );
  return { collector, counters, mtimes, problems: collector.problems };
}

describe('profiler documents', () => {
  it('are joined to cards and partitions by the render minor, and their text is numbers', async () => {
    write('node.json', {
      128: { GRBM_GUI_ACTIVE: '123456', GPU_UTIL_PERCENT: '97.5' },
      130: { SQ_WAVES: '1e3' },
    });
    const { counters, mtimes, problems } = await scan();
    expect(counters(A)).toEqual({ 'GRBM_GUI_ACTIVE 0': 123456, 'GPU_UTIL_PERCENT 0': 97.5 });
    expect(counters(B)).toEqual({ 'SQ_WAVES 1': 1000 });
    expect(mtimes).toEqual({ 'node.json': NOW });
    expect(problems).toEqual([]);
  });

  it('may name devices by numbers, and by the KFD id alone', async () => {
    const Metrics = [{ Field: 'X', Value: '1' }];
    raw(
      'a.json',
      JSON.stringify({
        GpuMetrics: [
          { GpuId: 2001, Metrics },
          { GpuId: 7, DrmRenderId: 128, Metrics },
        ],
      }),
    );
    const { counters } = await scan();
    expect(counters(B)).toEqual({ 'X 1': 1 });
    expect(counters(A)).toEqual({ 'X 0': 1 });
  });

  it('leave out what is no finite number, and keep the rest', async () => {
    write('a.json', { 128: { A: 'nan', B: 'inf', C: '', D: '0x10', E: '1e999', F: '-2.5', G: '12 KB' } });
    const { counters, problems } = await scan();
    expect(counters(A)).toEqual({ 'F 0': -2.5 });
    expect(problems).toEqual([]);
  });

  it('that are older than the limit keep their time only', async () => {
    write('old.json', { 128: { X: '1' } }, 61);
    write('fresh.json', { 128: { Y: '2' } }, 60);
    const { counters, mtimes, problems } = await scan();
    expect(counters(A)).toEqual({ 'Y 0': 2 });
    expect(mtimes).toEqual({ 'old.json': NOW - 61, 'fresh.json': NOW - 60 });
    expect(problems).toEqual([]);
  });

  it('from the future never grow old, so they are not believed', async () => {
    write('ahead.json', { 128: { X: '1' } }, -61);
    const { counters, mtimes, problems } = await scan();
    expect(counters(A)).toEqual({});
    expect(mtimes).toEqual({ 'ahead.json': NOW + 61 });
    expect(problems).toMatchObject([{ file: 'ahead.json', message: expect.stringContaining('future') }]);
  });

  it('with the same counter of the same device give the newest, whatever their names', async () => {
    write('a.json', { 128: { X: 'old', Y: '10' } }, 5);
    write('b.json', { 128: { X: '2', Y: '20' } }, 30);
    write('c.json', { 128: { X: '3', Y: '30' } }, 40);
    const { counters } = await scan();
    // The newest has no number for X.
    expect(counters(A)).toEqual({ 'X 0': 2, 'Y 0': 10 });
  });

  it('that are broken are named, and spoil no other', async () => {
    write('good.json', { 128: { X: '1' } });
    raw('cut.json', '{"GpuMetrics":[{"Gpu');
    raw('other.json', '{"metrics":[]}');
    raw('empty.json', '');
    raw('large.json', ' '.repeat(4 * 2 ** 20 + 1));
    raw(
      'long.json',
      JSON.stringify({ GpuMetrics: [{ DrmRenderId: '128', Metrics: [{ Field: 'x'.repeat(257), Value: '1' }] }] }),
    );
    raw('notes.txt', 'nothing of ours');
    mkdirSync(join(dir, 'folder.json'));
    execFileSync('mkfifo', [join(dir, 'pipe.json')]);
    const { counters, mtimes, problems } = await scan();
    expect(counters(A)).toEqual({ 'X 0': 1 });
    const broken = ['cut.json', 'empty.json', 'folder.json', 'large.json', 'long.json', 'other.json', 'pipe.json'];
    expect(problems.map(({ file }) => file).sort()).toEqual(broken);
    expect(Object.keys(mtimes).sort()).toEqual([
      'cut.json',
      'empty.json',
      'good.json',
      'large.json',
      'long.json',
      'other.json',
    ]);
  });

  it('of cards that are not there are named', async () => {
    write('a.json', { 200: { X: '1' }, 128: { X: '2' } });
    const { counters, problems } = await scan();
    expect(counters(A)).toEqual({ 'X 0': 2 });
    expect(problems).toMatchObject([{ file: 'a.json', message: expect.stringContaining('render node 200') }]);
  });

  it('in a folder that is not there are a problem, not an error', async () => {
    const { problems, mtimes } = await scan(join(dir, 'nowhere'));
    expect(problems).toMatchObject([{ message: expect.stringContaining('ENOENT') }]);
    expect(mtimes).toEqual({});
  });

  it('that were taken away take their counters with them', async () => {
    write('a.json', { 128: { X: '1' } });
    const { collector, counters } = await scan();
    expect(counters(A)).toEqual({ 'X 0': 1 });
    rmSync(join(dir, 'a.json'));
    await collector.scan(TARGETS);
    expect(counters(A)).toEqual({});
    expect([...collector.nodeReadings().of(quantities.mtime)]).toEqual([]);
  });

  it('are bounded in number', async () => {
    for (let i = 100; i < 170; i++) write(`${i}.json`, { 128: { [`C${i}`]: '1' } });
    const { counters, problems } = await scan();
    expect(Object.keys(counters(A))).toHaveLength(64);
    expect(problems).toMatchObject([{ file: dir, message: expect.stringContaining('70') }]);
  });

  it('never make a scan throw, whatever stands in them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), async (text) => {
        raw('a.json', text);
        const { problems } = await scan();
        expect(problems.map(({ file }) => file)).toEqual(['a.json']);
      }),
      { numRuns: 30 },
    );
  });
});

describe('values of counters', () => {
  it('are what the text says, or nothing', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(counterValue(String(value))).toBe(value === 0 ? 0 : value);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        const value = counterValue(text);
        if (value !== undefined) expect(text.trim()).toMatch(/^[-+.\deE]+$/);
      }),
    );
  });
});
