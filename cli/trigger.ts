import type { Command } from 'commander';
import { formatDuration } from '../base/durations.ts';
import { configurationError } from '../base/errors.ts';
import { defineFlags } from '../base/flags.ts';
import type { Policies } from './talk/answers.ts';
import { type Talk, talkTo } from './talk/client.ts';
import { AUTHOR_FLAG, authorOf, REASON_FLAG, reasonOf, TALK_FLAGS } from './talk/flags.ts';

const flags = defineFlags([
  ...TALK_FLAGS,
  REASON_FLAG,
  { name: 'gpu', kind: 'string', help: 'about this GPU, number or PCI address (default: all of this node)' },
  { name: 'for', kind: 'duration', default: '30m', minMs: 1_000, help: 'ends by itself after this long' },
  { name: 'close', kind: 'boolean', default: false, help: 'end what was called before' },
  AUTHOR_FLAG,
]);

interface Called {
  key: string;
  phase: 'open' | 'renew' | 'close';
  policies: string[];
}

export function triggerCommand(command: Command): Command {
  return flags
    .addTo(command.description('call policies that wait for a person: on: [{ manual: NAME }]'))
    .argument('<name>', 'what the policy waits for')
    .addHelpText(
      'after',
      `
Called again it is renewed. It ends after --for, or with --close.

Examples:
  nightshift trigger quiet-please --gpu 1 --for 2h --reason "measuring next door"
  nightshift trigger quiet-please --gpu 1 --close --reason "done"`,
    )
    .action(async (name: string) => {
      const given = flags.read(command);
      const reason = reasonOf(given);
      const talk = talkTo(given);
      const waiting = await waitingFor(talk);
      // What nobody waits for is not kept: it would look as if something had been done.
      if (!given.close && !waiting.has(name)) throw nobodyWaits(name, [...waiting.keys()]);
      const called = await talk.post<Called>('/v1/triggers', 'key', {
        name,
        author: authorOf(given),
        reason,
        ...(given.gpu !== undefined && { target: `gpu:${given.gpu}` }),
        ...(given.close ? { action: 'close' } : { action: 'open', ttl: formatDuration(given.for) }),
      });
      process.stdout.write(told(name, called, given.for, waiting));
    });
}

/** Policies that wait for a person, by what they wait for. */
async function waitingFor(talk: Talk): Promise<Map<string, Policies['policies']>> {
  const { policies } = await talk.get<Policies>('/v1/policies', 'policies');
  const waiting = new Map<string, Policies['policies']>();
  for (const policy of policies) {
    for (const { source, name } of policy.on) {
      if (source === 'manual') waiting.set(name, [...(waiting.get(name) ?? []), policy]);
    }
  }
  return waiting;
}

function nobodyWaits(name: string, known: readonly string[]): Error {
  const hint =
    known.length === 0 ? 'No policy that is loaded waits for a person.' : `Policies wait for: ${known.join(', ')}.`;
  return configurationError('TRIGGER_UNHEARD', `no policy waits for ${name}`, hint);
}

function told(
  name: string,
  { phase, policies }: Called,
  ms: number,
  waiting: Awaited<ReturnType<typeof waitingFor>>,
): string {
  const heard = policies.join(', ') || 'nobody';
  if (phase === 'close') return `Closed ${name}: ${heard} gives back what it holds for it.\n`;
  const dry = (waiting.get(name) ?? []).filter(({ acts }) => !acts).map((policy) => policy.name);
  const note = dry.length === 0 ? '' : `Dry run, nothing is written: ${dry.join(', ')}.\n`;
  return `${phase === 'renew' ? 'Renewed' : 'Called'} ${name} for ${formatDuration(ms)}, heard by ${heard}. nightshift cases shows what it does.\n${note}`;
}
