import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import type { Clock, Stoppable } from './clock.ts';
import { configurationError, describe, errnoOf } from './errors.ts';
import { formatListenAddress, type ListenAddress, reachesBeyondHost } from './listen.ts';
import { type Log, onceLog } from './log.ts';

/** Two, so that a new token can be handed out before the old one is taken away. */
const MAX_TOKENS = 2;
/** Below this many characters a token can be guessed. */
const MIN_LENGTH = 16;
/** `b64token` of RFC 6750, 2.1. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
const MAKE_ONE = 'Make one with: openssl rand -hex 32.';

/** `absent`: no bearer token is given at all. */
export type BearerAnswer = 'granted' | 'denied' | 'absent';

export interface BearerTokens {
  readonly file: string;
  /** Judges an Authorization header. */
  check(header: string | undefined): BearerAnswer;
  /** Reads the file again. Throws where it is wrong; the last good tokens then stay in force. */
  reload(): void;
  /** Whether the file changed since it was last read, or looked at. */
  changed(): boolean;
  /** What is accepted but should not be so. */
  readonly warnings: readonly string[];
}

/** Reads the text of a token file: one token a line, empty lines are nothing. */
export function parseBearerTokens(text: string, file: string): string[] {
  const refuse = (message: string, line?: number) =>
    configurationError('BEARER_TOKEN_INVALID', `the bearer token file ${message}`, MAKE_ONE, {
      at: { file, ...(line === undefined ? {} : { line }) },
    });
  const lines = text.split('\n').map((line, index) => ({ token: line.trim(), line: index + 1 }));
  const found = lines.filter(({ token }) => token !== '');
  if (found.length === 0) throw refuse('is empty');
  for (const { token, line } of found) {
    // The token itself stands in no message.
    if (!TOKEN.test(token)) throw refuse('holds what no bearer token may hold: letters, digits and -._~+/ only', line);
  }
  const surplus = found[MAX_TOKENS];
  if (surplus) throw refuse(`holds more than ${MAX_TOKENS} tokens`, surplus.line);
  return found.map(({ token }) => token);
}

/** Opens the file of `--web.bearer-token-file`: BEARER_TOKEN_UNREADABLE, BEARER_TOKEN_INVALID. */
export function openBearerTokens(file: string): BearerTokens {
  // With a key that nobody else knows, all digests have one length and say nothing about the tokens.
  const key = randomBytes(32);
  const digest = (token: string): Buffer => createHmac('sha256', key).update(token).digest();
  let digests: readonly Buffer[] = [];
  let warnings: readonly string[] = [];
  let seen = '';

  function reload(): void {
    // Also where it is wrong: the same wrong file is read and told once.
    seen = printOf(file);
    const { text, mode } = readWithMode(file);
    const parsed = parseBearerTokens(text, file);
    digests = parsed.map(digest);
    warnings = warningsOf(file, mode, parsed);
  }
  reload();

  return {
    file,
    reload,
    get warnings() {
      return warnings;
    },
    check(header) {
      if (!/^Bearer\b/i.test(header ?? '')) return 'absent';
      const given = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1];
      if (given === undefined) return 'denied';
      const mark = digest(given);
      // All are compared, so that time does not tell which one it was.
      const same = digests.map((one) => timingSafeEqual(one, mark));
      return same.includes(true) ? 'granted' : 'denied';
    },
    changed() {
      const print = printOf(file);
      const moved = print !== seen;
      seen = print;
      return moved;
    },
  };
}

function warningsOf(file: string, mode: number, tokens: readonly string[]): string[] {
  const warnings: string[] = [];
  if (mode & 0o007) warnings.push(`${file} is open to every user of this machine: chmod 0600, or 0640 with its group`);
  if (tokens.some((token) => token.length < MIN_LENGTH)) {
    warnings.push(`${file} holds a token of fewer than ${MIN_LENGTH} characters, which can be guessed. ${MAKE_ONE}`);
  }
  return warnings;
}

function readWithMode(file: string): { text: string; mode: number } {
  let handle: number | undefined;
  try {
    handle = openSync(file, 'r');
    return { mode: fstatSync(handle).mode, text: readFileSync(handle, 'utf8') };
  } catch (error) {
    const why = { ENOENT: 'does not exist', EACCES: 'is not readable for this user', EISDIR: 'is a folder' }[
      errnoOf(error) ?? ''
    ];
    const message = `the bearer token file ${file} ${why ?? 'cannot be read'}`;
    throw configurationError('BEARER_TOKEN_UNREADABLE', message, 'Check --web.bearer-token-file.', { cause: error });
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** Follows symbolic links, so that a mounted secret that is swapped by its link counts as changed. */
function printOf(file: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs, mode } = statSync(file);
    return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs} ${mode}`;
  } catch (error) {
    return errnoOf(error) ?? 'unknown';
  }
}

/** Reads the file again whenever it changed. What is wrong with it is told once, and the last good tokens stay in force. */
export function followBearerTokens(tokens: BearerTokens, clock: Clock, log: Log, everyMs = 5_000): Stoppable {
  const once = onceLog(log);
  const warn = () => once.report('bearer token hints', tokens.warnings[0]);
  warn();
  return clock.every(everyMs, () => {
    if (!tokens.changed()) return;
    try {
      tokens.reload();
      once.report('bearer token file', undefined);
      log.info({ file: tokens.file }, 'bearer tokens read');
      warn();
    } catch (error) {
      once.report('bearer token file', describe(error), { kept: 'last good' });
    }
  });
}

/** What is configured to find out who asks. */
export interface Authentication {
  /** `--web.bearer-token-file` */
  bearer: boolean;
  /** `basic_auth_users` of the web configuration. */
  users: boolean;
  /** `client_auth_type: RequireAndVerifyClientCert` of the web configuration. */
  clientCertificates: boolean;
}

/** Throws LISTEN_NEEDS_AUTH where other machines could reach an address, and nobody would be asked who they are. */
export function requireAuthBeyondHost(listen: readonly ListenAddress[], auth: Authentication): void {
  if (auth.bearer || auth.users || auth.clientCertificates) return;
  const open = listen.find(reachesBeyondHost);
  if (open === undefined) return;
  throw configurationError(
    'LISTEN_NEEDS_AUTH',
    `other machines can reach ${formatListenAddress(open)}, and nobody is asked who they are`,
    'Set --web.bearer-token-file, users or client certificates in --web.config.file, or listen on 127.0.0.1 or unix:/path.',
  );
}
