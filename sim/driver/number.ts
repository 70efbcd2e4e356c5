/** Numbers as the kernel's kstrto* functions take them. */

const LARGEST = 2 ** 63;

/** Decimal only: `250`, `+250`, one newline behind it. No sign below zero, no space. Undefined where it is no such number. */
export function unsigned(text: string): number | undefined {
  return /^\+?\d+\n?$/.test(text) ? within(Number(text)) : undefined;
}

/** Also `-1`, `0x1f` and octal `017`. */
export function integer(text: string): number | undefined {
  const [, sign, digits] = /^([+-]?)(0[xX][\da-fA-F]+|0[0-7]*|[1-9]\d*)\n?$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const value = within(Number(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits));
  // Adding 0 turns -0 into 0.
  return value === undefined ? undefined : (sign === '-' ? -value : value) + 0;
}

function within(value: number): number | undefined {
  return value < LARGEST ? value : undefined;
}

/** Integers between spaces and newlines; undefined where one word is none. */
export function integers(text: string): number[] | undefined {
  const values = text
    .split(/[ \n]+/)
    .filter((word) => word !== '')
    .map(integer);
  return values.every((value) => value !== undefined) ? values : undefined;
}

/** The value with the newline of `echo` taken off. */
export const line = (text: string): string => text.replace(/\n$/, '');
