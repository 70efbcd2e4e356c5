import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { configurationError, environmentError } from '../base/errors.ts';
import type { FlagDef } from '../base/flags.ts';

/** Where a node's files are; every command that reads them has these. */
export const PATH_FLAGS = [
  { name: 'path.sysfs', kind: 'string', default: '/sys', help: 'where sysfs, or a captured tree of it, is' },
  {
    name: 'path.procfs',
    kind: 'string',
    help: 'where procfs, or a captured tree of it, is (default: /proc, or proc beside a --path.sysfs that is not /sys)',
  },
] as const satisfies readonly FlagDef[];

export interface GivenPaths {
  'path.sysfs': string;
  'path.procfs': string | undefined;
}

/** A captured tree has its own processes and kernel, or none: never this machine's. */
export function pathsOf(given: GivenPaths): { sysfs: string; procfs: string } {
  const sysfs = folder('path.sysfs', given['path.sysfs']);
  const procfs = given['path.procfs'];
  if (procfs !== undefined) return { sysfs, procfs: folder('path.procfs', procfs) };
  return { sysfs, procfs: sysfs === '/sys' ? '/proc' : join(sysfs, '..', 'proc') };
}

/** An existing folder that may be read, without a slash at its end; what is wrong with it is told with the flag's name. */
export function folder(flag: string, path: string): string {
  try {
    if (!statSync(path).isDirectory()) throw new Error('not a folder');
    accessSync(path, constants.R_OK | constants.X_OK);
    return path.replace(/(?<=.)\/+$/, '');
  } catch (cause) {
    throw environmentOrFlag(flag, path, cause);
  }
}

function environmentOrFlag(flag: string, path: string, cause: unknown): Error {
  const code = (cause as { code?: string }).code;
  if (code === 'EACCES') {
    return environmentError('PATH_DENIED', `--${flag}=${path}: no right to read it`, 'Give this user read access.', {
      cause,
    });
  }
  return configurationError(
    'PATH_INVALID',
    `--${flag}=${path}: ${code === 'ENOENT' ? 'no such folder' : 'not a folder'}`,
    'Name an existing folder.',
    { cause },
  );
}
