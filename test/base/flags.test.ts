import { Command } from 'commander';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { describe as describeError, exitCode } from '../../base/errors.ts';
import { defineFlags, parseCommandLine } from '../../base/flags.ts';

const flags = defineFlags([
  { name: 'web.listen-address', kind: 'list', default: [':9510'], help: 'Where to listen' },
  { name: 'web.config.file', kind: 'string', help: 'TLS and users' },
  { name: 'path.sysfs', kind: 'string', default: '/sys', help: 'Where sysfs is mounted' },
  { name: 'log.level', kind: 'string', default: 'info', choices: ['debug', 'info'], help: 'Least level' },
  { name: 'collector.ras', kind: 'boolean', default: true, help: 'Read RAS counters' },
  { name: 'collector.profiler', kind: 'boolean', default: false, help: 'Read profiler files' },
  { name: 'read.timeout', kind: 'duration', default: '5s', minMs: 10, help: 'Deadline of a read' },
  { name: 'ring.length', kind: 'int', default: 60, min: 1, max: 1000, help: 'Points kept' },
  { name: 'ring.depth', kind: 'int', help: 'Depth' },
]);

async function parse(...argv: string[]) {
  const program = new Command('nightshift');
  const command = program.command('exporter').argument('[rest...]');
  flags.addTo(command).action(() => undefined);
  await parseCommandLine(program, ['exporter', ...argv]);
  return { values: flags.read(command), given: flags.given(command), rest: command.args };
}

async function failure(...argv: string[]): Promise<unknown> {
  try {
    await parse(...argv);
  } catch (error) {
    return error;
  }
  throw new Error('was accepted');
}

describe('flags', () => {
  it('have their defaults under their dotted names', async () => {
    const { values, given } = await parse();
    expect(values).toEqual({
      'web.listen-address': [':9510'],
      'web.config.file': undefined,
      'path.sysfs': '/sys',
      'log.level': 'info',
      'collector.ras': true,
      'collector.profiler': false,
      'read.timeout': 5_000,
      'ring.length': 60,
      'ring.depth': undefined,
    });
    expect([...given]).toEqual([]);
  });

  it('are typed by their kind', async () => {
    const { values } = await parse();
    expectTypeOf(values['web.listen-address']).toEqualTypeOf<string[]>();
    expectTypeOf(values['web.config.file']).toEqualTypeOf<string | undefined>();
    expectTypeOf(values['path.sysfs']).toEqualTypeOf<string>();
    expectTypeOf(values['log.level']).toEqualTypeOf<'debug' | 'info'>();
    expectTypeOf(values['collector.ras']).toEqualTypeOf<boolean>();
    expectTypeOf(values['read.timeout']).toEqualTypeOf<number>();
    expectTypeOf(values['ring.depth']).toEqualTypeOf<number | undefined>();
    expect(Object.keys(values)).toHaveLength(flags.defs.length);
  });

  it.each([
    [['--path.sysfs=/mnt'], 'path.sysfs', '/mnt'],
    [['--path.sysfs', '/mnt'], 'path.sysfs', '/mnt'],
    [['--path.sysfs='], 'path.sysfs', ''],
    [['--path.sysfs', '/a', '--path.sysfs', '/b'], 'path.sysfs', '/b'],
    [['--web.listen-address', ':1', '--web.listen-address=unix:/a'], 'web.listen-address', [':1', 'unix:/a']],
    [['--no-collector.ras'], 'collector.ras', false],
    [['--collector.profiler'], 'collector.profiler', true],
    [['--collector.ras=false'], 'collector.ras', false],
    [['--collector.profiler=true'], 'collector.profiler', true],
    [['--no-collector.ras', '--collector.ras'], 'collector.ras', true],
    [['--read.timeout=300ms'], 'read.timeout', 300],
    [['--ring.length', '7'], 'ring.length', 7],
    [['--log.level=debug'], 'log.level', 'debug'],
  ] as const)('%j sets %s', async (argv, name, value) => {
    const { values, given } = await parse(...argv);
    expect(values[name]).toEqual(value);
    expect([...given]).toEqual([name]);
  });

  it('leave what stands after a switch, and after --, to the command', async () => {
    expect((await parse('--collector.ras', 'file')).rest).toEqual(['file']);
    const { rest, values } = await parse('--', '--collector.ras=false');
    expect(rest).toEqual(['--collector.ras=false']);
    expect(values['collector.ras']).toBe(true);
  });

  it('do not leak a list from one parse into the next', async () => {
    await parse('--web.listen-address=:1');
    expect((await parse('--web.listen-address=:2')).values['web.listen-address']).toEqual([':2']);
    expect((await parse()).values['web.listen-address']).toEqual([':9510']);
  });

  it.each([
    [
      ['--web.listen-adress=:1'],
      'FLAG_UNKNOWN',
      /unknown flag --web\.listen-adress=?.*Did you mean --web\.listen-address\?/,
    ],
    [['--no-colector.ras'], 'FLAG_UNKNOWN', /Did you mean --no-collector\.ras\?/],
    [['--utterly.different'], 'FLAG_UNKNOWN', /unknown flag --utterly\.different\. See --help/],
    [['--path.sysfs'], 'FLAG_INVALID', /argument missing/],
    [['--ring.length=many'], 'FLAG_INVALID', /--ring\.length=many: not a whole number/],
    [['--ring.length=1e2'], 'FLAG_INVALID', /not a whole number/],
    [['--ring.length=0'], 'FLAG_INVALID', /between 1 and 1000/],
    [['--read.timeout=5'], 'FLAG_INVALID', /--read\.timeout: "5" is not a duration\. Add a unit/],
    [['--read.timeout=1ms'], 'FLAG_INVALID', /at least 10 ms/],
    [['--log.level=loud'], 'FLAG_INVALID', /use one of debug, info/],
    [['--collector.ras=maybe'], 'FLAG_INVALID', /a switch is true or false/],
  ])('%j is refused', async (argv, code, text) => {
    const error = await failure(...argv);
    expect(error).toMatchObject({ code });
    expect(exitCode(error)).toBe(2);
    expect(describeError(error)).toMatch(text);
  });

  it('refuse an unknown command with the nearest one', async () => {
    const program = new Command('nightshift');
    program.command('exporter').action(() => undefined);
    program.command('demo').action(() => undefined);
    const error = await parseCommandLine(program, ['exportr']).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'COMMAND_INVALID', hint: 'Did you mean exporter?' });
  });

  it('are shown in the help with their defaults', async () => {
    let text = '';
    const program = new Command('nightshift').configureOutput({ writeOut: (out) => (text += out) });
    flags.addTo(program).action(() => undefined);
    expect(await parseCommandLine(program, ['--help'])).toBe('shown');
    const lines = text.replace(/\n {6,}/g, ' ').replace(/ +/g, ' ');
    expect(lines).toContain('--[no-]collector.ras Read RAS counters (default: on)');
    expect(lines).toContain('--[no-]collector.profiler Read profiler files (default: off)');
    expect(lines).toContain('--web.listen-address <value> Where to listen (may be repeated) (default: :9510)');
    expect(lines).toContain('--read.timeout <duration> Deadline of a read (default: 5s)');
    expect(lines).toContain('--path.sysfs <value> Where sysfs is mounted (default: /sys)');
    expect(lines).not.toContain(' --no-collector');
  });
});
