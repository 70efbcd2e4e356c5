/** Sets of numbers as intervals, for lints that compare what conditions allow. */

/** From `lo` to `hi`; an end is part of it where it is closed. */
export interface Interval {
  lo: number;
  loClosed: boolean;
  hi: number;
  hiClosed: boolean;
}

/** Disjoint, not touching, in rising order. */
export type Region = readonly Interval[];

export const EVERYTHING: Region = [
  { lo: Number.NEGATIVE_INFINITY, loClosed: false, hi: Number.POSITIVE_INFINITY, hiClosed: false },
];
export const NOTHING: Region = [];

export const above = (lo: number, loClosed: boolean): Region => [
  { lo, loClosed, hi: Number.POSITIVE_INFINITY, hiClosed: false },
];
export const below = (hi: number, hiClosed: boolean): Region => [
  { lo: Number.NEGATIVE_INFINITY, loClosed: false, hi, hiClosed },
];
export const between = (lo: number, hi: number): Region =>
  lo > hi ? NOTHING : [{ lo, loClosed: true, hi, hiClosed: true }];
export const only = (value: number): Region => between(value, value);

function isEmpty({ lo, loClosed, hi, hiClosed }: Interval): boolean {
  return lo > hi || (lo === hi && !(loClosed && hiClosed));
}

export function intersect(a: Region, b: Region): Region {
  const found: Interval[] = [];
  for (const x of a) {
    for (const y of b) {
      const one: Interval = {
        lo: Math.max(x.lo, y.lo),
        loClosed: (x.lo < y.lo || x.loClosed) && (y.lo < x.lo || y.loClosed),
        hi: Math.min(x.hi, y.hi),
        hiClosed: (x.hi > y.hi || x.hiClosed) && (y.hi > x.hi || y.hiClosed),
      };
      if (!isEmpty(one)) found.push(one);
    }
  }
  return found.sort((x, y) => x.lo - y.lo);
}

export function union(a: Region, b: Region): Region {
  const merged: Interval[] = [];
  const rising = [...a, ...b].sort((x, y) => x.lo - y.lo || Number(y.loClosed) - Number(x.loClosed));
  for (const next of rising) {
    const last = merged.at(-1);
    const joins =
      last !== undefined && (next.lo < last.hi || (next.lo === last.hi && (next.loClosed || last.hiClosed)));
    if (last === undefined || !joins) {
      merged.push({ ...next });
      continue;
    }
    if (next.hi > last.hi) Object.assign(last, { hi: next.hi, hiClosed: next.hiClosed });
    else if (next.hi === last.hi) last.hiClosed ||= next.hiClosed;
  }
  return merged;
}

export function complement(region: Region): Region {
  let rest: Region = EVERYTHING;
  for (const { lo, loClosed, hi, hiClosed } of region) {
    const outside = union(
      lo === Number.NEGATIVE_INFINITY ? NOTHING : below(lo, !loClosed),
      hi === Number.POSITIVE_INFINITY ? NOTHING : above(hi, !hiClosed),
    );
    rest = intersect(rest, outside);
  }
  return rest;
}

export const isWithin = (part: Region, whole: Region): boolean => intersect(part, complement(whole)).length === 0;

export function includes(region: Region, value: number): boolean {
  return intersect(region, only(value)).length > 0;
}

/** They share no number, but nothing lies between them: 60 and more, less than 60. */
export function touch(a: Region, b: Region): boolean {
  if (intersect(a, b).length > 0) return false;
  const ends = (region: Region): number[] => region.flatMap(({ lo, hi }) => [lo, hi]).filter(Number.isFinite);
  const others = new Set(ends(b));
  return ends(a).some((end) => others.has(end));
}
