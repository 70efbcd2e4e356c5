import type { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { defineFlags } from '../base/flags.ts';
import { type History, statusOf } from './talk/answers.ts';
import { talkTo } from './talk/client.ts';
import { JSON_FLAG, TALK_FLAGS } from './talk/flags.ts';
import { renderHistory } from './talk/history-text.ts';

const flags = defineFlags([
  ...TALK_FLAGS,
  { name: 'gpu', kind: 'string', help: 'only of this GPU: number or PCI address' },
  { name: 'policy', kind: 'string', help: 'only of this policy' },
  { name: 'case', kind: 'string', help: 'only of this case' },
  { name: 'outcome', kind: 'string', help: 'only lines of this kind: acted, suppressed, write, pause …' },
  { name: 'since', kind: 'duration', help: 'only what is younger: 30m, 2h' },
  { name: 'limit', kind: 'int', default: 50, min: 1, max: 1000, help: 'the newest so many' },
  JSON_FLAG,
]);

export function historyCommand(command: Command): Command {
  return flags
    .addTo(command.description('what the actuator decided, wrote and left alone, the newest at the end'))
    .action(async () => {
      const given = flags.read(command);
      const talk = talkTo(given);
      const status = await statusOf(talk);
      const { gpu, policy, outcome, limit, since } = given;
      const answer = await talk.get<History>('/v1/history', 'history', {
        ...{ gpu, policy, outcome, limit },
        case: given.case,
        ...(since === undefined ? {} : { since: systemClock.now() - since }),
      });
      process.stdout.write(
        given.json ? `${JSON.stringify(answer, undefined, 2)}\n` : renderHistory(answer.history, status.cards),
      );
    });
}
