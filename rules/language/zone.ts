/** Local time in named zones, by the zone data of the runtime. Pure: what is kept here are answers that never change. */
import type { Instant } from '../../model/instant.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const DAY = 86_400_000;
/** Zones change their offset on full quarters of an hour (UTC); within one it is constant. */
const QUARTER = 15 * MINUTE;
/** Quarters remembered for each zone before the memory is begun anew. */
const REMEMBERED = 512;

/** A day of the calendar, without a zone. */
export interface CalendarDay {
  year: number;
  /** 1 … 12 */
  month: number;
  day: number;
}

/** What the clock on the wall shows. */
export interface LocalTime extends CalendarDay {
  hour: number;
  minute: number;
  /** 1 Monday … 7 Sunday */
  weekday: number;
}

interface Zone {
  format: Intl.DateTimeFormat;
  offsets: Map<number, number>;
}

const zones = new Map<string, Zone>();

/** True for a zone that this runtime knows, e.g. `Europe/Berlin` or `UTC`. Offsets (`+02:00`) are no zones: they know no DST. */
export function isZone(name: string): boolean {
  return zoneOf(name) !== undefined;
}

/**
 * Local time minus UTC at an instant, ms.
 * @throws RangeError for an unknown zone; files are checked with isZone when they are loaded
 */
export function offsetAt(name: string, instant: Instant): number {
  const zone = zoneOf(name);
  if (zone === undefined) throw new RangeError(`unknown time zone ${JSON.stringify(name)}`);
  const quarter = Math.floor(instant / QUARTER);
  let offset = zone.offsets.get(quarter);
  if (offset === undefined) {
    if (zone.offsets.size >= REMEMBERED) zone.offsets.clear();
    offset = computeOffset(zone.format, quarter * QUARTER);
    zone.offsets.set(quarter, offset);
  }
  return offset;
}

export function localTime(zone: string, instant: Instant): LocalTime {
  const local = instant + offsetAt(zone, instant);
  const date = new Date(local);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    weekday: weekdayOf(Math.floor(local / DAY)),
  };
}

/** Days since 1 January 1970 of the local date: what calendar arithmetic is done with. */
export function localDay(zone: string, instant: Instant): number {
  return Math.floor((instant + offsetAt(zone, instant)) / DAY);
}

/** 1 Monday … 7 Sunday of a day counted from 1 January 1970, a Thursday. */
export function weekdayOf(day: number): number {
  return ((((day + 3) % 7) + 7) % 7) + 1;
}

/**
 * The instant at which a zone's clocks show `minute` minutes after the midnight that begins `day`; `minute` may exceed a
 * day. In an hour that is skipped: the first instant after it. In an hour that is repeated: the first occurrence.
 */
export function instantOf(zone: string, day: number, minute: number): Instant {
  const local = day * DAY + minute * MINUTE;
  // No zone is more than 14 h from UTC, so these lie before and behind the instant looked for.
  const before = offsetAt(zone, local - DAY);
  const after = offsetAt(zone, local + DAY);
  const early = local - before;
  if (before === after || offsetAt(zone, early) === before) return early;
  const late = local - after;
  if (offsetAt(zone, late) === after) return late;
  return firstWithOffset(zone, after, Math.min(early, late) - QUARTER, Math.max(early, late) + QUARTER);
}

/** Between two instants, the first quarter at which the offset is the later one. */
function firstWithOffset(zone: string, offset: number, from: Instant, to: Instant): Instant {
  let low = Math.floor(from / QUARTER);
  let high = Math.ceil(to / QUARTER);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(zone, middle * QUARTER) === offset) high = middle;
    else low = middle;
  }
  return high * QUARTER;
}

function zoneOf(name: string): Zone | undefined {
  const known = zones.get(name);
  if (known !== undefined) return known;
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/.test(name)) return undefined;
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    const zone: Zone = { format, offsets: new Map() };
    zones.set(name, zone);
    return zone;
  } catch {
    return undefined;
  }
}

function computeOffset(format: Intl.DateTimeFormat, instant: Instant): number {
  const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return local - Math.floor(instant / SECOND) * SECOND;
}
