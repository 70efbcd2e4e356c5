import { z } from 'zod';
import { closest } from '../../base/closest.ts';
import { kindOf, type Path, spell } from '../../base/yaml.ts';
import type { RuleCode } from './codes.ts';
import { LATER_KEYS } from './future.ts';
import type { Sheet } from './sheet.ts';

/**
 * Checks values against schemas so that one mistake does not hide another: keys of a block are judged one by one, and what
 * is right in it stays usable for what refers to it.
 */

/**
 * The value as the schema makes it, or undefined where something in it is wrong (and was told). Of lists and tables the
 * entries that are right stay.
 */
export function check<T>(sheet: Sheet, path: Path, raw: unknown, schema: z.ZodType<T>): T | undefined {
  const before = sheet.problems.length;
  const inner = bare(schema);
  let right: unknown;
  if (inner instanceof z.ZodObject && isBlock(raw)) checkFields(sheet, path, raw, inner);
  else if (inner instanceof z.ZodArray && Array.isArray(raw)) {
    const items = raw.map((item, i) => check(sheet, [...path, i], item, inner.element as z.ZodType));
    right = items.filter((item) => item !== undefined);
  } else if (inner instanceof z.ZodRecord && isBlock(raw)) {
    right = checkRecord(sheet, path, raw, inner);
  }
  if (sheet.problems.length > before) return right as T | undefined;
  // What belongs to several keys together is judged once each of them is right.
  const result = schema.safeParse(raw, { reportInput: true });
  if (result.success) return result.data;
  for (const issue of result.error.issues) tell(sheet, [...path, ...issue.path], issue, schema);
  return undefined;
}

function checkRecord(
  sheet: Sheet,
  path: Path,
  raw: Readonly<Record<string, unknown>>,
  schema: z.ZodRecord,
): Record<string, unknown> {
  const right: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(raw)) {
    checkName(sheet, [...path, key], key, schema.keyType as z.ZodType);
    const value = check(sheet, [...path, key], item, schema.valueType as z.ZodType);
    if (value !== undefined) right[key] = value;
  }
  return right;
}

/** The keys of a block that are right; of those that are wrong it was told why. */
export function checkPartly<S extends z.ZodObject>(
  sheet: Sheet,
  path: Path,
  raw: unknown,
  schema: S,
): Partial<z.output<S>> {
  if (isBlock(raw)) return checkFields(sheet, path, raw, schema) as Partial<z.output<S>>;
  check(sheet, path, raw, schema);
  return {};
}

function checkFields(
  sheet: Sheet,
  path: Path,
  raw: Readonly<Record<string, unknown>>,
  schema: z.ZodObject,
): Record<string, unknown> {
  const known = Object.keys(schema.shape);
  const values: Record<string, unknown> = {};
  for (const key of Object.keys(raw)) if (!known.includes(key)) tellUnknown(sheet, [...path, key], key, known);
  for (const key of known) {
    const field = schema.shape[key] as z.ZodType;
    if (Object.hasOwn(raw, key)) values[key] = check(sheet, [...path, key], raw[key], field);
    else if (field.safeParse(undefined).success) values[key] = field.parse(undefined);
    else sheet.add('RULE_KEY_MISSING', [...path, key], `"${key}" is missing${where(path)}`, exampleHint(field, key));
    if (values[key] === undefined) delete values[key];
  }
  return values;
}

function checkName(sheet: Sheet, path: Path, key: string, schema: z.ZodType): void {
  const result = schema.safeParse(key);
  if (!result.success) {
    const message = `"${key}" cannot be a name here: ${result.error.issues[0]?.message ?? ''}`;
    sheet.addAtKey('RULE_VALUE_INVALID', path, message, exampleHint(schema));
  }
}

function tellUnknown(sheet: Sheet, path: Path, key: string, known: readonly string[]): void {
  const later = Object.hasOwn(LATER_KEYS, key) ? LATER_KEYS[key] : undefined;
  if (later !== undefined) {
    sheet.addAtKey('RULE_KEY_LATER', path, `"${key}" belongs to a later version`, later);
    return;
  }
  const meant = closest(key, known);
  const hint = meant === undefined ? `Known here: ${known.join(', ')}.` : `Did you mean "${meant}"?`;
  sheet.addAtKey('RULE_KEY_UNKNOWN', path, `there is no key "${key}"${where(path.slice(0, -1))}`, hint);
}

/** ` in throttle`: the nearest block with a name. */
function where(path: Path): string {
  const name = path.findLast((step) => typeof step === 'string');
  return name === undefined ? '' : ` in ${String(name)}`;
}

/** Told by `superRefine` and transforms: `params` of a custom issue may carry rule and hint of their own. */
interface Told {
  rule?: RuleCode;
  hint?: string;
  /** The key, not the value, is wrong. */
  atKey?: boolean;
}

function tell(sheet: Sheet, path: Path, issue: z.core.$ZodIssue, schema: z.ZodType): void {
  const told: Told = issue.code === 'custom' ? (issue.params ?? {}) : {};
  const name = path.findLast((step) => typeof step === 'string');
  const text = isWithoutUnit(issue, schema) ? `has no unit: ${spell(issue.input)}` : explain(issue);
  const message = `${name === undefined ? 'the file' : `"${String(name)}"`}${text.startsWith(':') ? '' : ' '}${text}`;
  const hint = told.hint ?? meantHint(issue) ?? exampleHint(schema);
  if (told.atKey) sheet.addAtKey(told.rule ?? 'RULE_VALUE_INVALID', path, message, hint);
  else sheet.add(told.rule ?? 'RULE_VALUE_INVALID', path, message, hint);
}

/** A bare number where values are written like `6m` or `450W`. */
function isWithoutUnit(issue: z.core.$ZodIssue, schema: z.ZodType): boolean {
  if (issue.code !== 'invalid_type' && issue.code !== 'invalid_union') return false;
  return typeof issue.input === 'number' && examplesOf(schema).some((one) => /^\d.*\D$/.test(String(one)));
}

function meantHint(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code !== 'invalid_value' || typeof issue.input !== 'string') return undefined;
  const meant = closest(issue.input, issue.values.map(String));
  return meant === undefined ? `Write one of ${issue.values.map(String).join(', ')}.` : `Did you mean ${meant}?`;
}

function explain(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kindOf(issue.expected)}, not ${spell(issue.input)}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}, not ${spell(issue.input)}`;
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
      return `must ${amount(issue.origin, `${issue.inclusive === false ? 'above' : 'at least'} ${issue.minimum}`)}, ${has(issue.input)}`;
    case 'too_big':
      return `must ${amount(issue.origin, `at most ${issue.maximum}`)}, ${has(issue.input)}`;
    case 'invalid_format':
      return `cannot be ${spell(issue.input)}: ${issue.message}`;
    case 'invalid_union':
      return `cannot be ${spell(issue.input)}`;
    default:
      return issue.message;
  }
}

function amount(origin: string, bound: string): string {
  return origin === 'array' ? `have ${bound} entries` : `be ${bound}`;
}

function has(input: unknown): string {
  return Array.isArray(input) ? `not ${input.length}` : `not ${spell(input)}`;
}

/** What stands in the schema as examples is the best hint. */
function exampleHint(schema: z.ZodType, key?: string): string {
  const shown = examplesOf(schema).map((one) => (typeof one === 'string' ? one : flow(one)));
  if (shown.length === 0) return key === undefined ? 'See docs/policies.md.' : `Add ${key}; see docs/policies.md.`;
  return `Write ${key === undefined ? '' : `${key}: `}${shown.join(' or ')}.`;
}

function examplesOf(schema: z.ZodType): readonly unknown[] {
  const examples = (schema.meta() ?? bare(schema).meta())?.examples;
  return Array.isArray(examples) ? examples : [];
}

/** A value as one would write it on one line of YAML. */
function flow(value: unknown): string {
  return JSON.stringify(value)
    .replace(/"([\w.%°-]+)"/g, '$1')
    .replace(/([:,])(?=\S)/g, '$1 ');
}

/** Below optional and default. */
function bare(schema: z.ZodType): z.ZodType {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap() as z.ZodType;
  return inner;
}

export function isBlock(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
