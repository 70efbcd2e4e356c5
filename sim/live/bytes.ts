/** Texts of files as bytes: compared, filled up with blanks, and what somebody wrote found in them. */

export const SPACE = 0x20;
export const NEWLINE = 0x0a;

export const sizeOf = (content: string | Uint8Array): number =>
  typeof content === 'string' ? Buffer.byteLength(content) : content.length;
export const bytesOf = (content: string | Uint8Array): Buffer =>
  typeof content === 'string'
    ? Buffer.from(content, 'utf8')
    : Buffer.from(content.buffer, content.byteOffset, content.length);

export function same(a: string | Uint8Array, b: string | Uint8Array): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b;
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** A line of text ends so; tables and lists that are divided by NUL do not. */
export const isText = (bytes: Buffer): boolean => bytes.at(-1) === NEWLINE;

/** The same text in `size` bytes: blanks before the last newline. */
export function padded(bytes: Buffer, size: number): Buffer {
  if (bytes.length >= size || !isText(bytes)) return bytes;
  const whole = Buffer.alloc(size, SPACE);
  bytes.copy(whole, 0, 0, bytes.length - 1);
  whole[size - 1] = NEWLINE;
  return whole;
}

/** What was written, where a writer appended it, or left the end of the old text standing behind it. */
export function writtenPart(before: Buffer, now: Buffer): Buffer {
  if (now.length > before.length && now.subarray(0, before.length).equals(before)) return now.subarray(before.length);
  if (now.length !== before.length) return now;
  let last = now.length - 1;
  while (last >= 0 && now[last] === before[last]) last -= 1;
  const newline = now.indexOf(NEWLINE, Math.max(0, last));
  return newline < 0 ? now : now.subarray(0, newline + 1);
}
