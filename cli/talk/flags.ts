import { userInfo } from 'node:os';
import { baseError } from '../../base/errors.ts';
import type { FlagDef, FlagValues } from '../../base/flags.ts';
import { LEDGER_FLAG } from '../actuator.ts';

/** Which actuator is spoken to. */
export const TALK_FLAGS = [
  {
    name: 'actuator.url',
    kind: 'string',
    help: 'http://127.0.0.1:9511 or unix:/path; by default the socket beside the ledger, or that address where there is none',
  },
  {
    ...LEDGER_FLAG,
    help: 'ledger of the actuator, beside which its socket lies',
  },
  {
    name: 'web.bearer-token-file',
    kind: 'string',
    help: 'file whose first line is the token that the actuator asks for; not needed at a Unix socket',
  },
] as const satisfies readonly FlagDef[];
export type TalkFlags = FlagValues<typeof TALK_FLAGS>;

export const JSON_FLAG = {
  name: 'json',
  kind: 'boolean',
  default: false,
  help: 'print the answer as JSON',
} as const satisfies FlagDef;

export const AUTHOR_FLAG = {
  name: 'author',
  kind: 'string',
  help: 'who asks, for the history (default: you, also under sudo)',
} as const satisfies FlagDef;

export const REASON_FLAG = {
  name: 'reason',
  kind: 'string',
  help: 'why, in a few words, for the history',
} as const satisfies FlagDef;

/** Throws FLAG_INVALID: what a person changes stands in the history with its reason. */
export function reasonOf({ reason }: { reason: string | undefined }): string {
  const said = reason?.trim() ?? '';
  if (said === '')
    throw baseError('FLAG_INVALID', '--reason is missing', 'Say in a few words why; others will read it.');
  return said;
}

/** Behind sudo the person is the one who called it. */
export function authorOf({ author }: { author: string | undefined }): string {
  const said = author?.trim() || process.env.SUDO_USER;
  if (said) return said;
  try {
    return userInfo().username;
  } catch {
    // A container may know no name for its user.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

export const WAIT_FLAG = {
  name: 'wait',
  kind: 'duration',
  default: '30s',
  help: 'how long to wait for the cards to have their old values',
} as const satisfies FlagDef;
