import type { z } from 'zod';

/** Why a body was not taken: what is wrong, and where, as a JSON pointer (RFC 6901) into it. */
export interface Refusal {
  pointer: string;
  message: string;
}

export type Parsed<T> = { value: T } | { refusal: Refusal };

export function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** The value, or the first thing that is wrong with it. */
export function checked<T>(schema: z.ZodType<T>, input: unknown): Parsed<T> {
  const result = schema.safeParse(input);
  if (result.success) return { value: result.data };
  const [issue] = result.error.issues;
  return { refusal: { pointer: pointerOf(issue?.path ?? []), message: issue?.message ?? 'is not valid' } };
}
