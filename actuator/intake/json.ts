import { describe } from '../../base/errors.ts';
import type { Parsed } from './refusal.ts';

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Whether lists and objects stand deeper in each other than `limit`. Reads bytes: in UTF-8 none of these is part of a longer character. */
export function isNestedDeeper(bytes: Uint8Array, limit: number): boolean {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (quoted) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      depth += 1;
      if (depth > limit) return true;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1;
  }
  return false;
}

/** Reads JSON that a stranger sent: UTF-8 to the letter, nested no deeper than `maxDepth`. Never throws. */
export function parseJson(bytes: Uint8Array, maxDepth: number): Parsed<unknown> {
  const refuse = (message: string) => ({ refusal: { pointer: '', message } });
  if (isNestedDeeper(bytes, maxDepth)) return refuse(`is nested deeper than ${maxDepth}`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refuse('is not UTF-8');
  }
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return refuse(`is not JSON: ${error instanceof SyntaxError ? error.message.slice(0, 120) : describe(error)}`);
  }
}
