import type { Command } from 'commander';
import { formatDuration } from '../base/durations.ts';
import { defineFlags } from '../base/flags.ts';
import type { Pause } from '../model/decision.ts';
import { casesOf } from './talk/answers.ts';
import { talkTo } from './talk/client.ts';
import { AUTHOR_FLAG, authorOf, REASON_FLAG, reasonOf, TALK_FLAGS, WAIT_FLAG } from './talk/flags.ts';
import { isDone, renderGivenBack, untilGivenBack, whoGivesBack } from './talk/given-back.ts';
import { clockText } from './talk/words.ts';

const flags = defineFlags([
  ...TALK_FLAGS,
  REASON_FLAG,
  {
    name: 'for',
    kind: 'duration',
    minMs: 1_000,
    help: 'ends by itself after this long; otherwise a person resumes it',
  },
  { name: 'policy', kind: 'string', help: 'only this policy' },
  { name: 'revert', kind: 'boolean', default: false, help: 'give back what is held, too' },
  WAIT_FLAG,
  AUTHOR_FLAG,
]);

export function pauseCommand(command: Command): Command {
  return flags
    .addTo(command.description('let the actuator begin nothing new, until resumed or for a while'))
    .addHelpText(
      'after',
      `
What is held stays as it is, and is given back when its reason or its lease ends; with --revert it is given back now.

Examples:
  nightshift pause --for 2h --reason "fans are being changed"
  nightshift pause --policy hot-junction --revert --reason "caps the wrong cards"`,
    )
    .action(async () => {
      const given = flags.read(command);
      const reason = reasonOf(given);
      const talk = talkTo(given);
      const { policy, revert } = given;
      if (revert) await whoGivesBack(talk);
      const held = revert ? (await casesOf(talk, { policy })).cases : [];
      const { pause } = await talk.post<{ pause: Pause }>('/v1/pause', 'pause', {
        reason,
        author: authorOf(given),
        ...(given.for !== undefined && { for: formatDuration(given.for) }),
        ...(policy !== undefined && { policy }),
        ...(revert && { revert }),
      });
      const what = policy ?? 'everything';
      const until = pause.until === undefined ? 'until "nightshift resume"' : `until ${clockText(pause.until)}`;
      process.stdout.write(`Paused ${what} ${until} (${pause.id}): nothing new is begun.\n`);
      if (!revert) {
        process.stdout.write('What is held stays until its reason or its lease ends: nightshift cases.\n');
        return;
      }
      const outcome = await untilGivenBack(talk, held, policy === undefined, given.wait);
      process.stdout.write(renderGivenBack(outcome));
      if (!isDone(outcome)) process.exitCode = 1;
    });
}
