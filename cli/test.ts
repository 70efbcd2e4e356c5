import type { Command } from 'commander';
import { defineFlags } from '../base/flags.ts';
import { runPolicyTests } from './policy-test/files.ts';
import { renderTests } from './policy-test/text.ts';

const flags = defineFlags([{ name: 'json', kind: 'boolean', default: false, help: 'print the results as JSON' }]);

export function testCommand(command: Command): Command {
  return flags
    .addTo(command.description('run the tests of policies: *.test.yaml, on simulated cards and simulated time'))
    .argument('[paths...]', 'folders with tests, or test files', ['rules'])
    .addHelpText(
      'after',
      `
Decisions are made by the same code as in the actuator. No card is touched, and a day takes a moment.

Exit codes: 0 all passed, 1 some failed, or there were none, 2 wrong flags or no such file.`,
    )
    .action(async (paths: string[]) => {
      const { json } = flags.read(command);
      const report = await runPolicyTests(paths);
      process.stdout.write(json ? `${JSON.stringify(report, undefined, 2)}\n` : renderTests(report));
      if (!report.passed) process.exitCode = 1;
    });
}
