import { TestRunner } from 'vitest';
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';

/**
 * Skips the running test (in it, or in `beforeEach`) unless the condition holds. The reason ends in the list after the run,
 * so it says what the machine lacks: `skipUnless(capturesDir(), 'the captures are not on this machine')`.
 */
export function skipUnless(condition: unknown, reason: string): asserts condition {
  if (condition) return;
  const test = TestRunner.getCurrentTest();
  if (!test) throw new Error(`skipUnless belongs in a test or in beforeEach; it wanted to skip because: ${reason}`);
  test.context.skip(reason);
}

export interface Outcome {
  passed: number;
  failed: number;
  /** Full name of the test and why it did not run. */
  skipped: { name: string; reason: string }[];
  /** Full name of a test that failed and then passed, and with what it failed. */
  second: { name: string; reason: string }[];
}

/** What is read of a test, of a suite and of a file; a failing hook or file counts as one failure. */
type Module = Pick<TestModule, 'children' | 'errors' | 'moduleId' | 'relativeModuleId' | 'project'>;

export function outcomeOf(modules: readonly Module[], unhandledErrors: number): Outcome {
  const outcome: Outcome = { passed: 0, failed: unhandledErrors, skipped: [], second: [] };
  for (const module of modules) {
    const before = module.errors().length + [...module.children.allSuites()].filter(hasErrors).length;
    outcome.failed += before;
    for (const test of module.children.allTests()) count(outcome, module, test, before > 0);
  }
  return outcome;
}

const hasErrors = (suite: TestSuite) => suite.errors().length > 0;

function count(outcome: Outcome, module: Module, test: TestCase, brokenFile: boolean): void {
  const result = test.result();
  const name = `[${module.project.name}] ${module.relativeModuleId} > ${test.fullName}`;
  if (result.state === 'passed' || result.state === 'failed') {
    outcome[result.state]++;
    const [reason = 'no reason told'] = result.errors?.map(({ message }) => message.split('\n')[0] ?? '') ?? [];
    if (test.diagnostic()?.flaky === true) outcome.second.push({ name, reason });
    return;
  }
  const note = result.state === 'skipped' ? result.note : undefined;
  const fallback =
    test.options.mode === 'todo'
      ? 'not written yet'
      : test.options.mode === 'skip'
        ? 'no reason given'
        : brokenFile
          ? 'its file or a hook failed'
          : 'the run ended before';
  outcome.skipped.push({ name, reason: note ?? fallback });
}

/** The list, and last a line of its own without colour, for programs that read it. */
export function closingLines(outcome: Outcome): string {
  const notRun = listed('Not run', 'skipped', outcome.skipped);
  const second = listed('Passed only when tried again', 'at first', outcome.second);
  return `\n${notRun}${second}${outcome.passed} passed, ${outcome.failed} failed, ${outcome.skipped.length} skipped\n`;
}

function listed(title: string, word: string, list: Outcome['skipped']): string {
  const lines = list.map(({ name, reason }) => `  ${name}\n    ${word}: ${reason}\n`);
  return lines.length > 0 ? `${title}:\n${lines.join('')}` : '';
}

/** Stands after the default reporter in vitest.config.ts, and speaks after it. */
export default class SkipReporter implements Reporter {
  async onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): Promise<void> {
    // Reporters are told at the same time; the default one has written its summary when this turn is over.
    await new Promise((resolve) => setImmediate(resolve));
    process.stdout.write(closingLines(outcomeOf(modules, unhandledErrors.length)));
  }
}
