import type { Command } from 'commander';
import { defineFlags } from '../base/flags.ts';
import { casesOf, statusOf } from './talk/answers.ts';
import { renderCases } from './talk/cases-text.ts';
import { talkTo } from './talk/client.ts';
import { JSON_FLAG, TALK_FLAGS } from './talk/flags.ts';

const flags = defineFlags([
  ...TALK_FLAGS,
  { name: 'all', kind: 'boolean', default: false, help: 'those that are over, too' },
  { name: 'gpu', kind: 'string', help: 'only of this GPU: number or PCI address' },
  { name: 'policy', kind: 'string', help: 'only of this policy' },
  JSON_FLAG,
]);

export function casesCommand(command: Command): Command {
  return flags
    .addTo(command.description('what the actuator holds now, why, and for how long'))
    .addHelpText(
      'after',
      `
Above the table stands whatever keeps the actuator from beginning anything: a pause, the breaker, a ledger that cannot be read.

Examples:
  nightshift cases
  nightshift cases --all --gpu 2
  nightshift explain hot-junction.c1:00.0.mb1x2     why that one`,
    )
    .action(async () => {
      const given = flags.read(command);
      const talk = talkTo(given);
      const { all, gpu, policy } = given;
      const cases = await casesOf(talk, { all, gpu, policy });
      if (given.json) process.stdout.write(`${JSON.stringify(cases, undefined, 2)}\n`);
      else
        process.stdout.write(
          renderCases(cases, await statusOf(talk), all || gpu !== undefined || policy !== undefined),
        );
    });
}
