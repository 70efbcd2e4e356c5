import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { COVERAGE } from '../../model/quantities/coverage.ts';

it('every expression of the coverage table and of the README is PromQL', async () => {
  const expressions = Object.entries(COVERAGE).flatMap(([id, verdict]) =>
    verdict.kind === 'derived' ? [{ record: `row:${id}`, expr: verdict.expression }] : [],
  );
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  for (const [, expr = ''] of readme.matchAll(/^```promql\n(.*?)^```/gms))
    expressions.push({ record: 'readme:load', expr });
  expect(expressions.length).toBeGreaterThan(30);
  const dir = mkdtempSync(join(tmpdir(), 'nightshift-rules-'));
  try {
    const file = join(dir, 'rules.yml');
    writeFileSync(file, stringify({ groups: [{ name: 'rows', rules: expressions }] }));
    const { exitCode, all } = await execa('promtool', ['check', 'rules', file], { reject: false, all: true });
    expect(all).toContain(`${expressions.length} rules found`);
    expect(exitCode).toBe(0);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
