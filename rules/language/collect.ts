import type { z } from 'zod';
import { closest } from '../../base/closest.ts';
import type { Action, Threshold, Window, Wish } from '../../model/policy.ts';
import type { WrittenWish } from './schema.ts';
import { checkPartly, isBlock } from './shape.ts';
import type { Sheet } from './sheet.ts';
import { modesFile, thresholdsFile, windowsFile } from './tables.ts';
import { parseQuantity } from './units.ts';

/** A mode as actions carry it. */
export type Mode = Pick<Extract<Action, { kind: 'mode' }>, 'any' | 'byModel'>;

/** Where a name was given. */
export interface Declared {
  sheet: Sheet;
  path: readonly PropertyKey[];
}

/** Things of one kind by name. What was given a name but is wrong is declared all the same: its users are not to blame. */
export class Table<T> {
  readonly what: string;
  readonly values = new Map<string, T>();
  readonly declared = new Map<string, Declared>();
  readonly used = new Set<string>();

  constructor(what: string) {
    this.what = what;
  }

  /** False, and told, where the name is taken. `as` says whether the name is the key or the value at `path`. */
  declare(name: string, sheet: Sheet, path: readonly PropertyKey[], as: 'key' | 'value' = 'key'): boolean {
    const first = this.declared.get(name);
    if (first === undefined) {
      this.declared.set(name, { sheet, path });
      return true;
    }
    const where = `${first.sheet.file}:${first.sheet.lineOf(first.path)}`;
    const message = `there is a ${this.what} ${name} already, in ${where}`;
    if (as === 'key') sheet.addAtKey('RULE_NAME_TAKEN', path, message, 'Rename one of them.');
    else sheet.add('RULE_NAME_TAKEN', path, message, 'Rename one of them.');
    return false;
  }

  /** The value, if there is one; a name that nobody declared is told. */
  use(name: string, sheet: Sheet, path: readonly PropertyKey[]): T | undefined {
    this.used.add(name);
    if (this.declared.has(name)) return this.values.get(name);
    const known = [...this.declared.keys()];
    const meant = closest(name, known);
    const all = known.length === 0 ? `These files have no ${this.what} at all.` : `There are: ${known.join(', ')}.`;
    const hint = meant === undefined ? all : `Did you mean ${meant}?`;
    sheet.add('RULE_REFERENCE_UNKNOWN', path, `there is no ${this.what} ${JSON.stringify(name)}`, hint);
    return undefined;
  }
}

/** What policies of all files may refer to. */
export interface Tables {
  windows: Table<Window>;
  modes: Table<Mode>;
  thresholds: Table<Threshold>;
}

export function noTables(): Tables {
  return { windows: new Table('window'), modes: new Table('mode'), thresholds: new Table('threshold') };
}

const EVERY_DAY = [1, 2, 3, 4, 5, 6, 7];

export function collectWindows(sheet: Sheet, { windows }: Tables): void {
  for (const [name, written] of entries(sheet, windowsFile, 'windows', windows)) {
    const { zone, from, to, days = EVERY_DAY } = written;
    windows.values.set(name, { name, zone, start: from, end: to, days });
  }
}

export function collectModes(sheet: Sheet, { modes }: Tables, models: readonly string[] | undefined): void {
  for (const [name, { limits, models: byName = {} }] of entries(sheet, modesFile, 'modes', modes)) {
    const byModel: Record<string, Wish> = {};
    for (const [model, written] of Object.entries(byName)) {
      if (models !== undefined && !models.includes(model)) tellModel(sheet, name, model, models);
      byModel[model] = wishOf(written);
    }
    modes.values.set(name, { ...(limits === undefined ? {} : { any: wishOf(limits) }), byModel });
  }
}

function tellModel(sheet: Sheet, mode: string, model: string, models: readonly string[]): void {
  const meant = closest(model, models);
  const hint = meant === undefined ? `Known are ${models.join(', ')}.` : `Did you mean ${meant}?`;
  const path = ['modes', mode, 'models', model];
  sheet.addAtKey('RULE_MODEL_UNKNOWN', path, `no card known here is called ${model}`, hint);
}

export function collectThresholds(sheet: Sheet, { thresholds }: Tables): void {
  for (const [name, { value: written, description = '' }] of entries(sheet, thresholdsFile, 'thresholds', thresholds)) {
    const parsed = typeof written === 'number' ? { value: written, unit: 'none' } : parseQuantity(written);
    if ('value' in parsed) thresholds.values.set(name, { name, ...parsed, description });
    else sheet.add('RULE_VALUE_INVALID', ['thresholds', name, 'value'], parsed.message, parsed.hint);
  }
}

/** Entries of a file's one table that are right and whose names are free. */
function entries<K extends 'windows' | 'modes' | 'thresholds', T>(
  sheet: Sheet,
  schema: z.ZodObject<{ version: z.ZodType; [key: string]: z.ZodType }> & z.ZodType<Record<K, Record<string, T>>>,
  key: K,
  table: Table<unknown>,
): [string, T][] {
  const raw = isBlock(sheet.value) ? sheet.value[key] : undefined;
  const free = new Set<string>();
  for (const name of isBlock(raw) ? Object.keys(raw) : []) {
    if (table.declare(name, sheet, [key, name])) free.add(name);
  }
  const right = checkPartly(sheet, [], sheet.value, schema)[key] as Record<string, T> | undefined;
  return Object.entries(right ?? {}).filter(([name]) => free.has(name));
}

export function wishOf({ power_cap, clock_max, memory_clock_max }: WrittenWish): Wish {
  return {
    ...(power_cap === undefined ? {} : { powerCap: power_cap }),
    ...(clock_max === undefined ? {} : { clockMax: clock_max }),
    ...(memory_clock_max === undefined ? {} : { memClockMax: memory_clock_max }),
  };
}
