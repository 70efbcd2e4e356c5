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
  return `${JSON.stringify(jsonSchema(schema), undefined, 2)}\n`;
}

/** Of values as written, before units are converted. */
export function jsonSchema(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
}
