import { dirname, join, resolve } from 'node:path';
import { isTestFile, loadRuleFiles, readRules } from '../../actuator/rules-folder.ts';
import { NightshiftError } from '../../base/errors.ts';
import type { RuleSet } from '../../model/policy.ts';
import { type RuleFile, type RuleProblem, Sheet } from '../../rules/language/sheet.ts';
import { Coverage, type PolicyCoverage } from '../../rules/language/testing/coverage.ts';
import { runTest, type TestResult } from '../../rules/language/testing/run.ts';
import { checkTestFile, type TestFile } from '../../rules/language/testing/schema.ts';
import { makeBench } from './bench.ts';

/** One test file, and what became of its tests. */
export interface FileResult {
  file: string;
  /** What keeps its tests from being run: errors in it, or in the rules it names. */
  problems: RuleProblem[];
  tests: TestResult[];
}

export interface TestReport {
  /** There were tests, and none of them failed. */
  passed: boolean;
  files: FileResult[];
  coverage: PolicyCoverage[];
}

/** Runs all tests in and below these paths. */
export async function runPolicyTests(paths: readonly string[]): Promise<TestReport> {
  const coverage = new Coverage();
  const named = new Set(paths);
  const files: FileResult[] = [];
  for (const file of readRules(paths)) {
    if (isTestFile(file.file) || named.has(file.file)) files.push(await runFile(file, coverage));
  }
  const run = files.flatMap(({ tests }) => tests);
  const whole = files.every(({ problems, tests }) => problems.length === 0 && tests.length > 0);
  return {
    passed: run.length > 0 && whole && run.every(({ failures }) => failures.length === 0),
    files,
    coverage: coverage.rows(),
  };
}

async function runFile(file: RuleFile, coverage: Coverage): Promise<FileResult> {
  const sheet = new Sheet(file);
  const written = sheet.problems.length > 0 ? undefined : checkTestFile(sheet);
  if (written === undefined) return { file: file.file, problems: sheet.problems, tests: [] };
  const { rules, problems } = rulesOf(sheet, written);
  if (rules === undefined) return { file: file.file, problems, tests: [] };
  const tests: TestResult[] = [];
  for (const test of written.tests) tests.push(await runTest(test, rules, makeBench, coverage));
  return { file: file.file, problems: [], tests };
}

/** The rules that a test file names, seen from where it lies. */
function rulesOf(sheet: Sheet, { rules: paths }: TestFile): { rules?: RuleSet; problems: RuleProblem[] } {
  const found = new Map<string, RuleFile>();
  for (const [i, path] of paths.entries()) {
    try {
      for (const file of readRules([join(dirname(sheet.file), path)])) {
        if (!isTestFile(file.file)) found.set(resolve(file.file), file);
      }
    } catch (error) {
      if (!(error instanceof NightshiftError)) throw error;
      sheet.add('RULE_REFERENCE_UNKNOWN', ['rules', i], error.message, error.hint);
    }
  }
  if (sheet.problems.length > 0) return { problems: sheet.problems };
  const { rules, problems } = loadRuleFiles([...found.values()]);
  const errors = problems.filter(({ severity }) => severity === 'error');
  return { ...(rules === undefined ? {} : { rules }), problems: errors };
}
