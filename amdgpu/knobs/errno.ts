import { constants } from 'node:os';

/** Linux's own, not named by os.constants. */
const EREMOTEIO = 121;

/** Of names for one number, those by which drivers are read about. */
const NAMES = new Map<number, string>([
  ...Object.entries(constants.errno).map(([name, errno]): [number, string] => [errno, name]),
  [constants.errno.EOPNOTSUPP, 'EOPNOTSUPP'],
  [constants.errno.EAGAIN, 'EAGAIN'],
  [EREMOTEIO, 'EREMOTEIO'],
]);

/** `EINVAL` of 22; `errno 522` of one that has no name for programs. */
export function errnoName(errno: number): string {
  return NAMES.get(errno) ?? `errno ${errno}`;
}
