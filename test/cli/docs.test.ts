import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { coverage, renderMetricsDoc, selfMetrics, totals } from '../../cli/metrics-doc.ts';
import { ALL_QUANTITIES, CATALOGUE } from '../../model/quantities/catalogue.ts';
import { COVERAGE } from '../../model/quantities/coverage.ts';
import { MATRIX, PROFILER_ROWS } from '../../model/quantities/matrix.ts';
import { GROUPS, metricName } from '../../model/quantities/quantity.ts';
import { readSources } from '../support/rooms.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const ids = MATRIX.flatMap(({ rows }) => rows.map(([id]) => id));
let known: Set<string>;

beforeAll(async () => {
  const own = (await selfMetrics()).map(({ name }) => name);
  known = new Set([...ALL_QUANTITIES.map(metricName), ...own]);
});

describe('docs/metrics.md', () => {
  it('is what the code makes of it now (npm run docs)', async () => {
    expect(readFileSync(`${REPOSITORY}/docs/metrics.md`, 'utf8')).toBe(await renderMetricsDoc());
  });
});

describe('the coverage table', () => {
  it('has every row of the matrix once', () => {
    const spans = { C: 14, M: 20, P: 19, X: 34, K: 18, R: 41, J: 18, N: 9, E: 7, I: 23, D: 25 };
    const expected = Object.entries(spans).flatMap(([letter, last]) => numbered(letter, 1, last));
    expected.push(...numbered('T', 1, 16), ...numbered('T', 20, 59));
    expect([...ids].sort()).toEqual(expected.sort());
    expect(PROFILER_ROWS).toEqual(numbered('F', 1, 53));
    expect(coverage().map(({ id }) => id)).toEqual([...ids, 'F1–F53']);
  });

  it('leaves no row without a verdict, and says so', () => {
    const lines = coverage();
    expect(lines.filter(({ verdict }) => verdict === 'missing')).toEqual([]);
    expect(totals(lines)).toMatch(/missing 0\.\*\*$/);
  });

  it('would show a row that nobody accounts for', () => {
    const line = { id: 'C1', asks: '', verdict: 'missing', by: '' } as const;
    expect(totals([line])).toContain('missing 1');
  });

  it('judges no row that is not in the matrix', () => {
    const rows = new Set([...ids, ...PROFILER_ROWS]);
    expect(Object.keys(COVERAGE).filter((id) => !rows.has(id))).toEqual([]);
    expect(ALL_QUANTITIES.flatMap((q) => q.rows).filter((id) => !rows.has(id))).toEqual([]);
  });

  it('calls nothing impossible or late that a quantity claims to answer', () => {
    const claimed = Object.entries(COVERAGE).filter(
      ([id, { kind }]) => (kind === 'impossible' || kind === 'later') && claimants(id).length > 0,
    );
    expect(claimed.map(([id]) => `${id}: ${claimants(id).join(', ')}`)).toEqual([]);
  });

  it('names only families that exist', () => {
    const named = coverage().flatMap(({ by }) => by.match(/amdgpu_[a-z0-9_]+/g) ?? []);
    expect(named.length).toBeGreaterThan(200);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('the catalogue', () => {
  it('gives each family one quantity', () => {
    const names = ALL_QUANTITIES.map(metricName);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  it('holds nothing that no code publishes', async () => {
    const sources = [...readSources(REPOSITORY)].filter(([file]) => /^(amdgpu|exporter)\//.test(file));
    const text = sources.map(([, source]) => source).join('\n');
    const unused: string[] = [];
    for (const group of GROUPS) {
      const module = (await import(`../../model/quantities/${group}.ts`)) as Record<string, Record<string, unknown>>;
      for (const key of Object.keys(module[group] ?? {})) {
        if (!new RegExp(`\\b(${group}|quantities)\\.${key}\\b`).test(text)) unused.push(`${group}.${key}`);
      }
      expect(CATALOGUE[group].length).toBeGreaterThan(0);
    }
    expect(unused).toEqual([]);
  });
});

function numbered(letter: string, first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, i) => `${letter}${first + i}`);
}

function claimants(id: string): string[] {
  return ALL_QUANTITIES.filter((q) => q.rows.includes(id)).map(metricName);
}
