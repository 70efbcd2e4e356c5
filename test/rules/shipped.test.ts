import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readRules } from '../../actuator/rules-folder.ts';
import { runPolicyTests } from '../../cli/policy-test/files.ts';
import { FILE_SCHEMAS, renderSchema } from '../../rules/language/json-schema.ts';
import { loadRules } from '../../rules/language/load.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const RULES = join(REPOSITORY, 'rules');
const files = readRules([RULES]);

describe('the shipped rules', () => {
  const { rules, problems } = loadRules(files);

  it('load, and leave nothing to say', () => {
    expect(problems).toEqual([]);
    expect(rules?.policies.length).toBeGreaterThanOrEqual(5);
  });

  it('write nothing to any card before somebody says so', () => {
    expect(rules?.policies.map(({ name, mode }) => [name, mode])).toEqual(
      rules?.policies.map(({ name }) => [name, 'dry_run']),
    );
  });

  it('have the measured operating points of the MI210', () => {
    const modes = parse(readFileSync(join(RULES, 'modes.yaml'), 'utf8')).modes as Record<string, { models: object }>;
    expect(Object.entries(modes).map(([name, { models }]) => [name, models])).toEqual([
      ['default', { MI210: { power_cap: '300W' } }],
      ['tuned', { MI210: { power_cap: '275W' } }],
      ['eco', { MI210: { power_cap: '230W' } }],
      ['deep-eco', { MI210: { power_cap: '200W' } }],
    ]);
  });

  it('pass their tests, which see each policy act and release, and each comparison of the thermal ones both ways', async () => {
    const report = await runPolicyTests([RULES]);
    expect(report.files.flatMap(({ tests }) => tests.flatMap(({ failures }) => failures))).toEqual([]);
    expect(report.passed).toBe(true);
    expect(report.coverage.map(({ policy }) => policy).sort()).toEqual(rules?.policies.map(({ name }) => name).sort());
    expect(report.coverage.filter(({ acted, released }) => !acted || !released)).toEqual([]);
    const thermal = report.coverage.filter(({ policy }) => policy.startsWith('hot-'));
    expect(thermal.flatMap(({ leaves }) => leaves).filter((leaf) => !leaf.seenTrue || !leaf.seenFalse)).toEqual([]);
  }, 60_000);
});

describe('the schemas for editors', () => {
  it.each(Object.keys(FILE_SCHEMAS))('%s is what the code makes of it now (npm run docs)', (name) => {
    expect(readFileSync(join(RULES, 'schema', name), 'utf8')).toBe(renderSchema(FILE_SCHEMAS[name] as z.ZodObject));
  });

  it.each(files.map(({ file, text }) => [file, text]))('%s names its own, and is valid by it', (file, text) => {
    const named = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text)?.[1];
    const schema = JSON.parse(readFileSync(join(dirname(file), named ?? 'none'), 'utf8'));
    const { success, error } = z.fromJSONSchema(schema).safeParse(parse(text));
    expect(error?.issues ?? []).toEqual([]);
    expect(success).toBe(true);
  });

  it.each([
    [
      'a key that is none',
      'policies',
      { version: 1, policies: [{ name: 'a', target: 'gpu', do: [{ notify: 'x' }], dwel: '2s' }] },
    ],
    [
      'a value without unit',
      'policies',
      { version: 1, policies: [{ name: 'a', target: 'gpu', do: [{ throttle: { power_cap: 70 } }] }] },
    ],
    [
      'a condition of two operators',
      'policies',
      { version: 1, policies: [{ name: 'a', target: 'gpu', do: [{ notify: 'x' }], when: { '>': [], '<': [] } }] },
    ],
    ['a window without zone', 'windows', { version: 1, windows: { a: { from: '22:00', to: '06:00' } } }],
  ])('underline %s', (_, name, value) => {
    const schema = JSON.parse(renderSchema(FILE_SCHEMAS[`${name}.schema.json`] as z.ZodObject));
    expect(z.fromJSONSchema(schema).safeParse(value).success).toBe(false);
  });
});
