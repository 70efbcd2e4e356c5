import type { Command } from 'commander';
import { loadRuleFiles, readRules } from '../actuator/rules-folder.ts';
import { configurationError } from '../base/errors.ts';
import { defineFlags } from '../base/flags.ts';
import { renderProblems, summaryOf } from './rule-problems.ts';

const flags = defineFlags([{ name: 'json', kind: 'boolean', default: false, help: 'print the findings as JSON' }]);

export function checkCommand(command: Command): Command {
  return flags
    .addTo(command.description('check policy files: everything that is wrong, with file, line and column'))
    .argument('[paths...]', 'rules folders or files', ['rules'])
    .addHelpText(
      'after',
      `
Reads *.yaml below each folder and starts nothing. Errors are what the actuator would refuse the files for; warnings load.

Exit codes: 0 no errors, 1 errors, 2 wrong flags or no such file.`,
    )
    .action((paths: string[]) => {
      const { json } = flags.read(command);
      const files = readRules(paths);
      if (files.length === 0) {
        const hint = 'Name a folder that has some.';
        throw configurationError('RULES_NOT_FOUND', `no *.yaml in ${paths.join(', ')}`, hint);
      }
      const { rules, problems } = loadRuleFiles(files);
      const policies = rules?.policies.map(({ name, mode, version }) => ({ name, mode, version })) ?? [];
      process.stdout.write(
        json
          ? `${JSON.stringify({ files: files.length, policies, problems }, undefined, 2)}\n`
          : `${renderProblems(problems)}${summaryOf(problems, files.length, rules?.policies.length)}\n`,
      );
      if (problems.some(({ severity }) => severity === 'error')) process.exitCode = 1;
    });
}
