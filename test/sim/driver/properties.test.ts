import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileModes, writeFile } from '../../../sim/driver/write.ts';
import { MODELS } from '../../../sim/models.ts';
import { type NodeDescription, type NodeOptions, renderLive, renderNode } from '../../../sim/tree.ts';
import { idleNode } from './support.ts';

const NODES: NodeOptions[] = [
  { model: 'mi100', cards: 1 },
  { model: 'mi210', cards: 1 },
  { model: 'mi250x', cards: 1 },
  { model: 'mi300x', cards: 1, partition: 'dpx' },
  { model: 'mi300a', cards: 1 },
  { model: 'mi355x', cards: 1 },
];

const WORDS = [
  ...['auto', 'manual', 'low', 'high', 'perf_determinism', 'profile_peak', 'profile_exit', 'profile_standard'],
  ...[
    'c',
    'r',
    's 0 900',
    's 1 900',
    's 1 1700',
    's 0 500',
    's 0 1699',
    'm 1 1100',
    'm 0 900',
    '0',
    '1',
    '0 1',
    '31',
    '',
  ],
  ...[
    'SPX',
    'dpx',
    'CPX',
    'TPX',
    'NPS1',
    'NPS4',
    '250000000',
    '1000000',
    '999999',
    '4294967296',
    '-1',
    '1 1',
    '6 0 0 0 1',
  ],
];
const text = fc
  .oneof(
    { weight: 6, arbitrary: fc.constantFrom(...WORDS) },
    { weight: 2, arbitrary: fc.integer({ min: -10, max: 2_000_000_000 }).map(String) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('s 0', 's 1', 'm 1'), fc.integer({ min: 0, max: 3000 }))
        .map((parts) => parts.join(' ')),
    },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
  )
  .chain((value) => fc.constantFrom(value, `${value}\n`, `${value}\0`));

/** Every file that root may write, and the sets of writes to them. */
function writes(node: NodeDescription) {
  const files = [...fileModes(node)].filter(([, mode]) => (mode & 0o222) !== 0).map(([path]) => path);
  // Most files belong to other cores: those of the driver come as often as all of them.
  const driver = files.filter((path) => /pp_|power\d_cap|level|partition|policy|isolation|logging|dpm/.test(path));
  return fc.array(fc.tuple(fc.oneof(fc.constantFrom(...driver), fc.constantFrom(...files)), text), { maxLength: 25 });
}

function expectValid(node: NodeDescription): void {
  const spec = MODELS[node.model];
  const [lowest, highest] = [spec.clocks.gfx[0]!, spec.clocks.gfx.at(-1)!];
  for (const { settings, partitions, compute } of node.gpus) {
    expect(settings.cap).toBeGreaterThanOrEqual(1);
    expect(settings.cap).toBeLessThanOrEqual(spec.cap);
    expect(Number.isInteger(settings.cap)).toBe(true);
    expect(settings.gfxMin).toBeGreaterThanOrEqual(lowest);
    expect(settings.gfxMax).toBeLessThanOrEqual(highest);
    expect(settings.gfxMin).toBeLessThanOrEqual(settings.gfxMax);
    expect(settings.memMax).toBeGreaterThanOrEqual(spec.clocks.mem[0]!);
    expect(settings.memMax).toBeLessThanOrEqual(spec.clocks.mem.at(-1)!);
    if (settings.level === 'auto')
      expect(settings).toMatchObject({ gfxMin: lowest, gfxMax: highest, memMax: spec.clocks.mem.at(-1) });
    expect(settings.isolation).toHaveLength(partitions.length);
    expect(partitions.flatMap(({ xccs }) => xccs)).toEqual(Array.from({ length: spec.xccs }, (_, xcc) => xcc));
    expect(partitions.length).toBe({ spx: 1, dpx: 2, tpx: 3, qpx: 4, cpx: spec.xccs }[compute ?? 'spx']);
  }
}

describe.each(NODES)('$model', (options) => {
  it('never throws and never leaves an invalid state, whatever is written where', () => {
    const start = idleNode(options);
    fc.assert(
      fc.property(writes(start), (list) => {
        const node = idleNode(options);
        for (const [path, value] of list) {
          const before = structuredClone(node.gpus);
          const result = writeFile(node, path, value);
          if (!result.ok) expect(node.gpus).toEqual(before);
          expectValid(node);
        }
        expect(() => renderLive(node)).not.toThrow();
      }),
      { numRuns: 40 },
    );
  });

  it('does the same for the same writes', () => {
    const start = idleNode(options);
    fc.assert(
      fc.property(writes(start), (list) => {
        const [one, other] = [idleNode(options), idleNode(options)];
        const results = [one, other].map((node) => list.map(([path, value]) => writeFile(node, path, value)));
        expect(results[0]).toEqual(results[1]);
        expect(one).toEqual(other);
      }),
      { numRuns: 10 },
    );
  });

  it('takes a read-only file for what it is', () => {
    const node = idleNode(options);
    const modes = fileModes(node);
    expect(modes.size).toBe([...renderNode(node).values()].filter((entry) => 'content' in entry).length);
    fc.assert(
      fc.property(fc.constantFrom(...modes.keys()), text, (path, value) => {
        const result = writeFile(node, path, value);
        if ((modes.get(path)! & 0o222) === 0) expect(result).toEqual({ ok: false, errno: 'EACCES' });
        else expect(result.ok || result.errno !== 'EACCES').toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
