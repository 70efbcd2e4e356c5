import type { Command } from 'commander';
import { defineFlags } from '../base/flags.ts';
import { type Explained, statusOf } from './talk/answers.ts';
import { standing } from './talk/cases-text.ts';
import { talkTo } from './talk/client.ts';
import { renderExplain } from './talk/explain-text.ts';
import { JSON_FLAG, TALK_FLAGS } from './talk/flags.ts';

const flags = defineFlags([
  ...TALK_FLAGS,
  { name: 'policy', kind: 'string', help: 'only this policy' },
  { name: 'gpu', kind: 'string', help: 'only this GPU: number or PCI address' },
  JSON_FLAG,
]);

export function explainCommand(command: Command): Command {
  return flags
    .addTo(command.description('why something is held, or why not, by the values of this moment'))
    .argument('[case]', 'a case, as nightshift cases names it')
    .addHelpText(
      'after',
      `
Cards are read for the answer, and the same code decides as in the actuator: values are shown with their age and source, and
for what is held back, which guard does it and what would have to change. Nothing is changed.

Examples:
  nightshift explain                                     whatever is held or held back
  nightshift explain --policy hot-junction --gpu 2       why this policy does nothing about this GPU`,
    )
    .action(async (id: string | undefined) => {
      const given = flags.read(command);
      const talk = talkTo(given);
      const { policy, gpu } = given;
      const answer = await talk.get<Explained>('/v1/explain', 'explanations', { policy, gpu, case: id });
      if (given.json) {
        process.stdout.write(`${JSON.stringify(answer, undefined, 2)}\n`);
        return;
      }
      const status = await statusOf(talk);
      const asked = policy !== undefined || gpu !== undefined || id !== undefined;
      const head = standing(status, answer.at).map((line) => `${line}\n`);
      process.stdout.write(`${head.join('')}${renderExplain(answer, status.cards, asked)}`);
    });
}
