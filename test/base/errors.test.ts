import { expect, describe as group, it } from 'vitest';
import { BASE_CODES } from '../../base/codes.ts';
import {
  baseError,
  bugError,
  configurationError,
  describe,
  environmentError,
  errnoOf,
  exitCode,
  hardwareError,
  toError,
} from '../../base/errors.ts';

group('exitCode', () => {
  it('is 2 for a configuration error and 1 for everything else', () => {
    expect(exitCode(configurationError('A', 'a', 'b'))).toBe(2);
    for (const other of [environmentError, hardwareError, bugError]) expect(exitCode(other('A', 'a', 'b'))).toBe(1);
    expect(exitCode(new Error('x'))).toBe(1);
    expect(exitCode('thrown text')).toBe(1);
  });
});

group('describe', () => {
  it('gives code, message and hint on one line', () => {
    expect(describe(configurationError('PORT_BAD', 'the port is bad', 'Choose another.'))).toBe(
      'PORT_BAD: the port is bad. Choose another.',
    );
  });

  it('puts file, line and column in front of the message', () => {
    const at = { file: 'web.yml', line: 3, column: 7 };
    expect(describe(configurationError('X', 'is wrong', '', { at }))).toBe('X: web.yml:3:7: is wrong.');
  });

  it('lists every problem with its place', () => {
    const problems = [{ message: 'one', at: { file: 'f', line: 1, column: 2 } }, { message: 'two' }];
    expect(describe(configurationError('X', 'f is wrong', 'Mend it.', { problems }))).toBe(
      'X: f is wrong: f:1:2: one; two. Mend it.',
    );
  });

  it('keeps foreign line breaks and control characters out of the line', () => {
    expect(describe(configurationError('X', 'a\nb\x1b[31m', 'c'))).toBe('X: a b [31m. c');
  });

  it('does not add a second full stop', () => {
    expect(describe(configurationError('X', 'Done.', ''))).toBe('X: Done.');
  });

  it('shows a system error by its errno', () => {
    const error = Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' });
    expect(describe(error)).toBe('ENOENT: no such file.');
    expect(errnoOf(error)).toBe('ENOENT');
  });

  it('calls an unexpected error a bug', () => {
    expect(describe(new TypeError('x is undefined'))).toMatch(/^BUG: TypeError: x is undefined\. Please report/);
  });
});

group('toError', () => {
  it('returns an error as itself and turns anything else into one', () => {
    const error = new Error('a');
    expect(toError(error)).toBe(error);
    expect(toError('text').message).toBe('text');
    expect(toError({ a: 1 }).message).toBe('{"a":1}');
    expect(toError(undefined).message).toBe('undefined');
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    expect(toError(circular)).toBeInstanceOf(Error);
  });
});

group('baseError', () => {
  it('takes the fault from the catalogue and keeps the cause', () => {
    const cause = new Error('inner');
    const error = baseError('LISTEN_IN_USE', 'm', 'h', { cause });
    expect(error).toMatchObject({ code: 'LISTEN_IN_USE', fault: BASE_CODES.LISTEN_IN_USE.fault, hint: 'h', cause });
  });
});
