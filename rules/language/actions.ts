import type { Action, Rung, TriggerPattern } from '../../model/policy.ts';
import { TRIGGER_SOURCES } from '../../model/trigger.ts';
import { type Tables, wishOf } from './collect.ts';
import { action as actionSchema, type WrittenAction } from './schema.ts';
import { isBlock } from './shape.ts';
import type { Sheet } from './sheet.ts';
import { exampleHint, nameOf, parseQuantity } from './units.ts';
import { isPlain, type Variable, type Vocabulary } from './vocabulary.ts';

/** Entries of `on` and `do`, with what they refer to. */

export type Path = readonly (string | number)[];

interface Near {
  sheet: Sheet;
  vocabulary: Vocabulary;
  tables: Tables;
}

/** The patterns of one entry of `on`; none where its shape was told to be wrong. */
export function patternsOf({ sheet, tables }: Near, path: Path, raw: unknown): TriggerPattern[] {
  if (!isBlock(raw)) return [];
  const source = TRIGGER_SOURCES.find((one) => Object.hasOwn(raw, one));
  const name = source === undefined ? undefined : raw[source];
  if (source === undefined || typeof name !== 'string') return [];
  if (source === 'schedule') tables.windows.use(name, sheet, [...path, 'schedule']);
  return [{ source, name, ...(isBlock(raw.labels) ? { labels: raw.labels as Record<string, string> } : {}) }];
}

/** Of an action whose shape was told to be wrong only what it refers to is looked at. */
export function actionOf(around: Near, path: Path, raw: unknown): Action | undefined {
  const { sheet, tables } = around;
  if (!isBlock(raw)) return undefined;
  const named = typeof raw.mode === 'string' ? tables.modes.use(raw.mode, sheet, [...path, 'mode']) : undefined;
  const parsed = actionSchema.safeParse(raw);
  if (!parsed.success) return undefined;
  const { throttle, mode, ladder, notify } = parsed.data;
  if (throttle !== undefined) return { kind: 'throttle', ...wishOf(throttle) };
  if (mode !== undefined) return named && { kind: 'mode', mode, ...named };
  if (ladder !== undefined) return ladderOf(around, [...path, 'ladder'], ladder);
  return { kind: 'notify', text: notify ?? '' };
}

type WrittenLadder = NonNullable<WrittenAction['ladder']>;

function ladderOf({ sheet, vocabulary }: Near, path: Path, written: WrittenLadder): Action | undefined {
  const found = vocabulary.find(written.on);
  if (!('variable' in found)) {
    const what = 'refused' in found ? found.refused : `there is no variable ${JSON.stringify(written.on)}`;
    sheet.add('RULE_REFERENCE_UNKNOWN', [...path, 'on'], what, found.hint);
    return undefined;
  }
  const { variable } = found;
  if (variable.type !== 'number') {
    const hint = 'Climb on a number, such as gpu.temperature.junction.';
    sheet.add('RULE_VALUE_INVALID', [...path, 'on'], `${written.on} is no number: it has no rungs`, hint);
    return undefined;
  }
  const hysteresis = inUnit(sheet, [...path, 'hysteresis'], written.hysteresis, variable);
  if (hysteresis !== undefined && hysteresis <= 0) {
    const hint = 'Without a gap a value at the edge of a rung moves the card up and down.';
    sheet.add('RULE_VALUE_INVALID', [...path, 'hysteresis'], 'the hysteresis must be above 0', hint);
  }
  const rungs = written.rungs.map((rung, i): Rung => {
    const at = inUnit(sheet, [...path, 'rungs', i, 'at'], rung.at, variable) ?? Number.NaN;
    return { at, ...wishOf(rung) };
  });
  checkOrder(sheet, [...path, 'rungs'], rungs);
  return { kind: 'ladder', variable: written.on, rungs, hysteresis: hysteresis ?? 0 };
}

/** A higher rung is for a worse case: it must hold all that the one below it holds, and as low. */
function checkOrder(sheet: Sheet, path: Path, rungs: readonly Rung[]): void {
  for (const [i, rung] of rungs.entries()) {
    const lower = rungs[i - 1];
    if (lower === undefined) continue;
    const at = [...path, i];
    if (rung.at <= lower.at) {
      const hint = 'List the rungs from the lowest to the highest.';
      sheet.add('RULE_LADDER_DISORDER', [...at, 'at'], 'this rung is not above the one before it', hint);
    }
    for (const [key, knob] of KNOB_KEYS) {
      const [here, below] = [amountOf(rung[knob]), amountOf(lower[knob])];
      if (below === undefined) continue;
      if (here === undefined) {
        sheet.add('RULE_LADDER_DISORDER', at, `this rung lifts the ${key} of the one before it`, `Repeat ${key} here.`);
      } else if (here.unit === below.unit && here.value > below.value) {
        const hint = 'The higher the rung, the lower the limit.';
        sheet.add('RULE_LADDER_DISORDER', [...at, key], `this rung limits ${key} less than the one before it`, hint);
      }
    }
  }
}

const KNOB_KEYS = [
  ['power_cap', 'powerCap'],
  ['clock_max', 'clockMax'],
  ['memory_clock_max', 'memClockMax'],
] as const;

function amountOf(wish: Rung['powerCap'] | number | undefined): { value: number; unit: string } | undefined {
  if (wish === undefined) return undefined;
  if (typeof wish === 'number') return { value: wish, unit: 'MHz' };
  return 'watts' in wish ? { value: wish.watts, unit: 'W' } : { value: wish.share, unit: 'share' };
}

/** A value as written, in the unit of a variable. */
function inUnit(
  sheet: Sheet,
  path: Path,
  written: string | number,
  { path: variable, unit }: Variable,
): number | undefined {
  if (typeof written === 'number') {
    if (unit === undefined || isPlain(unit)) return written;
    sheet.add(
      'RULE_VALUE_INVALID',
      path,
      `${written} has no unit, and ${variable} is in ${nameOf(unit)}`,
      exampleHint(unit),
    );
    return undefined;
  }
  const parsed = parseQuantity(written);
  if (!('value' in parsed)) {
    sheet.add('RULE_VALUE_INVALID', path, parsed.message, parsed.hint);
    return undefined;
  }
  if (parsed.unit === unit) return parsed.value;
  const own = unit === undefined || isPlain(unit) ? 'no unit' : nameOf(unit);
  const message = `${JSON.stringify(written)} is in ${nameOf(parsed.unit)}, and ${variable} in ${own}`;
  sheet.add('RULE_VALUE_INVALID', path, message, exampleHint(unit));
  return undefined;
}
