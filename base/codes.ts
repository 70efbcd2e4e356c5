/** Whose turn it is: who edits the files, who runs the machine, who built the card, or us. */
export type Fault = 'configuration' | 'environment' | 'hardware' | 'bug';

/** Every error that the plumbing can raise: its stable code, whose fault it is, and what it means. */
export const BASE_CODES = {
  DURATION_INVALID: { fault: 'configuration', meaning: 'A duration is not written like 300ms, 5s, 1m30s or 2h.' },
  FLAG_UNKNOWN: { fault: 'configuration', meaning: 'The command line names a flag that does not exist.' },
  FLAG_INVALID: { fault: 'configuration', meaning: 'A flag has no value, or one that it cannot take.' },
  COMMAND_INVALID: { fault: 'configuration', meaning: 'The command line names no known command, or too many words.' },
  LOG_OPTION_INVALID: { fault: 'configuration', meaning: 'The log level or log format is not a known one.' },
  LISTEN_ADDRESS_INVALID: { fault: 'configuration', meaning: 'A listen address is not host:port or unix:/path.' },
  LISTEN_IN_USE: { fault: 'environment', meaning: 'Another program already listens at this address.' },
  LISTEN_FAILED: { fault: 'environment', meaning: 'The system does not let us listen at this address.' },
  WEB_CONFIG_UNREADABLE: { fault: 'configuration', meaning: 'The web configuration file cannot be read.' },
  WEB_CONFIG_INVALID: { fault: 'configuration', meaning: 'The web configuration file, or a file it names, is wrong.' },
  WEB_CONFIG_NEEDS_RESTART: {
    fault: 'configuration',
    meaning: 'The web configuration changed in a way that open listeners cannot follow.',
  },
  RELEASE_TIMEOUT: { fault: 'environment', meaning: 'A component did not stop within its time.' },
  BUG: { fault: 'bug', meaning: 'Something was thrown that nobody expected.' },
} as const satisfies Record<string, { fault: Fault; meaning: string }>;

export type BaseCode = keyof typeof BASE_CODES;
