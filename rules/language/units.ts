/** Values that people write with their unit (`450W`, `1.5GHz`, `75%`, `85°C`, `64GiB`, `90s`), as numbers in base units. */
import { closest } from '../../base/closest.ts';
import { formatDuration, parseDuration } from '../../base/durations.ts';
import { NightshiftError } from '../../base/errors.ts';
import type { Unit } from '../../model/units.ts';

/** A value in the base unit of the catalogue: W, Hz, °C, bytes, seconds, a share of 1. */
export interface Measure {
  value: number;
  unit: Unit;
}

interface Suffix {
  unit: Unit;
  /** Power of ten, applied to the decimal text so that 2.3GHz is 2300000000 exactly. */
  ten?: number;
  /** Power of two, of binary prefixes. */
  two?: number;
}

const DECIMAL: readonly (readonly [prefix: string, ten: number])[] = [
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
];
const BINARY: readonly (readonly [prefix: string, two: number])[] = [
  ['Ki', 10],
  ['Mi', 20],
  ['Gi', 30],
  ['Ti', 40],
];

const SUFFIXES: ReadonlyMap<string, Suffix> = new Map<string, Suffix>([
  ['%', { unit: 'ratio', ten: -2 }],
  ['°C', { unit: 'celsius' }],
  ['℃', { unit: 'celsius' }],
  ['C', { unit: 'celsius' }],
  ['mW', { unit: 'watts', ten: -3 }],
  ['W', { unit: 'watts' }],
  ['kW', { unit: 'watts', ten: 3 }],
  ['J', { unit: 'joules' }],
  ['kJ', { unit: 'joules', ten: 3 }],
  ['MJ', { unit: 'joules', ten: 6 }],
  ['mV', { unit: 'volts', ten: -3 }],
  ['V', { unit: 'volts' }],
  ['mA', { unit: 'amperes', ten: -3 }],
  ['A', { unit: 'amperes' }],
  ['rpm', { unit: 'rpm' }],
  ...DECIMAL.slice(0, 4).map(([prefix, ten]) => [`${prefix}Hz`, { unit: 'hertz', ten }] as const),
  ...DECIMAL.map(([prefix, ten]) => [`${prefix}T/s`, { unit: 'transfers_per_second', ten }] as const),
  ...DECIMAL.map(([prefix, ten]) => [`${prefix}B`, { unit: 'bytes', ten }] as const),
  ...DECIMAL.map(([prefix, ten]) => [`${prefix}B/s`, { unit: 'bytes_per_second', ten }] as const),
  ...BINARY.map(([prefix, two]) => [`${prefix}B`, { unit: 'bytes', two }] as const),
  ...BINARY.map(([prefix, two]) => [`${prefix}B/s`, { unit: 'bytes_per_second', two }] as const),
]);

/** How a value of a unit is written, for hints. Units that are not here have no written form: a plain number is meant. */
const EXAMPLES: Partial<Record<Unit, string>> = {
  ratio: '10%',
  celsius: '85°C',
  watts: '450W',
  joules: '50kJ',
  volts: '850mV',
  amperes: '40A',
  rpm: '3000rpm',
  hertz: '1500MHz',
  transfers_per_second: '16GT/s',
  bytes: '64GiB',
  bytes_per_second: '10GB/s',
  seconds: '90s',
};

const PATTERN = /^([+-]?\d+(?:\.\d+)?) ?([^\d\s.,+-]\S*)$/;
const DURATION = /^(?:\d+(?:d|h|ms|m|s))+$/;

/** Why a text is no value with a unit. */
export interface UnitError {
  code: 'UNIT_INVALID';
  message: string;
  hint: string;
}

/**
 * Reads one value with its unit; between number and unit one space may stand. Durations are written as elsewhere
 * (`90s`, `1m30s`), in whole parts, and come out in seconds. A bare number is an error: nobody agrees on its unit.
 */
export function parseQuantity(text: string): Measure | UnitError {
  return (
    readMeasure(text) ?? {
      code: 'UNIT_INVALID',
      message: `${JSON.stringify(text.slice(0, 64))} is not a value with a unit`,
      hint: hintFor(text.length > 64 ? '' : text),
    }
  );
}

/** As `parseQuantity`, but undefined for what is not written as a value with a unit. */
export function readMeasure(text: string): Measure | undefined {
  if (text.length > 64) return undefined;
  if (DURATION.test(text)) return readDuration(text);
  const [, digits, name] = PATTERN.exec(text) ?? [];
  const suffix = name === undefined ? undefined : SUFFIXES.get(name);
  if (suffix === undefined) return undefined;
  const scaled = Number(suffix.ten ? `${digits}e${suffix.ten}` : digits) * 2 ** (suffix.two ?? 0);
  return Number.isFinite(scaled) ? { value: scaled, unit: suffix.unit } : undefined;
}

/** True for what begins like a number and goes on like a unit, known or not: `85F`, `450w`, `10 %`. */
export function looksLikeMeasure(text: string): boolean {
  return text.length <= 64 && (DURATION.test(text) || /^[+-]?\d+(?:\.\d+)? ?[a-zA-Z%°℃/]+$/.test(text));
}

/** `Write it like 450W.`, or that a plain number is meant where the unit has no written form. */
export function exampleHint(unit: Unit | undefined): string {
  const example = unit === undefined ? undefined : EXAMPLES[unit];
  return example === undefined ? 'Write a plain number.' : `Write it like ${example}.`;
}

/** What people call a unit. */
export function nameOf(unit: Unit): string {
  const names: Partial<Record<Unit, string>> = {
    ratio: 'percent',
    celsius: '°C',
    bytes_per_second: 'bytes per second',
    transfers_per_second: 'transfers per second',
    timestamp_seconds: 'seconds since the epoch',
  };
  return names[unit] ?? unit;
}

/** A value in its base unit as people would write it: `85 °C`, `1500 MHz`, `70 %`. */
export function formatMeasure(value: number, unit: Unit): string {
  const text = (number: number): string => String(Number(number.toPrecision(12)));
  if (unit === 'ratio') return `${text(value * 100)} %`;
  if (unit === 'hertz') return `${text(value / 1e6)} MHz`;
  if (unit === 'bytes' && Math.abs(value) >= 2 ** 30) return `${Number((value / 2 ** 30).toPrecision(4))} GiB`;
  if (unit === 'seconds' && value >= 1 && Number.isInteger(value * 1000)) return formatDuration(value * 1000);
  const signs: Partial<Record<Unit, string>> = {
    celsius: '°C',
    watts: 'W',
    joules: 'J',
    volts: 'V',
    amperes: 'A',
    rpm: 'rpm',
    seconds: 's',
    bytes: 'B',
    bytes_per_second: 'B/s',
    transfers_per_second: 'T/s',
  };
  const sign = signs[unit];
  return sign === undefined ? text(value) : `${text(value)} ${sign}`;
}

function readDuration(text: string): Measure | undefined {
  try {
    return { value: parseDuration(text) / 1000, unit: 'seconds' };
  } catch (error) {
    if (error instanceof NightshiftError) return undefined;
    throw error;
  }
}

function hintFor(text: string): string {
  const trimmed = text.trim();
  if (/^[+-]?\d+(\.\d+)?$/.test(trimmed)) return `Add a unit, for example ${trimmed}W, ${trimmed}MHz or ${trimmed}%.`;
  const name = /^[+-]?\d+(?:[.,]\d+)?\s*(\S+)$/.exec(trimmed)?.[1] ?? '';
  if (/^°?F$/i.test(name)) return 'Temperatures are in °C.';
  if (/^\d+,\d/.test(trimmed)) return 'Decimals stand behind a point.';
  if (/^\d+\.\d+(d|h|m|s|ms)$/.test(trimmed)) return 'Durations are in whole parts, like 1m30s or 500ms.';
  const sameLetters = [...SUFFIXES.keys()].find((suffix) => suffix.toLowerCase() === name.toLowerCase());
  const meant = sameLetters ?? (name.length > 1 ? closest(name, SUFFIXES.keys()) : undefined);
  if (meant !== undefined && meant !== name) return `Did you mean the unit ${meant}?`;
  return `Write it like ${Object.values(EXAMPLES).join(', ')}.`;
}
