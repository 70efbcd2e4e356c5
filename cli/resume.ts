import type { Command } from 'commander';
import { NightshiftError } from '../base/errors.ts';
import { defineFlags } from '../base/flags.ts';
import { statusOf } from './talk/answers.ts';
import { talkTo } from './talk/client.ts';
import { AUTHOR_FLAG, authorOf, TALK_FLAGS } from './talk/flags.ts';

const flags = defineFlags([
  ...TALK_FLAGS,
  {
    name: 'breaker',
    kind: 'boolean',
    default: false,
    help: 'close the breaker, too, which failed acts have opened',
  },
  AUTHOR_FLAG,
]);

export function resumeCommand(command: Command): Command {
  return flags
    .addTo(command.description('end a pause, or all of them, and with --breaker what failed acts have stopped'))
    .argument('[pause]', 'one pause, as nightshift pause and nightshift cases name it')
    .addHelpText(
      'after',
      `
What was missed is not made up for: cards are looked at anew, and what is true then is acted on.`,
    )
    .action(async (id: string | undefined) => {
      const given = flags.read(command);
      const talk = talkTo(given);
      const before = await statusOf(talk);
      const { breaker } = given;
      await talk
        .post<{ resumed: boolean }>('/v1/resume', 'resumed', {
          author: authorOf(given),
          ...(id !== undefined && { id }),
          ...(breaker && { breaker }),
        })
        .catch((error: unknown) => {
          throw withBreaker(error, before.breaker.open && !breaker);
        });
      const ended = before.pauses.filter((pause) => id === undefined || pause.id === id);
      for (const pause of ended) process.stdout.write(`Resumed ${pause.policy ?? 'everything'} (${pause.id}).\n`);
      if (breaker)
        process.stdout.write(before.breaker.open ? 'The breaker is closed.\n' : 'The breaker was not open.\n');
      else if (before.breaker.open) process.stdout.write('The breaker is still open: nightshift resume --breaker.\n');
    });
}

/** What is in the way may be another thing than the pause that was looked for. */
function withBreaker(error: unknown, isOpen: boolean): unknown {
  if (!isOpen || !(error instanceof NightshiftError)) return error;
  const { code, fault, message } = error;
  return new NightshiftError({
    code,
    fault,
    message,
    hint: 'The breaker is open: close it with --breaker.',
    cause: error,
  });
}
