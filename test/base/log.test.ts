import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../base/clock.ts';
import { configurationError } from '../../base/errors.ts';
import { componentLog, createLog, type LogOptions, onceLog, stderrDestination } from '../../base/log.ts';
import { renderLogfmt } from '../../base/logfmt.ts';
import { redactText } from '../../base/redact.ts';

function capture(options: Omit<LogOptions, 'destination' | 'clock'> = {}) {
  const lines: string[] = [];
  const log = createLog({ ...options, clock: fakeClock(0), destination: { write: (line) => void lines.push(line) } });
  return { log, lines };
}

describe('createLog', () => {
  it('writes logfmt with time, level, component and message first', () => {
    const { log, lines } = capture();
    componentLog(log, 'http').info({ port: 9510, path: '/a b', none: null }, 'listening now');
    expect(lines).toEqual([
      'time=1970-01-01T00:00:00.000Z level=info component=http msg="listening now" port=9510 path="/a b" none=null\n',
    ]);
  });

  it('writes one JSON object a line', () => {
    const { log, lines } = capture({ format: 'json' });
    log.warn({ a: 1 }, 'careful');
    expect(JSON.parse(lines[0]!)).toEqual({ level: 'warn', time: '1970-01-01T00:00:00.000Z', a: 1, msg: 'careful' });
    expect(lines[0]!.endsWith('}\n')).toBe(true);
  });

  it('leaves out what is below its level', () => {
    const { log, lines } = capture({ level: 'warn' });
    log.debug('d');
    log.info('i');
    log.warn('w');
    log.error('e');
    expect(lines.map((line) => /level=(\w+)/.exec(line)?.[1])).toEqual(['warn', 'error']);
  });

  it.each([{ level: 'loud' }, { level: 'fatal' }, { format: 'xml' }])(
    'refuses %j as a configuration error',
    (options) => {
      expect(() => capture(options)).toThrow(
        expect.objectContaining({ code: 'LOG_OPTION_INVALID', fault: 'configuration' }),
      );
    },
  );

  it.each(['logfmt', 'json'])('keeps secrets out of %s lines', (format) => {
    const { log, lines } = capture({ format });
    log.info({ password: 'hunter2', token: 'hunter2', deep: { headers: { authorization: 'hunter2' } } }, 'a');
    log.child({ token: 'hunter2' }).info({ req: { headers: { Authorization: 'hunter2' } } }, 'b');
    log.info({ url: 'http://me:hunter2@host/x', note: `Basic ${Buffer.from('me:hunter2').toString('base64')}` }, 'c');
    log.info('sent Bearer hunter2.abcdef-1');
    log.error({ err: new Error('fetch http://me:hunter2@host failed') }, 'd');
    const all = lines.join('');
    expect(lines).toHaveLength(5);
    expect(all).not.toContain('hunter2');
    expect(all).not.toContain(Buffer.from('me:hunter2').toString('base64'));
    if (format === 'json') for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
  });

  it('shows an expected error without a stack and an unexpected one with it', () => {
    const { log, lines } = capture({ format: 'json' });
    log.error({ err: configurationError('X', 'bad', 'Mend it.') }, 'a');
    log.error({ err: new TypeError('boom') }, 'b');
    const [expected, unexpected] = lines.map((line) => JSON.parse(line).err);
    expect(expected).toEqual({ code: 'X', message: 'bad', fault: 'configuration', hint: 'Mend it.' });
    expect(unexpected).toMatchObject({ type: 'TypeError', message: 'boom' });
    expect(unexpected.stack).toContain('log.test.ts');
  });
});

describe('renderLogfmt', () => {
  it.each([
    [{ a: 'x=y' }, 'a="x=y"'],
    [{ a: '' }, 'a=""'],
    [{ a: 'say "hi"\n' }, 'a="say \\"hi\\"\\n"'],
    [{ a: [1, 'b'] }, 'a="[1,\\"b\\"]"'],
    [{ a: { b: { c: true } } }, 'a.b.c=true'],
    [{ 'a b': 1 }, 'a_b=1'],
    [{ a: undefined, b: 0 }, 'b=0'],
    [{ a: '\x1b[31m' }, 'a="\\u001b[31m"'],
  ])('renders %j', (record, line) => {
    expect(renderLogfmt(record)).toBe(line);
  });
});

describe('redactText', () => {
  it.each(['basic authentication is on', 'bearer authentication', 'http://host:9510/metrics', 'a://b/c@d:e'])(
    'leaves prose alone: %s',
    (text) => {
      expect(redactText(text)).toBe(text);
    },
  );
});

describe('onceLog', () => {
  it('logs a condition at its start, its changes and its end only', () => {
    const { log, lines } = capture();
    const once = onceLog(log);
    for (const state of [undefined, 'busy', 'busy', 'gone', 'gone', undefined, undefined, 'busy']) {
      once.report('card0', state);
    }
    expect(lines.map((line) => line.replace(/^time=\S+ /, '').trim())).toEqual([
      'level=warn msg=busy condition=card0',
      'level=warn msg=gone condition=card0',
      'level=info msg="condition cleared" condition=card0 was=gone',
      'level=warn msg=busy condition=card0',
    ]);
  });

  it('keeps conditions apart and forgets the oldest beyond a thousand', () => {
    const { log, lines } = capture();
    const once = onceLog(log, 'error');
    for (let key = 0; key < 1_001; key++) once.report(`k${key}`, 'bad');
    expect(once.open()).toBe(1_000);
    expect(lines).toHaveLength(1_001);
    once.report('k1000', 'bad');
    expect(lines).toHaveLength(1_001);
    once.report('k0', 'bad');
    expect(lines).toHaveLength(1_002);
  });
});

describe('stderrDestination', () => {
  const failure = (code: string) => Object.assign(new Error(code), { code });

  it('completes partial writes and waits for a full pipe', () => {
    const got: Buffer[] = [];
    let calls = 0;
    const destination = stderrDestination('logfmt', (bytes) => {
      calls += 1;
      if (calls % 2 === 0) throw failure('EAGAIN');
      got.push(Buffer.from(bytes.subarray(0, 2)));
      return Math.min(2, bytes.length);
    });
    destination.write('größe\n');
    expect(Buffer.concat(got).toString()).toBe('größe\n');
  });

  it('survives a reader that has gone and tells later how much was lost', () => {
    let broken = true;
    let text = '';
    const destination = stderrDestination('json', (bytes) => {
      if (broken) throw failure('EPIPE');
      text += Buffer.from(bytes).toString();
      return bytes.length;
    });
    destination.write('one\n');
    destination.write('two\n');
    broken = false;
    destination.write('three\n');
    const [note, line] = text.trim().split('\n');
    expect(JSON.parse(note!)).toMatchObject({ level: 'warn', lost: 2 });
    expect(line).toBe('three');
  });
});
