import { chmodSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { followBearerTokens, openBearerTokens, parseBearerTokens, requireAuthBeyondHost } from '../../base/bearer.ts';
import { fakeClock } from '../../base/clock.ts';
import { exitCode, NightshiftError, describe as tell } from '../../base/errors.ts';
import { parseListenAddress } from '../../base/listen.ts';
import { createLog } from '../../base/log.ts';

const [OLD, NEW, THIRD] = ['0123456789abcdef-old', '0123456789abcdef-new', '0123456789abcdef-third'];
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bearer-'));
  file = join(folder, 'token');
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (text: string, mode = 0o600) => {
  writeFileSync(file, text, { mode });
  chmodSync(file, mode);
};

function thrown(work: () => unknown): NightshiftError {
  try {
    work();
  } catch (error) {
    if (error instanceof NightshiftError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('the text of a token file', () => {
  it.each([
    ['one token', `${OLD}\n`, [OLD]],
    ['no line break at the end', OLD, [OLD]],
    ['two, while one replaces the other', `${OLD}\n${NEW}\n`, [OLD, NEW]],
    ['empty lines, blanks and carriage returns', `\n  ${OLD} \r\n\n`, [OLD]],
    ['padding', 'MDEyMzQ1Njc4OWFiY2RlZg==', ['MDEyMzQ1Njc4OWFiY2RlZg==']],
  ])('may have %s', (_why, text, tokens) => {
    expect(parseBearerTokens(text, 'f')).toEqual(tokens);
  });

  it.each([
    ['is empty', '', undefined, 'is empty'],
    ['has empty lines alone', '\n \n', undefined, 'is empty'],
    ['has a third token', `${OLD}\n${NEW}\n\n${THIRD}`, 4, 'more than 2 tokens'],
    ['has a comment', `# ours\n${OLD}`, 1, 'no bearer token may hold'],
    ['has a header for a token', `Bearer ${OLD}`, 1, 'no bearer token may hold'],
  ])('is refused where it %s', (_why, text, line, message) => {
    const error = thrown(() => parseBearerTokens(text, '/etc/token'));
    expect(error).toMatchObject({ code: 'BEARER_TOKEN_INVALID', fault: 'configuration' });
    expect(error.at).toEqual({ file: '/etc/token', ...(line === undefined ? {} : { line }) });
    expect(error.message).toContain(message);
    expect(tell(error)).not.toContain(OLD);
  });
});

describe('an Authorization header', () => {
  it.each([
    ['the token', `Bearer ${OLD}`, 'granted'],
    ['the second token', `Bearer ${NEW}`, 'granted'],
    ['the scheme in other case', `bearer ${OLD}`, 'granted'],
    ['blanks', `Bearer   ${OLD} `, 'granted'],
    ['another token', `Bearer ${THIRD}`, 'denied'],
    ['a token that begins like ours', `Bearer ${OLD}x`, 'denied'],
    ['the beginning of ours', `Bearer ${OLD.slice(0, -1)}`, 'denied'],
    ['both', `Bearer ${OLD} ${NEW}`, 'denied'],
    ['no token', 'Bearer', 'denied'],
    ['an empty token', 'Bearer ', 'denied'],
    ['another scheme', 'Basic dXNlcjpwYXNz', 'absent'],
    ['a scheme that begins so', `Bearers ${OLD}`, 'absent'],
    ['the token without scheme', OLD, 'absent'],
    ['nothing', undefined, 'absent'],
  ] as const)('with %s', (_why, header, answer) => {
    write(`${OLD}\n${NEW}\n`);
    expect(openBearerTokens(file).check(header)).toBe(answer);
  });

  it('grants nothing that is not a token, whatever it holds', () => {
    write(OLD);
    const tokens = openBearerTokens(file);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(tokens.check(`Bearer ${text}`)).not.toBe('granted');
        expect(tokens.check(text)).not.toBe('granted');
      }),
    );
  });
});

describe('the token file', () => {
  it('is told about where it cannot be read', () => {
    const error = thrown(() => openBearerTokens(join(folder, 'none')));
    expect(error).toMatchObject({ code: 'BEARER_TOKEN_UNREADABLE', fault: 'configuration' });
    expect(error.message).toContain('does not exist');
    expect(thrown(() => openBearerTokens(folder)).message).toContain('is a folder');
  });

  it.each([
    [0o600, 0],
    [0o640, 0],
    [0o644, 1],
    [0o602, 1],
  ])('with mode %o gives %i warnings', (mode, warnings) => {
    write(OLD, mode);
    expect(openBearerTokens(file).warnings).toHaveLength(warnings);
  });

  it('has changed once for each change, and not by being read', () => {
    write(OLD);
    const tokens = openBearerTokens(file);
    expect(tokens.changed()).toBe(false);
    write(NEW);
    tokens.reload();
    expect(tokens.changed()).toBe(false);
    write(`${OLD}\n${NEW}`);
    expect([tokens.changed(), tokens.changed()]).toEqual([true, false]);
  });

  it('is followed: replaced, rotated, swapped by its link', () => {
    const real = join(folder, 'v1');
    writeFileSync(real, OLD, { mode: 0o600 });
    symlinkSync(real, file);
    const tokens = openBearerTokens(file);
    const clock = fakeClock();
    const log = createLog({ destination: { write: () => undefined } });
    const watch = followBearerTokens(tokens, clock, log, 1_000);
    writeFileSync(join(folder, 'v2'), `${OLD}\n${NEW}`, { mode: 0o600 });
    symlinkSync(join(folder, 'v2'), join(folder, 'next'));
    renameSync(join(folder, 'next'), file);
    expect(tokens.check(`Bearer ${NEW}`)).toBe('denied');
    clock.advance(1_000);
    expect([OLD, NEW].map((token) => tokens.check(`Bearer ${token}`))).toEqual(['granted', 'granted']);
    writeFileSync(join(folder, 'v2'), NEW);
    clock.advance(1_000);
    expect([OLD, NEW].map((token) => tokens.check(`Bearer ${token}`))).toEqual(['denied', 'granted']);
    watch.stop();
    expect(clock.pending()).toBe(0);
  });

  it('stays in force where its successor is wrong, which is told once', () => {
    write(OLD);
    const lines: string[] = [];
    const clock = fakeClock();
    const tokens = openBearerTokens(file);
    followBearerTokens(tokens, clock, createLog({ destination: { write: (line) => void lines.push(line) } }), 1_000);
    write('no token at all');
    clock.advance(5_000);
    unlinkSync(file);
    clock.advance(5_000);
    expect(tokens.check(`Bearer ${OLD}`)).toBe('granted');
    expect(lines.filter((line) => line.includes('BEARER_TOKEN_INVALID'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('BEARER_TOKEN_UNREADABLE'))).toHaveLength(1);
    write(NEW);
    clock.advance(1_000);
    expect(tokens.check(`Bearer ${OLD}`)).toBe('denied');
    expect(tokens.check(`Bearer ${NEW}`)).toBe('granted');
    expect(lines.join('')).not.toMatch(/0123456789abcdef/);
  });
});

it('warns of a token that can be guessed, and takes it', () => {
  write('short');
  const tokens = openBearerTokens(file);
  expect(tokens.check('Bearer short')).toBe('granted');
  expect(tokens.warnings.join()).toContain('fewer than 16');
});

describe('listening', () => {
  const nothing = { bearer: false, users: false, clientCertificates: false };
  const check =
    (listen: string[], auth = nothing) =>
    () =>
      requireAuthBeyondHost(listen.map(parseListenAddress), auth);

  it.each([[':9511'], ['0.0.0.0:9511'], ['[::]:9511'], ['10.0.0.7:9511'], ['mi300x-07:9511']])(
    'at %s is refused where nobody is asked who he is',
    (address) => {
      const error = thrown(check(['127.0.0.1:9511', address]));
      expect(error.code).toBe('LISTEN_NEEDS_AUTH');
      expect(error.message).toContain(address);
      expect(exitCode(error)).toBe(2);
    },
  );

  it.each([['127.0.0.1:9511'], ['[::1]:9511'], ['localhost:9511'], ['unix:/run/nightshift/actuator.sock']])(
    'at %s needs nothing',
    (address) => {
      expect(check([address])).not.toThrow();
    },
  );

  it.each([['bearer'], ['users'], ['clientCertificates']])('anywhere is allowed with %s', (kind) => {
    expect(check([':9511'], { ...nothing, [kind]: true })).not.toThrow();
  });
});
