/** What a variable of conditions is. */
import type { Unit } from '../../model/units.ts';

export type VariableType = 'number' | 'string' | 'boolean';

/** One variable, or, where `path` ends in words of capitals, a family of them (`gpu.temperature.SENSOR`). */
export interface Variable {
  path: string;
  type: VariableType;
  /** Base unit; absent for plain numbers, texts and truths. */
  unit?: Unit;
  meaning: string;
  /** All values that a text can have, where they are known. */
  values?: readonly string[];
  /** What the quantity can be, inclusive, in its unit. */
  plausible?: readonly [number, number];
  /** Fixed when the files are loaded: a threshold. */
  constant?: number;
  /** May be left out by whoever sends the trigger, so that a condition may give a default. */
  optional?: boolean;
}

/** What a path leads to. */
export type Found = { variable: Variable } | { unknown: string; hint: string } | { refused: string; hint: string };
