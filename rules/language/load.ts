import { z } from 'zod';
import { closest } from '../../base/closest.ts';
import type { RuleSet } from '../../model/policy.ts';
import { fingerprint } from './canonical.ts';
import { collectModes, collectThresholds, collectWindows, noTables, Table, type Tables } from './collect.ts';
import { LATER_FILES } from './future.ts';
import { lintPairs, lintPolicy, type Placed } from './lint.ts';
import { compileIn, resolvePolicy, type Surroundings } from './policies.ts';
import { defaults as defaultsSchema, policyFile } from './schema.ts';
import { check, checkPartly, isBlock } from './shape.ts';
import { type RuleFile, type RuleProblem, Sheet } from './sheet.ts';
import { checkTestFile } from './testing/schema.ts';
import { zone as zoneSchema } from './values.ts';
import type { LoadedPolicy } from './version.ts';
import { buildVocabulary } from './vocabulary.ts';

export interface LoadOptions {
  /** Names that cards can have (`MI210`), so that a slip in a mode is seen. */
  models?: readonly string[];
}

export interface Loaded {
  /**
   * Absent where anything is wrong in them: half of what was meant is worse than what was there before. A file of tests that
   * is wrong is told like any other, but takes no rules away.
   */
  rules?: RuleSet;
  /** Everything that is wrong, errors and warnings, in the order of the files. */
  problems: RuleProblem[];
}

const named = policyFile.shape.conditions.unwrap();

/** Files by what they hold; a file says so by its one key beside `version`. */
const KINDS = ['policies', 'windows', 'modes', 'thresholds', 'tests'] as const;
type Kind = (typeof KINDS)[number];

/**
 * Reads all files of a rules folder, given as texts. Tells everything that is wrong at once, each with its place; rules come
 * out only where none of them has an error.
 */
export function loadRules(files: readonly RuleFile[], options: LoadOptions = {}): Loaded {
  const sheets = [...files]
    .sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0))
    .map((file) => new Sheet(file));
  const byKind = new Map<Kind, Sheet[]>(KINDS.map((kind) => [kind, []]));
  for (const sheet of sheets) {
    const kind = kindOf(sheet);
    if (kind !== undefined) byKind.get(kind)?.push(sheet);
  }
  const tables = noTables();
  for (const sheet of byKind.get('windows') ?? []) collectWindows(sheet, tables);
  for (const sheet of byKind.get('modes') ?? []) collectModes(sheet, tables, options.models);
  for (const sheet of byKind.get('thresholds') ?? []) collectThresholds(sheet, tables);
  for (const sheet of byKind.get('tests') ?? []) checkTestFile(sheet);
  const policySheets = byKind.get('policies') ?? [];
  const zone = zoneOf(policySheets);
  const names = new Table<LoadedPolicy>('policy');
  const placed = policySheets.flatMap((sheet) => readPolicies(sheet, { tables, names, zone }));
  for (const one of placed) lintPolicy(one);
  lintPairs(placed);
  const refused = sheets.some((sheet) => !isTest(sheet, byKind) && sheet.hasErrors);
  if (policySheets.length > 0 && !refused) tellUnused(tables);
  const first = sheets[0];
  if (names.declared.size === 0 && first !== undefined && sheets.every(({ problems }) => problems.length === 0)) {
    first.add('RULE_NO_POLICIES', [], 'no file has a policy', 'Add a file with policies:.');
  }
  const problems = sheets.flatMap((sheet) => inOrder(sheet.problems));
  return refused ? { problems } : { rules: ruleSet(placed, tables, zone), problems };
}

/** By what it holds, or, where that cannot be read, by its name. */
function isTest(sheet: Sheet, byKind: ReadonlyMap<Kind, readonly Sheet[]>): boolean {
  return byKind.get('tests')?.includes(sheet) === true || /\.test\.ya?ml$/.test(sheet.file);
}

function ruleSet(placed: readonly Placed[], { windows, thresholds }: Tables, zone: string | undefined): RuleSet {
  const policies = placed.map(({ policy }) => policy);
  const version = fingerprint({
    policies: policies.map(({ name, version: own }) => [name, own]),
    windows: [...windows.values.values()],
    thresholds: [...thresholds.values.values()],
    zone,
  });
  return {
    version,
    policies,
    windows: windows.values,
    thresholds: thresholds.values,
    ...(zone === undefined ? {} : { zone }),
  };
}

function inOrder(problems: readonly RuleProblem[]): RuleProblem[] {
  return [...problems].sort((a, b) => a.line - b.line || a.column - b.column);
}

/** What the file holds; undefined, and told, where that cannot be said. */
function kindOf(sheet: Sheet): Kind | undefined {
  if (sheet.problems.length > 0) return undefined;
  if (!isBlock(sheet.value)) {
    const hint = 'A rule file begins with version: 1, then policies:, windows:, modes: or thresholds:.';
    sheet.add('RULE_FILE_KIND', [], sheet.value === null ? 'the file is empty' : 'the file is no block of keys', hint);
    return undefined;
  }
  const keys = Object.keys(sheet.value);
  const later = keys.find((key) => Object.hasOwn(LATER_FILES, key));
  if (later !== undefined) {
    const message = `files with ${later} belong to a later version`;
    sheet.addAtKey('RULE_FILE_LATER', [later], message, LATER_FILES[later] ?? '');
    return undefined;
  }
  const found = KINDS.filter((kind) => keys.includes(kind));
  const [kind, second] = found;
  if (second !== undefined) {
    const message = `a file holds one thing, not ${found.join(' and ')}`;
    sheet.addAtKey('RULE_FILE_KIND', [second], message, `Move ${second} into a file of its own.`);
    return undefined;
  }
  if (kind === undefined) {
    const meant = keys.map((key) => [key, closest(key, KINDS)] as const).find(([, near]) => near !== undefined);
    const hint = meant ? `Did you mean ${meant[1]} for ${meant[0]}?` : `It needs one of ${KINDS.join(', ')}.`;
    sheet.addAtKey('RULE_FILE_KIND', meant ? [meant[0]] : [], 'this is no rule file', hint);
    return undefined;
  }
  return kind;
}

/** As policyFile, with its parts open: they are judged one by one, so that a wrong one does not take the others along. */
const OUTER = policyFile.extend({
  defaults: z.unknown().optional(),
  conditions: z.unknown().optional(),
  policies: z.array(z.unknown()).max(500),
});

/** The zone of `time.*`: one for all files, because a condition means the same wherever it stands. */
function zoneOf(sheets: readonly Sheet[]): string | undefined {
  let first: { zone: string; sheet: Sheet } | undefined;
  for (const sheet of sheets) {
    const defaults = (sheet.value as { defaults?: unknown }).defaults;
    const parsed = isBlock(defaults) ? zoneSchema.safeParse(defaults.zone) : undefined;
    if (!parsed?.success) continue;
    if (first === undefined) first = { zone: parsed.data, sheet };
    else if (first.zone !== parsed.data) {
      const message = `the zone of time.* is ${first.zone} already, in ${first.sheet.file}`;
      sheet.add('RULE_VALUE_INVALID', ['defaults', 'zone'], message, 'All files have one zone: remove one of them.');
    }
  }
  return first?.zone;
}

interface All {
  tables: Tables;
  names: Table<LoadedPolicy>;
  zone: string | undefined;
}

function readPolicies(sheet: Sheet, { tables, names, zone }: All): Placed[] {
  const { policies = [], ...written } = checkPartly(sheet, [], sheet.value, OUTER);
  const defaults =
    written.defaults === undefined ? {} : checkPartly(sheet, ['defaults'], written.defaults, defaultsSchema);
  const conditions = written.conditions === undefined ? {} : check(sheet, ['conditions'], written.conditions, named);
  const vocabulary = buildVocabulary({
    thresholds: tables.thresholds.values,
    windows: tables.windows.values,
    ...(zone === undefined ? {} : { zone }),
  });
  const around: Surroundings = {
    sheet,
    vocabulary,
    tables,
    defaults,
    zone,
    conditions: conditions ?? {},
    usedConditions: new Set(),
  };
  for (const [name, source] of Object.entries(around.conditions)) compileIn(around, ['conditions', name], source);
  const placed: Placed[] = [];
  for (const [i, raw] of policies.entries()) {
    const path = ['policies', i];
    if (isBlock(raw) && typeof raw.name === 'string') names.declare(raw.name, sheet, [...path, 'name'], 'value');
    const policy = resolvePolicy(around, path, raw);
    if (policy !== undefined) placed.push({ policy, sheet, path, vocabulary });
  }
  for (const name of Object.keys(around.conditions)) {
    if (around.usedConditions.has(name)) continue;
    const hint = 'Use it as { condition: NAME }, or remove it.';
    sheet.addAtKey('RULE_UNUSED', ['conditions', name], `the condition ${name} is used nowhere`, hint);
  }
  return placed;
}

function tellUnused({ windows, modes, thresholds }: Tables): void {
  for (const table of [windows, modes, thresholds]) {
    for (const [name, { sheet, path }] of table.declared) {
      if (table.used.has(name)) continue;
      sheet.addAtKey('RULE_UNUSED', path, `the ${table.what} ${name} is used nowhere`, 'Use it, or remove it.');
    }
  }
}
