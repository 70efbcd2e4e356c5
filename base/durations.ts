import { baseError } from './errors.ts';

/** Largest first; the order in which the parts of one duration must stand. */
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

const PATTERN = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/;

/**
 * Milliseconds of `300ms`, `5s`, `1m`, `2h` or several units from large to small (`1m30s`); a bare `0` is zero.
 * A bare number is an error: nobody agrees on its unit.
 */
export function parseDuration(text: string): number {
  if (text === '0') return 0;
  const parts = text === '' ? null : PATTERN.exec(text);
  const total = parts
    ? UNITS.reduce((sum, [, factor], index) => sum + Number(parts[index + 1] ?? 0) * factor, 0)
    : Number.NaN;
  if (!Number.isSafeInteger(total)) {
    const hint = /^\d+(\.\d+)?$/.test(text)
      ? `Add a unit, for example ${text}s.`
      : 'Write it like 300ms, 5s, 1m30s or 2h.';
    throw baseError('DURATION_INVALID', `"${text}" is not a duration`, hint);
  }
  return total;
}

/** The shortest text that `parseDuration` reads back to the same whole milliseconds. */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.round(ms));
  if (rest === 0) return '0s';
  let text = '';
  for (const [unit, factor] of UNITS) {
    const count = Math.floor(rest / factor);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * factor;
  }
  return text;
}
