import type { RuleProblem } from '../rules/language/sheet.ts';

/** Findings in rule files, for people: as compilers tell them, so that editors and CI find the place. */
export function renderProblems(problems: readonly RuleProblem[]): string {
  return problems.map((problem) => `${renderProblem(problem)}\n`).join('');
}

function renderProblem({ file, line, column, severity, code, message, hint, snippet }: RuleProblem): string {
  const lines = [`${file}:${line}:${column}: ${severity} ${code}: ${message}`];
  if (snippet.trim() !== '') {
    const number = String(line).padStart(4);
    lines.push(
      `${number} | ${snippet}`,
      `     | ${' '.repeat(Math.min(column - 1, snippet.length))}^ ${hint}`.trimEnd(),
    );
  } else if (hint !== '') lines.push(`     | ${hint}`);
  return lines.map(printable).join('\n');
}

/** Files are other people's texts: nothing in them may move a terminal's cursor. */
function printable(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, '�');
}

export function summaryOf(problems: readonly RuleProblem[], files: number, policies: number | undefined): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const found = `${count(errors, 'error')}, ${count(problems.length - errors, 'warning')} in ${count(files, 'file')}`;
  return policies === undefined
    ? `${found}: refused`
    : `${found}: ${policies === 1 ? '1 policy' : `${policies} policies`}`;
}

export function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}
