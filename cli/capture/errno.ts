import { constants } from 'node:os';

const NAMES = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));

/** `EBUSY`; the number itself where this system has no name for it. */
export function errnoName(errno: number): string {
  // Linux only, and not named by os.constants.
  return errno === 121 ? 'EREMOTEIO' : (NAMES.get(errno) ?? String(errno));
}
