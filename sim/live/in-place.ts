import { fstatSync, ftruncateSync, rmdirSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bytesOf, isText, NEWLINE, padded, SPACE } from './bytes.ts';

/** Writing over a file so that who reads it meanwhile sees the old text or the new one. */

export interface Standing {
  /** What stands there, before the blanks that fill it up. */
  content: string | Uint8Array;
  /** Bytes on disk. */
  size: number;
}

/** Puts `bytes` in place of what stands there; the size of the file afterwards. */
export function replaceText(fd: number, { content, size }: Standing, bytes: Buffer): number {
  if (bytes.length === 0 || !isText(bytes)) {
    // A table says its own length, so that an old end behind it does no harm for a moment; nothing has no length to keep.
    writeSync(fd, bytes, 0, bytes.length, 0);
    if (size > bytes.length) ftruncateSync(fd, bytes.length);
    return bytes.length;
  }
  const now = bytesOf(content);
  const grows = bytes.length > size;
  const appended = grows && size === now.length && bytes.subarray(0, now.length).equals(now);
  if (grows && !appended && size > 0) {
    const room = Buffer.alloc(bytes.length - size + 1, SPACE);
    room[room.length - 1] = NEWLINE;
    writeSync(fd, room, 0, room.length, size - 1);
  }
  const whole = padded(bytes, Math.max(size, bytes.length));
  writeSync(fd, whole, 0, whole.length, 0);
  return whole.length;
}

/** The same over what somebody else wrote, whatever its length. */
export function overwrite(fd: number, { size }: Standing, bytes: Buffer): number {
  const whole = padded(bytes, Math.max(size, bytes.length));
  writeSync(fd, whole, 0, whole.length, 0);
  if (fstatSync(fd).size > whole.length) ftruncateSync(fd, whole.length);
  return whole.length;
}

/** Removes the directory, and those above it, as far as they are empty. */
export function removeEmpty(root: string, dir: string): void {
  for (let at = dir; at.includes('/'); at = dirname(at)) {
    try {
      rmdirSync(join(root, at));
    } catch {
      return;
    }
  }
}
