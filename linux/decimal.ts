const U64_MAX = 0xffff_ffff_ffff_ffffn;
const DIGITS = /^[0-9]{1,20}$/;

/** A token of decimal digits and nothing else, within 64 unsigned bits: ticks, nanoseconds, ids. */
export function decimalBig(token: string): bigint | undefined {
  if (!DIGITS.test(token)) return undefined;
  const value = BigInt(token);
  return value <= U64_MAX ? value : undefined;
}

/** A token of decimal digits and nothing else, as a safe integer. */
export function decimal(token: string): number | undefined {
  const value = decimalBig(token);
  return value !== undefined && value <= Number.MAX_SAFE_INTEGER ? Number(value) : undefined;
}

/** The text up to the first NUL: what is padded by a copy tool ends there. */
export function beforeNul(text: string): string {
  const nul = text.indexOf('\0');
  return nul < 0 ? text : text.slice(0, nul);
}
