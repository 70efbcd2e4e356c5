import type { Command } from 'commander';
import { defineFlags, type FlagDef } from '../base/flags.ts';
import { EVENT_NAMES, EVENTS } from '../sim/scenario/schema.ts';
import { scenarioNames } from '../sim/scenario.ts';
import { INFERENCE_FLAG, MODEL_FLAG, NODE_FLAGS } from './living.ts';
import { LOG_FLAGS } from './log-flags.ts';

const START = [
  { ...MODEL_FLAG, default: 'mi300x' },
  { name: 'cards', kind: 'int', default: 8, min: 1, max: 8, help: 'packages; an MI250X has two GPUs each' },
  ...NODE_FLAGS,
  { name: 'scenario', kind: 'string', help: `what happens: ${scenarioNames().join(', ')}, or a file` },
  INFERENCE_FLAG,
  {
    name: 'fuse',
    kind: 'string',
    help: 'an empty folder at which the node is shown as the kernel would: writes fail in the call',
  },
  ...LOG_FLAGS,
] as const satisfies readonly FlagDef[];

export const startFlags = defineFlags(START);

const words = (name: keyof typeof EVENTS): string =>
  Object.keys(EVENTS[name].shape)
    .map((key) => key.toUpperCase())
    .join(' ');

const EXAMPLES = `
Examples:
  nightshift sim start /tmp/node --model mi210 --cards 8 --scenario hot-room --speed 60
  nightshift exporter --path.sysfs=/tmp/node/sys
  nightshift sim load /tmp/node 3 0.9                    GPU 3 works 90 % of the time
  nightshift sim event /tmp/node ambient 40              the room gets hot
  nightshift sim event /tmp/node signal 0 term           SIGTERM to the batch jobs on GPU 0

Events: ${EVENT_NAMES.map((name) => `${name} ${words(name)}`).join('; ')}.
GPUS is a number, a list like 0,2, or all, first, last, even, odd.`;

export function simCommand(command: Command): Command {
  command.description('a simulated GPU node that lives in a folder').addHelpText('after', EXAMPLES);
  startFlags
    .addTo(command.command('start').description('write a node into a folder and let it live until stopped'))
    .argument('<dir>', 'empty, new, or with an earlier simulated node')
    .action(async (dir: string, _options: unknown, own: Command) => {
      const { runSimulation } = await import('./run-sim.ts');
      await runSimulation(dir, startFlags.read(own));
    });
  command
    .command('load')
    .description('hold GPUs at a busy share from 0 to 1; "auto" gives them back to the scenario')
    .argument('<dir>', 'folder in which a node lives')
    .argument('<gpus>', 'number, list like 0,2, or all, first, last, even, odd')
    .argument('<busy>', '0 to 1, or auto')
    .action((dir: string, gpus: string, busy: string) => tellNode(dir, 'load', [gpus, busy]));
  command
    .command('event')
    .description('let something happen to a node that lives')
    .argument('<dir>', 'folder in which a node lives')
    .argument('<event>', EVENT_NAMES.join(', '))
    .argument('[args...]', 'what the event needs')
    .action((dir: string, event: string, args: string[]) => tellNode(dir, event, args));
  return command;
}

async function tellNode(dir: string, event: string, args: readonly string[]): Promise<void> {
  const { tell } = await import('../sim/live/console.ts');
  process.stdout.write(`${await tell(dir, event, args)}\n`);
}
