import { accessSync, closeSync, openSync, statSync, constants as to, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { errnoOf } from './files.ts';
import { NOT_TRIED, type WriteStep } from './protocol.ts';

const { EACCES, EINVAL, EIO, EROFS } = constants.errno;

/** Any of the three write bits. */
const WRITE_BITS = 0o222;

/**
 * Takes the steps in order and stops at the first that fails, or when `mayGoOn` says no. Per step 0, its errno, or NOT_TRIED.
 * An errno of EIO can also mean that less was taken than was given.
 */
export function takeSteps(steps: readonly WriteStep[], mayGoOn: () => boolean): number[] {
  const results: number[] = new Array(steps.length).fill(NOT_TRIED);
  for (let i = 0; i < steps.length && mayGoOn(); i++) {
    const result = takeStep(steps[i] as WriteStep);
    results[i] = result;
    if (result !== 0) break;
  }
  return results;
}

/** What a lane that may not write says. */
export function refuseSteps(steps: readonly WriteStep[]): number[] {
  return steps.map((_, i) => (i === 0 ? EROFS : NOT_TRIED));
}

/**
 * One open, one write(2), one close. Never creates a file. Truncates as a shell does, which sysfs takes no notice of and an
 * ordinary file needs. An empty text is refused unopened: pp_dpm_sclk takes an empty line for "pin to level 0".
 */
function takeStep({ file, text }: WriteStep): number {
  if (text.trim() === '') return EINVAL;
  const bytes = Buffer.from(text);
  let fd: number | undefined;
  try {
    fd = openSync(file, to.O_WRONLY | to.O_TRUNC);
    return writeSync(fd, bytes, 0, bytes.length, null) === bytes.length ? 0 : EIO;
  } catch (error) {
    return errnoOf(error);
  } finally {
    // The kernel has answered the write; close(2) of an attribute has nothing to add.
    if (fd !== undefined) closeQuietly(fd);
  }
}

function closeQuietly(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // The descriptor is gone either way.
  }
}

/**
 * 0 where the file could be opened for writing, else the errno. sysfs opens no file for writing that has no write bit, for
 * root either, which access(2) does not tell root. Source: torvalds/linux fs/kernfs/file.c, kernfs_fop_open.
 */
export function accessOf(path: string, writable: boolean): number {
  try {
    const { mode } = statSync(path);
    if (!writable) return EROFS;
    if ((mode & WRITE_BITS) === 0) return EACCES;
    accessSync(path, to.W_OK);
    return 0;
  } catch (error) {
    return errnoOf(error);
  }
}
