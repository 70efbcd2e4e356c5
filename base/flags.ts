import { type Command, CommanderError, Option } from 'commander';
import { closest } from './closest.ts';
import { parseDuration } from './durations.ts';
import { baseError, NightshiftError } from './errors.ts';

interface Common {
  /** Without dashes: `web.listen-address`. */
  name: string;
  help: string;
  /** Works, but is not shown in the help. */
  hidden?: boolean;
}

export type FlagDef = Common &
  (
    | { kind: 'string'; default?: string; choices?: readonly string[] }
    | { kind: 'boolean'; default: boolean }
    /** Given as `5s`, read as milliseconds. */
    | { kind: 'duration'; default?: string; minMs?: number; maxMs?: number }
    | { kind: 'int'; default?: number; min?: number; max?: number }
    /** May be repeated; the first one given replaces the default. */
    | { kind: 'list'; default: readonly string[] }
  );

type Given<D, T> = D extends { default: string | number } ? T : T | undefined;

type ValueOf<D extends FlagDef> = D extends { kind: 'boolean' }
  ? boolean
  : D extends { kind: 'list' }
    ? string[]
    : D extends { kind: 'int' | 'duration' }
      ? Given<D, number>
      : D extends { choices: readonly (infer C)[] }
        ? Given<D, C>
        : Given<D, string>;

/** Values by dotted name, each typed by the kind of its flag. */
export type FlagValues<F extends readonly FlagDef[]> = { [D in F[number] as D['name']]: ValueOf<D> };

export interface Flags<F extends readonly FlagDef[]> {
  readonly defs: F;
  addTo(command: Command): Command;
  /** After parsing. */
  read(command: Command): FlagValues<F>;
  /** Names that stood on the command line, as opposed to defaults. */
  given(command: Command): ReadonlySet<F[number]['name']>;
}

/** Flags as Prometheus exporters have them: dotted names, `--flag=value` or `--flag value`, `--no-flag` for switches. */
export function defineFlags<const F extends readonly FlagDef[]>(defs: F): Flags<F> {
  return {
    defs,
    addTo(command) {
      for (const def of defs) addFlag(command, def);
      acceptSwitchValues(command, new Set(defs.filter((def) => def.kind === 'boolean').map((def) => def.name)));
      showSwitches(command);
      return command;
    },
    read(command) {
      const entries = defs.map((def) => [def.name, command.getOptionValue(keyOf(def.name))]);
      return Object.fromEntries(entries) as FlagValues<F>;
    },
    given(command) {
      const found = defs.filter((def) => command.getOptionValueSource(keyOf(def.name)) === 'cli');
      return new Set(found.map((def) => def.name));
    },
  };
}

/** Commander keeps a value under its option's name in camel case; dots stay. */
function keyOf(name: string): string {
  return new Option(`--${name}`).attributeName();
}

function addFlag(command: Command, def: FlagDef): void {
  if (def.kind === 'boolean') {
    command.addOption(hide(new Option(`--${def.name}`, def.help).default(def.default), def.hidden));
    command.addOption(hide(new Option(`--no-${def.name}`), true));
    return;
  }
  const placeholder = def.kind === 'string' || def.kind === 'list' ? 'value' : def.kind;
  const option = new Option(`--${def.name} <${placeholder}>`, describeFlag(def));
  command.addOption(hide(withParser(option, def), def.hidden));
}

function hide(option: Option, hidden = false): Option {
  return hidden ? option.hideHelp() : option;
}

function describeFlag(def: FlagDef): string {
  if (def.kind === 'list') return `${def.help} (may be repeated)`;
  return def.kind === 'string' && def.choices ? `${def.help} (one of ${def.choices.join(', ')})` : def.help;
}

function withParser(option: Option, def: Exclude<FlagDef, { kind: 'boolean' }>): Option {
  if (def.kind === 'list') {
    const initial = [...def.default];
    // Commander hands the default on as what came before: it is told from a given list by identity.
    option.argParser<string[]>((value, before) => (before === initial ? [value] : [...before, value]));
    return initial.length > 0 ? option.default(initial, initial.join(', ')) : option.default(initial, 'none');
  }
  if (def.kind === 'duration') {
    option.argParser((value) => durationOf(def, value));
    return def.default === undefined ? option : option.default(durationOf(def, def.default), def.default);
  }
  option.argParser((value) => (def.kind === 'int' ? intOf(def, value) : textOf(def, value)));
  return def.default === undefined ? option : option.default(def.default, String(def.default) || 'none');
}

function invalid(name: string, value: string, why: string): NightshiftError {
  return baseError('FLAG_INVALID', `--${name}=${value}: ${why}`, 'See --help.');
}

function intOf(def: FlagDef & { kind: 'int' }, value: string): number {
  const number = /^[+-]?\d+$/.test(value) ? Number(value) : Number.NaN;
  const { min = -Number.MAX_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = def;
  if (!Number.isSafeInteger(number)) throw invalid(def.name, value, 'not a whole number');
  if (number < min || number > max) throw invalid(def.name, value, `must be ${range(def.min, def.max)}`);
  return number;
}

function durationOf(def: FlagDef & { kind: 'duration' }, value: string): number {
  let ms: number;
  try {
    ms = parseDuration(value);
  } catch (error) {
    if (!(error instanceof NightshiftError)) throw error;
    throw baseError('FLAG_INVALID', `--${def.name}: ${error.message}`, error.hint, { cause: error });
  }
  const { minMs = 0, maxMs = Number.MAX_SAFE_INTEGER } = def;
  if (ms < minMs || ms > maxMs) throw invalid(def.name, value, `must be ${range(def.minMs, def.maxMs, ' ms')}`);
  return ms;
}

function range(min: number | undefined, max: number | undefined, unit = ''): string {
  if (min === undefined) return `at most ${max}${unit}`;
  return max === undefined ? `at least ${min}${unit}` : `between ${min} and ${max}${unit}`;
}

function textOf(def: FlagDef & { kind: 'string' }, value: string): string {
  if (def.choices && !def.choices.includes(value))
    throw invalid(def.name, value, `use one of ${def.choices.join(', ')}`);
  return value;
}

/** `--switch=false` is `--no-switch`: commander itself takes a value only where an option always has one. */
function acceptSwitchValues(command: Command, names: ReadonlySet<string>): void {
  const parse = command.parseOptions.bind(command);
  command.parseOptions = (argv) => {
    const end = argv.indexOf('--');
    return parse(argv.map((arg, index) => (end >= 0 && index > end ? arg : switchOf(arg, names))));
  };
}

function switchOf(arg: string, names: ReadonlySet<string>): string {
  const [, name, value] = /^--([^=]+)=(.*)$/s.exec(arg) ?? [];
  if (name === undefined || value === undefined || !names.has(name)) return arg;
  if (value === 'true') return `--${name}`;
  if (value === 'false') return `--no-${name}`;
  throw invalid(name, value, 'a switch is true or false');
}

/** `--[no-]collector.ras`, with the state it has by itself. */
function showSwitches(command: Command): void {
  command.configureHelp({
    optionTerm: (option) =>
      option.isBoolean() && hasOpposite(command, option) ? `--[no-]${option.name()}` : option.flags,
    optionDescription: (option) => {
      if (option.defaultValue === undefined || option.description === '') return option.description;
      const shown = option.defaultValueDescription ?? String(option.defaultValue);
      return `${option.description} (default: ${shown === 'true' ? 'on' : shown === 'false' ? 'off' : shown})`;
    },
  });
}

function hasOpposite(command: Command, option: Option): boolean {
  return command.options.some((other) => other.long === `--no-${option.name()}`);
}

/**
 * Parses and runs a command and its subcommands. What is wrong with the command line is thrown as a configuration error with
 * the nearest known name. Resolves to `shown` where help or version was printed instead.
 */
export async function parseCommandLine(program: Command, argv: readonly string[]): Promise<'ran' | 'shown'> {
  const seen = { command: program };
  prepare(program, seen);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return 'ran';
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 'shown';
    throw commandLineError(error, seen.command);
  }
}

/** Nothing is printed and nothing exits inside commander: the caller decides. */
function prepare(command: Command, seen: { command: Command }): void {
  command.exitOverride((error) => {
    seen.command = command;
    throw error;
  });
  command.configureOutput({ outputError: () => undefined });
  command.showSuggestionAfterError(false);
  command.allowExcessArguments(false);
  for (const child of command.commands) prepare(child, seen);
}

function commandLineError(error: CommanderError, command: Command): NightshiftError {
  const message = error.message.replace(/^error: /, '');
  const extra = { cause: error };
  if (error.code === 'commander.unknownOption') {
    const flag = /'(-[^']*)'/.exec(message)?.[1] ?? '';
    return baseError('FLAG_UNKNOWN', `unknown flag ${flag}`, suggestFlag(flag, command), extra);
  }
  if (error.code === 'commander.unknownCommand') {
    const meant = closest(
      /'([^']*)'/.exec(message)?.[1] ?? '',
      command.commands.map((child) => child.name()),
    );
    return baseError('COMMAND_INVALID', message, meant ? `Did you mean ${meant}?` : 'See --help.', extra);
  }
  if (/^commander\.(optionMissingArgument|invalidArgument|missingMandatoryOptionValue)$/.test(error.code)) {
    return baseError('FLAG_INVALID', message, 'See --help.', extra);
  }
  if (error.code === 'commander.help') return baseError('COMMAND_INVALID', 'no command is given', 'See --help.', extra);
  return baseError('COMMAND_INVALID', message, 'See --help.', extra);
}

function suggestFlag(flag: string, command: Command): string {
  const known = new Set<string>();
  for (let at: Command | null = command; at; at = at.parent) {
    for (const option of at.options) if (option.long) known.add(option.long);
  }
  const meant = closest(flag.replace(/=.*$/s, ''), known);
  return meant ? `Did you mean ${meant}?` : 'See --help for those that exist.';
}
