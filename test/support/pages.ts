import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { actuatorCommand } from '../../cli/actuator.ts';
import { captureCommand } from '../../cli/capture.ts';
import { casesCommand } from '../../cli/cases.ts';
import { checkCommand } from '../../cli/check.ts';
import { demoCommand } from '../../cli/demo.ts';
import { docsCommand } from '../../cli/docs.ts';
import { doctorCommand } from '../../cli/doctor.ts';
import { explainCommand } from '../../cli/explain.ts';
import { exporterCommand } from '../../cli/exporter.ts';
import { historyCommand } from '../../cli/history.ts';
import { pauseCommand } from '../../cli/pause.ts';
import { resumeCommand } from '../../cli/resume.ts';
import { revertCommand } from '../../cli/revert.ts';
import { simCommand } from '../../cli/sim.ts';
import { startCommand } from '../../cli/start.ts';
import { testCommand } from '../../cli/test.ts';
import { triggerCommand } from '../../cli/trigger.ts';

/** The pages that people read, and what in them can be held against the code. */

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
export const readPage = (file: string): string => readFileSync(join(REPOSITORY, file), 'utf8');
export const isThere = (...path: string[]): boolean => existsSync(join(REPOSITORY, ...path));

export const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'docs/actuator.md',
  'docs/alerts.md',
  'docs/architecture.md',
  'docs/errors.md',
  'docs/exporter.md',
  'docs/policies.md',
  'docs/rights.md',
  'docs/simulator.md',
];

const MAKERS: Readonly<Record<string, (command: Command) => Command>> = {
  actuator: actuatorCommand,
  capture: captureCommand,
  cases: casesCommand,
  check: checkCommand,
  demo: demoCommand,
  docs: docsCommand,
  doctor: doctorCommand,
  explain: explainCommand,
  exporter: exporterCommand,
  history: historyCommand,
  pause: pauseCommand,
  resume: resumeCommand,
  revert: revertCommand,
  sim: simCommand,
  start: startCommand,
  test: testCommand,
  trigger: triggerCommand,
};

/** Long flags of each command by its name, those of `sim` with the word behind it. */
export const COMMANDS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(MAKERS).flatMap(([name, make]) => {
    const command = make(new Command());
    const inner = command.commands.map((one): [string, Command] => [`${name} ${one.name()}`, one]);
    return (inner.length === 0 ? [[name, command] as const] : inner).map(([words, { options }]) => [
      words,
      new Set([...options.map((option) => option.long as string), '--help']),
    ]);
  }),
);

/** First words of commands that have a second one. */
const GROUPS = new Set([...COMMANDS.keys()].filter((words) => words.includes(' ')).map((words) => words.split(' ')[0]));

/** Fenced examples of one language. */
export const fenced = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, body]) => body as string);

/** Everything that is written as code, fenced or not. */
const codeOf = (text: string): string[] => {
  const blocks = [...text.matchAll(/^```\w*\n(.*?)^```/gms)].map(([, body]) => body as string);
  const inline = [...text.replace(/^```.*?^```/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, body]) => body as string);
  return [...blocks, ...inline];
};

export interface Call {
  /** `pause`, `sim load`; undefined where there is no such command. A group alone stands for all of its commands. */
  command: string | undefined;
  flags: string[];
  line: string;
}

const CALL = /(?:\bnightshift|\bcli\/main\.js) +([a-z]+)(?: +([a-z]+))?([^#;|\n]*)/g;

/** Each call of one of our commands in a text, as far as the line goes on; a word that is no command counts as well. */
export function callsIn(text: string): Call[] {
  return codeOf(text).flatMap((code) =>
    // What a person says in quotes is no flag.
    [...code.replace(/"[^"\n]*"/g, '""').matchAll(CALL)].map(([line, first = '', second = '', rest = '']) => ({
      command: nameOf(first, second),
      flags: `${second}${rest}`.match(/(?<![\w-])--[a-z][a-z_.-]*[a-z]/g) ?? [],
      line,
    })),
  );
}

function nameOf(first: string, second: string): string | undefined {
  const words = GROUPS.has(first) && second !== '' ? `${first} ${second}` : first;
  return COMMANDS.has(words) || GROUPS.has(words) ? words : undefined;
}

/** Rows of the tables of a page whose first cell is code: the cells. */
export const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^\| `.*\|$/gm)].map(([line]) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );

/** The words that a cell has in backticks. */
export const wordsOf = (cell: string | undefined): string[] =>
  [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, word]) => word as string);

/** The part of a page below a heading, up to the next of the same depth. */
export function section(text: string, heading: string): string {
  const [, after = ''] = text.split(`\n## ${heading}\n`);
  return after.split('\n## ')[0] ?? '';
}
