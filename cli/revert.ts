import type { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { baseError } from '../base/errors.ts';
import { defineFlags } from '../base/flags.ts';
import { createLog } from '../base/log.ts';
import { untilDone } from './alive.ts';
import { PATH_FLAGS, pathsOf } from './paths.ts';
import { casesOf } from './talk/answers.ts';
import { talkTo } from './talk/client.ts';
import { AUTHOR_FLAG, authorOf, JSON_FLAG, REASON_FLAG, reasonOf, TALK_FLAGS, WAIT_FLAG } from './talk/flags.ts';
import { isDone, renderGivenBack, untilGivenBack, whoGivesBack } from './talk/given-back.ts';

const flags = defineFlags([
  ...TALK_FLAGS,
  REASON_FLAG,
  { name: 'case', kind: 'string', help: 'only this case, as nightshift cases names it' },
  WAIT_FLAG,
  AUTHOR_FLAG,
  { name: 'offline', kind: 'boolean', default: false, help: 'from the ledger of an actuator that is dead' },
  {
    name: 'only-expired',
    kind: 'boolean',
    default: false,
    help: 'with --offline: only what no case with a running lease holds',
  },
  ...PATH_FLAGS,
  {
    name: 'lane.deadline',
    kind: 'duration',
    default: '2s',
    minMs: 10,
    help: 'with --offline: how long one card may take before it counts as silent',
  },
  { ...JSON_FLAG, help: 'with --offline: print what became of it as JSON' },
]);
type Given = ReturnType<typeof flags.read>;

export function revertCommand(command: Command): Command {
  return flags
    .addTo(command.description('give back what the actuator holds, and wait until the cards have their old values'))
    .addHelpText(
      'after',
      `
A value that somebody else set meanwhile is left alone. What was given back can be taken again once its cooldown is over: to
keep it from that, nightshift pause --revert.

With --offline it works on the ledger of an actuator that is dead, and refuses while one lives. Settings are given back also
where the ledger can no longer be written, or only in part be read.

Exit codes: 0 all is back, 1 something is not (or the ledger could not be told), 2 wrong flags.

Examples:
  nightshift revert --reason "measuring"
  nightshift revert --case hot-junction.c1:00.0.mb1x2 --reason "sensor is wrong"
  nightshift revert --offline --ledger /var/lib/nightshift/ledger.db`,
    )
    .action(async () => {
      const given = flags.read(command);
      if (given.offline) await revertDead(given, flags.given(command));
      else await revertLiving(given);
    });
}

async function revertLiving(given: Given): Promise<void> {
  if (given['only-expired']) {
    throw baseError('FLAG_INVALID', '--only-expired goes with --offline', 'A running actuator ends leases by itself.');
  }
  const reason = reasonOf(given);
  const talk = talkTo(given);
  await whoGivesBack(talk);
  const { case: id } = given;
  const held = (await casesOf(talk)).cases.filter((one) => id === undefined || one.id === id);
  await talk.post<{ cases: string[] }>('/v1/revert', 'cases', {
    author: authorOf(given),
    reason,
    ...(id !== undefined && { case: id }),
  });
  const outcome = await untilGivenBack(talk, held, id === undefined, given.wait);
  process.stdout.write(renderGivenBack(outcome));
  if (!isDone(outcome)) process.exitCode = 1;
}

async function revertDead(given: Given, named: ReadonlySet<string>): Promise<void> {
  for (const flag of ['case', 'actuator.url', 'web.bearer-token-file'] as const) {
    if (named.has(flag)) {
      throw baseError(
        'FLAG_INVALID',
        `--${flag} goes with a running actuator`,
        'Leave it out, or leave out --offline.',
      );
    }
  }
  const [{ revertLedger }, { isWhole, renderOffline }] = await Promise.all([
    import('./revert/offline.ts'),
    import('./revert/text.ts'),
  ]);
  const { ledger } = given;
  const report = await untilDone(() =>
    revertLedger({
      ledger,
      paths: pathsOf(given),
      onlyExpired: given['only-expired'],
      author: authorOf(given),
      // A timer that runs this has no reason of its own.
      reason: given.reason?.trim() || 'nightshift revert --offline',
      laneDeadlineMs: given['lane.deadline'],
      clock: systemClock,
      log: createLog({ level: 'error' }),
    }),
  );
  process.stdout.write(given.json ? `${JSON.stringify(report, undefined, 2)}\n` : renderOffline(report));
  if (!isWhole(report)) process.exitCode = 1;
}
