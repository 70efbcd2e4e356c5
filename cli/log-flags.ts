import type { FlagDef } from '../base/flags.ts';
import { LOG_FORMATS, LOG_LEVELS } from '../base/log.ts';

const LEVEL = {
  name: 'log.level',
  kind: 'string',
  choices: LOG_LEVELS,
  help: 'least severe messages to print',
} as const;
const FORMAT = {
  name: 'log.format',
  kind: 'string',
  default: 'logfmt',
  choices: LOG_FORMATS,
  help: 'form of the messages',
} as const;

/** What programs that run until they are stopped have in common; they end the list of their flags. */
export const LOG_FLAGS = [{ ...LEVEL, default: 'info' }, FORMAT] as const satisfies readonly FlagDef[];
/** The same where people read what else is printed. */
export const QUIET_LOG_FLAGS = [{ ...LEVEL, default: 'warn' }, FORMAT] as const satisfies readonly FlagDef[];
