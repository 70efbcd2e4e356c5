import type { Command } from 'commander';
import { defineFlags } from '../base/flags.ts';
import { createLog } from '../base/log.ts';
import { LEDGER_FLAG, RULES_FLAG } from './actuator.ts';
import { untilDone } from './alive.ts';
import { anythingReadable, examine } from './doctor/report.ts';
import { renderDoctor } from './doctor/text.ts';
import { PATH_FLAGS, pathsOf } from './paths.ts';

const flags = defineFlags([
  ...PATH_FLAGS,
  {
    name: 'lane.deadline',
    kind: 'duration',
    default: '2s',
    minMs: 10,
    help: 'how long one card may take before it is called silent',
  },
  RULES_FLAG,
  { ...LEDGER_FLAG, help: 'ledger that the actuator has, or would have' },
  { name: 'web.bearer-token-file', kind: 'string', help: 'token file that the actuator has, or would have' },
  { name: 'json', kind: 'boolean', default: false, help: 'print the findings as JSON' },
]);

export function doctorCommand(command: Command): Command {
  return flags
    .addTo(
      command.description(
        'say what of the AMD GPUs of this node can be read and what can be set, what not and why, and what one loses',
      ),
    )
    .addHelpText(
      'after',
      `
Reads what the exporter would read, once, and changes nothing: sleeping cards are not woken, and files whose read clears hardware
state (RAS counts) are left alone. Of what an actuator needs it asks for rights and writes nothing. Run it as the user that the
exporter, or the actuator, runs as: the answer is about that user.

Exit codes: 0 something can be read, 1 nothing of any AMD GPU can, 2 wrong flags.`,
    )
    .action(async () => {
      const given = flags.read(command);
      const paths = pathsOf(given);
      const log = createLog({ level: 'error', format: 'logfmt' });
      const report = await untilDone(() =>
        examine({
          paths,
          log,
          laneDeadlineMs: given['lane.deadline'],
          actuator: { ledger: given.ledger, rules: given.rules, tokenFile: given['web.bearer-token-file'] },
        }),
      );
      process.stdout.write(given.json ? `${JSON.stringify(report, undefined, 2)}\n` : renderDoctor(report));
      if (!anythingReadable(report)) process.exitCode = 1;
    });
}
