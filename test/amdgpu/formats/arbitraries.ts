import fc from 'fast-check';

/** Any bytes a file may hold, read as latin1: control characters and NUL included. */
export const bytes = fc.uint8Array({ maxLength: 200 }).map((data) => Buffer.from(data).toString('latin1'));

/**
 * Text that is nearly right: pieces of the real format in any order, between white space, NULs, numbers and noise. Parsers
 * accept some of it, which is where a wrong reading would come from.
 */
export function nearly(...pieces: string[]): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...pieces) },
    { weight: 2, arbitrary: fc.constantFrom(' ', '\n', '\t', '\0', '*', ':', '-', ',', 'x', '.', '\r\n') },
    { weight: 2, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 65n }).map(String) },
    { weight: 1, arbitrary: bytes },
  );
  return fc.oneof(
    fc.array(piece, { maxLength: 40 }).map((parts) => parts.join('')),
    bytes,
    fc.string({ unit: 'binary' }),
  );
}

/** What a copy with a page-sized buffer leaves behind a text: nothing, or NULs and whatever was in the buffer. */
export const padding = fc.oneof(
  fc.constant(''),
  fc.integer({ min: 1, max: 300 }).map((count) => '\0'.repeat(count)),
  bytes.map((rest) => `\0${rest}`),
);

/** Every run of decimal digits in a text, leading zeros gone: no parser may answer a number that is not among them. */
export function numbersIn(text: string): Set<string> {
  return new Set((text.match(/\d+/g) ?? []).map((digits) => String(BigInt(digits))));
}

/** Any unsigned 64-bit value, with those around 2^53 and 2^64 often. */
export const u64 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.constantFrom(0n, 2n ** 53n - 1n, 2n ** 53n + 1n, 2n ** 64n - 1n),
);
