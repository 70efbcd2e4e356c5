import { createHash } from 'node:crypto';
import type { Clock, Stoppable } from '../base/clock.ts';
import { configurationError, describe, toError } from '../base/errors.ts';
import { type Log, onceLog } from '../base/log.ts';
import type { RuleSet } from '../model/policy.ts';
import type { RuleFile, RuleProblem } from '../rules/language/sheet.ts';
import { loadRuleFiles, readRules } from './rules-folder.ts';

export interface FollowOptions {
  /** Folder or file. */
  path: string;
  clock: Clock;
  log: Log;
  /** How often the files are looked at, ms. By content: editors, mounted secrets and git replace files in many ways. */
  everyMs?: number;
}

type Take = (rules: RuleSet) => void;

/** The rules of a folder, followed as it changes: all of it or nothing, and the last good ones stay in force. */
export class FollowedRules {
  readonly #options: FollowOptions;
  #print = '';

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** The rules as they are now. Throws RULES_INVALID with every problem and its place, RULES_UNREADABLE. */
  load(): RuleSet {
    const { path, log } = this.#options;
    const files = readRules([path]);
    this.#print = printOf(files);
    const { rules, problems } = loadRuleFiles(files);
    for (const problem of problems.filter(({ severity }) => severity === 'warning')) log.warn(textOf(problem));
    if (rules !== undefined) return rules;
    const errors = problems.filter(({ severity }) => severity === 'error');
    throw configurationError(
      'RULES_INVALID',
      `the rules in ${path} are not taken`,
      'See nightshift check for all of it.',
      {
        problems: errors.map((problem) => ({
          message: `${problem.code}: ${problem.message}`,
          at: { file: problem.file, line: problem.line, column: problem.column },
        })),
      },
    );
  }

  follow(take: Take, failed: () => void): Stoppable {
    const { clock, path, log, everyMs = 2_000 } = this.#options;
    const once = onceLog(log);
    return clock.every(everyMs, () => {
      try {
        if (printOf(readRules([path])) !== this.#print) this.#apply(take, failed);
        once.report('rules', undefined);
      } catch (error) {
        once.report('rules', `the rules cannot be read, those in force stay: ${describe(error)}`);
        // Read again they are taken again, also when they are what they were: only then is it known which are in force.
        this.#print = '';
        failed();
      }
    });
  }

  /** Takes the files whether they changed or not. Throws where they are wrong; what was in force then stays. */
  reload(take: Take, failed: () => void): void {
    try {
      const rules = this.load();
      take(rules);
      this.#options.log.info({ policies: rules.policies.length, rules: rules.version }, 'rules taken');
    } catch (error) {
      failed();
      throw error;
    }
  }

  #apply(take: Take, failed: () => void): void {
    try {
      this.reload(take, failed);
    } catch (error) {
      this.#options.log.error(`rules not taken, those in force stay: ${describe(toError(error))}`);
    }
  }
}

function printOf(files: readonly RuleFile[]): string {
  const hash = createHash('sha256');
  for (const { file, text } of files) hash.update(`${file}\0${text}\0`);
  return hash.digest('hex');
}

function textOf({ file, line, column, code, message }: RuleProblem): string {
  return `${file}:${line}:${column}: ${code}: ${message}`;
}
