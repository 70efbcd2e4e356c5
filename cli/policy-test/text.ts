import type { PolicyCoverage } from '../../rules/language/testing/coverage.ts';
import { count, renderProblems } from '../rule-problems.ts';
import type { FileResult, TestReport } from './files.ts';

/** The results of policy tests for people. */
export function renderTests(report: TestReport): string {
  const tests = report.files.flatMap((file) => file.tests);
  const failed = tests.filter(({ failures }) => failures.length > 0).length;
  const broken = report.files.filter(({ problems }) => problems.length > 0).length;
  const lines = report.files.flatMap(fileLines);
  if (report.coverage.length > 0) lines.push('', ...coverageLines(report.coverage));
  const not = broken === 0 ? '' : `, ${count(broken, 'file')} not run`;
  const passed = tests.length - failed;
  const summary = tests.length === 0 && broken === 0 ? 'no tests found' : `${passed} passed, ${failed} failed${not}`;
  return `${[...lines, '', summary].join('\n')}\n`;
}

function fileLines({ file, problems, tests }: FileResult): string[] {
  const lines = [file];
  if (problems.length > 0) lines.push(...renderProblems(problems).trimEnd().split('\n'));
  else if (tests.length === 0) lines.push('  has no tests');
  for (const { name, failures } of tests) {
    lines.push(`  ${failures.length === 0 ? 'ok  ' : 'FAIL'} ${name}`);
    for (const failure of failures) lines.push(`         ${failure}`);
  }
  return lines;
}

const mark = (seen: boolean): string => (seen ? 'yes' : 'NO');

/** What the tests saw of each policy; what no test saw stands below it. */
function coverageLines(coverage: readonly PolicyCoverage[]): string[] {
  const rows = coverage.map(({ policy, acted, released, leaves, suppressed }) => {
    const seen = leaves.reduce((sum, leaf) => sum + Number(leaf.seenTrue) + Number(leaf.seenFalse), 0);
    const branches = leaves.length === 0 ? '-' : `${seen}/${leaves.length * 2}`;
    return [policy, mark(acted), mark(released), branches, suppressed.join(', ') || '-'];
  });
  const table = [['policy', 'acted', 'released', 'branches', 'held back by'], ...rows];
  const widths = table[0]?.map((_, i) => Math.max(...table.map((row) => row[i]?.length ?? 0))) ?? [];
  const lines = table.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const unseen = coverage.flatMap(({ policy, leaves }) =>
    leaves.flatMap(({ text, seenTrue, seenFalse }) => [
      ...(seenTrue ? [] : [`${policy}: never true in a test: ${text}`]),
      ...(seenFalse ? [] : [`${policy}: never false in a test: ${text}`]),
    ]),
  );
  return [...lines, ...unseen];
}
