import type { Instant } from '../../model/instant.ts';

/** A moment as a sender wrote it: `ms` for reckoning (rounded down), `text` exact to the nanosecond, in UTC, in one spelling. */
export interface Moment {
  ms: Instant;
  text: string;
}

const FORM = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;

/**
 * Reads an RFC 3339 time as Go writes it: upper-case T and Z, up to nine decimals, any offset, no leap second. The same moment
 * always comes back as the same text, whatever its offset and trailing zeros. Undefined where it is none.
 */
export function parseRfc3339(text: string): Moment | undefined {
  const match = FORM.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as Six;
  const [fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = match.slice(7);
  if (hour > 23 || minute > 59 || second > 59 || Number(offsetHours) > 23 || Number(offsetMinutes) > 59)
    return undefined;
  const local = new Date(0);
  // Date.UTC would take the years below 100 for those of the last century.
  local.setUTCFullYear(year, month - 1, day);
  if (local.getUTCMonth() !== month - 1 || local.getUTCDate() !== day) return undefined;
  local.setUTCHours(hour, minute, second);
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -60_000 : 60_000);
  const whole = new Date(local.getTime() - offset);
  const seconds = whole.toISOString();
  if (seconds.length !== PLAIN_LENGTH) return undefined;
  const decimals = fraction.replace(/0+$/, '');
  return {
    ms: whole.getTime() + Number(decimals.slice(0, 3).padEnd(3, '0')),
    text: `${seconds.slice(0, 19)}${decimals === '' ? '' : `.${decimals}`}Z`,
  };
}

type Six = [number, number, number, number, number, number];

/** Years outside 0 to 9999, where an offset can lead, are written longer. */
const PLAIN_LENGTH = '2000-01-01T00:00:00.000Z'.length;

/** What Go writes for a time that was never set. */
export const ZERO_TIME = '0001-01-01T00:00:00Z';
