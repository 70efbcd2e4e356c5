import { z } from 'zod';
import { policyFile } from './schema.ts';
import { modesFile, thresholdsFile, windowsFile } from './tables.ts';
import { testFile } from './testing/schema.ts';

/** What editors complete and underline by: the same shapes that files are checked against, as JSON Schema. */

/** By file name below `rules/schema/`. */
export const FILE_SCHEMAS: Readonly<Record<string, z.ZodObject>> = {
  'policies.schema.json': policyFile,
  'windows.schema.json': windowsFile,
  'modes.schema.json': modesFile,
  'thresholds.schema.json': thresholdsFile,
  'tests.schema.json': testFile,
};

/** The text of one schema file, as committed. */
export function renderSchema(schema: z.ZodObject): string {
  return `${print(jsonSchema(schema), 0, 0)}\n`;
}

const WIDTH = 120;

/** As the formatter of this repository leaves it: lists without blocks on one line where they fit. `used`: columns before it. */
function print(value: unknown, indent: number, used: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  if (entries.length === 0) return Array.isArray(value) ? '[]' : '{}';
  const flat = Array.isArray(value) ? flatList(value) : undefined;
  // One more for the comma behind it.
  if (flat !== undefined && used + flat.length < WIDTH) return flat;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const lines = entries.map(([key, one]) => {
    const name = Array.isArray(value) ? '' : `${JSON.stringify(key)}: `;
    return `${' '.repeat(indent + 2)}${name}${print(one, indent + 2, indent + 2 + name.length)}`;
  });
  return `${open}\n${lines.join(',\n')}\n${' '.repeat(indent)}${close}`;
}

/** Undefined for a list with a block in it. */
function flatList(list: readonly unknown[]): string | undefined {
  const items = list.map((one) => {
    if (Array.isArray(one)) return flatList(one);
    return typeof one === 'object' && one !== null ? undefined : JSON.stringify(one);
  });
  return items.includes(undefined) ? undefined : `[${items.join(', ')}]`;
}

/** Of values as written, before units are converted. */
export function jsonSchema(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
}
