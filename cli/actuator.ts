import type { Command } from 'commander';
import { defineFlags, type FlagDef, type FlagValues } from '../base/flags.ts';
import { LOG_FLAGS } from './log-flags.ts';
import { PATH_FLAGS } from './paths.ts';

export const LEDGER_FLAG = {
  name: 'ledger',
  kind: 'string',
  default: '/var/lib/nightshift/ledger.db',
  help: 'file of the ledger; made where it is missing, in a folder that exists',
} as const satisfies FlagDef;

export const RULES_FLAG = {
  name: 'rules',
  kind: 'string',
  default: '/etc/nightshift/rules',
  help: 'folder of the rules, or one file',
} as const satisfies FlagDef;

const FIXED = [
  RULES_FLAG,
  LEDGER_FLAG,
  {
    name: 'exporter.url',
    kind: 'string',
    help: 'exporter of this node: http://127.0.0.1:9510 or unix:/run/nightshift/exporter.sock; without it signals and workloads are unknown',
  },
  ...PATH_FLAGS,
  {
    name: 'web.listen-address',
    kind: 'list',
    default: ['127.0.0.1:9511'],
    help: 'address to listen on: 127.0.0.1:9511, [::1]:9511 or unix:/run/nightshift/actuator.sock; beyond loopback only with credentials',
  },
  {
    name: 'control.socket',
    kind: 'string',
    help: 'Unix socket for the commands of people (default: the ledger\u2019s path with .sock); its folder decides who may',
  },
  { name: 'web.config.file', kind: 'string', help: 'TLS and basic auth, in the format of the exporter-toolkit' },
  {
    name: 'web.bearer-token-file',
    kind: 'string',
    help: 'file of one bearer token a line, two while they are changed; with it /v1 is answered to nobody else',
  },
  { name: 'node.name', kind: 'string', help: 'this node in the label node of alerts (default: the host name)' },
  { name: 'enforce', kind: 'boolean', default: true, help: 'act; --enforce=false makes every policy a dry run' },
  {
    name: 'protect',
    kind: 'list',
    default: [],
    help: 'PCI address of a GPU that is never touched; again for each',
  },
  {
    name: 'interval',
    kind: 'duration',
    default: '1s',
    minMs: 100,
    help: 'how often the cards are looked at without a trigger',
  },
  { name: 'limits.acts', kind: 'int', default: 60, min: 1, help: 'most acts of all policies together in a minute' },
  {
    name: 'limits.failures',
    kind: 'int',
    default: 5,
    min: 1,
    help: 'failed acts within ten minutes after which nothing new is begun until a person says so',
  },
  {
    name: 'lane.deadline',
    kind: 'duration',
    default: '400ms',
    minMs: 10,
    help: 'how long one card may take before its process is left with it and the others get a new one',
  },
  {
    name: 'signals.recording',
    kind: 'string',
    help: 'JSON lines of signals, played once from the start of this process as they were recorded',
  },
  ...LOG_FLAGS,
] as const satisfies readonly FlagDef[];

export const flags = defineFlags(FIXED);
export type ActuatorFlags = FlagValues<typeof FIXED>;

export function actuatorCommand(command: Command): Command {
  return flags
    .addTo(command.description('act on this node\u2019s GPUs as the rules say, and give everything back'))
    .addHelpText(
      'after',
      `
Acts only where a policy says mode: enforce, re-reads the card before and after, and undoes every setting when its reason has
gone, its lease has ended, or a person says so. Stopping it gives nothing back by itself: a restart goes on where it was, and
"nightshift revert --offline" undoes what a dead actuator left.

Examples:
  nightshift check /etc/nightshift/rules        what is wrong with the rules
  nightshift actuator --enforce=false           see in metrics and history what would be done
  nightshift actuator                           do it
  nightshift cases                              what is held now, why, and for how long
  nightshift pause --reason "..." --revert      stop, and give everything back`,
    )
    .action(async () => {
      const { runActuator } = await import('./run-actuator.ts');
      await runActuator(flags.read(command));
    });
}
