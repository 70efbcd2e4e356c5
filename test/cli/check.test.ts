import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkCommand } from '../../cli/check.ts';
import { renderPoliciesDoc, shippedExample } from '../../cli/policies-doc.ts';
import { renderProblems } from '../../cli/rule-problems.ts';
import { testCommand } from '../../cli/test.ts';
import { folderInMemory } from '../support/memory.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const TEN = join(REPOSITORY, 'test/fixtures/rules/ten-mistakes.yaml');

let dir: string;
beforeEach(() => {
  dir = folderInMemory('nightshift-check-');
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

/** What a command prints, and the exit code it leaves. */
async function run(make: (command: Command) => Command, ...args: string[]): Promise<{ text: string; code: unknown }> {
  let text = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  await make(new Command()).parseAsync(args, { from: 'user' });
  vi.restoreAllMocks();
  return { text, code: process.exitCode };
}

describe('nightshift check', () => {
  it('lists all ten mistakes of a file with line, column, the line itself, a caret and a hint', async () => {
    const { text, code } = await run(checkCommand, TEN);
    expect(code).toBe(1);
    const heads = text.split('\n').filter((line) => line.includes(': error '));
    expect(heads).toHaveLength(10);
    for (const head of heads) expect(head).toMatch(/ten-mistakes\.yaml:\d+:\d+: error [A-Z_]+: \S/);
    expect(text).toContain(`${TEN}:13:55: error CONDITION_UNIT: "55W" is in watts, what it stands with in °C
  13 |     until: { "<": [{ var: gpu.temperature.junction }, 55W] }
     |                                                       ^ Write it like 85°C.
`);
    expect(text.trimEnd().split('\n').at(-1)).toBe('10 errors, 0 warnings in 1 file: refused');
  });

  it('says nothing but the sum of rules that are in order', async () => {
    const { text, code } = await run(checkCommand, join(REPOSITORY, 'rules'));
    expect(text).toMatch(/^0 errors, 0 warnings in \d+ files: \d+ policies\n$/);
    expect(code).toBeUndefined();
  });

  it('takes rules with warnings', async () => {
    const text = readFileSync(join(REPOSITORY, 'rules/policies/hot-memory.yaml'), 'utf8').replace(
      'lease: 6m',
      'lease: 2m',
    );
    writeFileSync(join(dir, 'a.yaml'), text);
    writeFileSync(
      join(dir, 't.yaml'),
      'version: 1\nthresholds: { memory_hot: { value: 95°C }, memory_cool: { value: 85°C } }\n',
    );
    const { text: shown, code } = await run(checkCommand, dir);
    expect(shown).toContain('warning RULE_LEASE_SHORT');
    expect(shown).toMatch(/\n0 errors, 1 warning in 2 files: 1 policy\n$/);
    expect(code).toBeUndefined();
  });

  it('prints JSON for machines', async () => {
    const { text, code } = await run(checkCommand, TEN, '--json');
    const report = JSON.parse(text);
    expect(report).toMatchObject({ files: 1, policies: [] });
    expect(report.problems).toHaveLength(10);
    expect(report.problems[0]).toEqual({
      code: 'RULE_VALUE_INVALID',
      severity: 'error',
      file: TEN,
      line: 3,
      column: 9,
      message: '"mode" must be one of off, dry_run, enforce, not "enforced"',
      hint: 'Did you mean enforce?',
      snippet: '  mode: enforced',
    });
    expect(code).toBe(1);
  });

  it('names what is not there as a mistake of the command line', async () => {
    await expect(run(checkCommand, join(dir, 'none'))).rejects.toMatchObject({
      code: 'RULES_NOT_FOUND',
      fault: 'configuration',
    });
  });

  it('takes a folder without rules for a slip', async () => {
    await expect(run(checkCommand, dir)).rejects.toMatchObject({ code: 'RULES_NOT_FOUND' });
  });

  it('fails on a file of tests that is wrong, though it takes no rules away', async () => {
    writeFileSync(
      join(dir, 'a.yaml'),
      'version: 1\npolicies: [{ name: a, on: [{ manual: m }], target: gpu, do: [{ notify: hi }] }]\n',
    );
    writeFileSync(join(dir, 'a.test.yaml'), 'version: 1\nrules: [a.yaml]\ntests: [{ name: t }]\n');
    writeFileSync(join(dir, 'b.test.yaml'), 'version: [1\n');
    const { text, code } = await run(checkCommand, dir);
    expect(text).toMatch(/a\.test\.yaml:3:\d+: error RULE_KEY_MISSING/);
    expect(text).toMatch(/b\.test\.yaml:\d+:\d+: error RULE_YAML_INVALID/);
    expect(text).toMatch(/ in 3 files: 1 policy\n$/);
    expect(code).toBe(1);
  });

  it('lets no file write to the terminal', () => {
    const problem = { code: 'X', severity: 'error', file: 'a', line: 1, column: 1, message: 'm', hint: 'h' } as const;
    const shown = renderProblems([{ ...problem, snippet: 'a\u001b[2Jb\u009bc' }]);
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
  });
});

describe('nightshift test', () => {
  it('runs the tests beside the policies', async () => {
    const { text, code } = await run(testCommand, join(REPOSITORY, 'rules/policies/hot-memory.test.yaml'));
    expect(text).toMatch(/\n2 passed, 0 failed\n$/);
    expect(code).toBeUndefined();
  });

  it('fails where one fails, and prints JSON for machines', async () => {
    writeFileSync(join(dir, 'a.test.yaml'), 'version: 1\nrules: [.]\ntests: []\n');
    const { text, code } = await run(testCommand, dir, '--json');
    expect(JSON.parse(text)).toMatchObject({ passed: false, coverage: [] });
    expect(code).toBe(1);
  });
});

describe('docs/policies.md', () => {
  it('is what the code makes of it now (npm run docs)', () => {
    expect(readFileSync(join(REPOSITORY, 'docs/policies.md'), 'utf8')).toBe(renderPoliciesDoc(shippedExample()));
  });
});
