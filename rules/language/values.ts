import { z } from 'zod';
import { parseDuration } from '../../base/durations.ts';
import { NightshiftError } from '../../base/errors.ts';
import type { PowerWish } from '../../model/policy.ts';
import type { RuleCode } from './codes.ts';
import { type Measure, parseQuantity } from './units.ts';
import { isZone } from './zone.ts';

/** Single values as people write them in rule files, each with its unit. What comes out is in base units. */

const DAY_MS = 86_400_000;

/** Milliseconds of `90s`, `6m`, `1h30m`. */
export function duration(description: string, examples: [string, ...string[]], limits: DurationLimits = {}) {
  const { minMs = 0, maxMs = 7 * DAY_MS } = limits;
  return z
    .string()
    .meta({ pattern: '^(0|(\\d+d)?(\\d+h)?(\\d+m)?(\\d+s)?(\\d+ms)?)$', examples })
    .transform((text, context): number => {
      const ms = durationOf(text, context);
      if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms;
      if (ms !== undefined) wrong(context, text, `is too ${ms < minMs ? 'short' : 'long'}: ${text}`);
      return z.NEVER;
    })
    .meta({ description, examples });
}

interface DurationLimits {
  minMs?: number;
  maxMs?: number;
}

/** No card takes more, and a missing `m` of `mW` must not pass. */
const MAX_WATTS = 5_000;
const MAX_MHZ = 10_000;

const POWERS = ['70%', '450W'];
const CLOCKS = ['1500MHz', '1.5GHz'];

/** `450W`, or `70%` of the card's default. */
export const power = z
  .string()
  .meta({ pattern: '^\\d+(\\.\\d+)? ?(W|kW|mW|%)$', examples: POWERS })
  .transform((text, context): PowerWish => {
    const { value, unit } = measureOf(text, context) ?? {};
    if (unit === 'watts' && value !== undefined && value > 0 && value <= MAX_WATTS) return { watts: value };
    if (unit === 'ratio' && value !== undefined && value > 0 && value <= 1) return { share: value };
    const range = unit === 'ratio' ? 'a share above 0% and up to 100%' : `a power above 0W and up to ${MAX_WATTS}W`;
    if (unit !== undefined) wrong(context, text, `must be ${range}, not ${JSON.stringify(text)}`);
    return z.NEVER;
  })
  .meta({ description: 'Power limit: watts, or a share of the card’s default.', examples: POWERS });

/** Upper limit of a clock, MHz. */
export function clock(description: string) {
  return z
    .string()
    .meta({ pattern: '^\\d+(\\.\\d+)? ?[kMG]?Hz$', examples: CLOCKS })
    .transform((text, context): number => {
      const { value, unit } = measureOf(text, context) ?? {};
      const mhz = (value ?? 0) / 1e6;
      if (unit === 'hertz' && mhz > 0 && mhz <= MAX_MHZ) return mhz;
      if (unit !== undefined) {
        wrong(context, text, `must be a clock above 0MHz and up to ${MAX_MHZ}MHz, not ${JSON.stringify(text)}`);
      }
      return z.NEVER;
    })
    .meta({ description, examples: CLOCKS });
}

const ZONES = ['Europe/Berlin', 'Asia/Shanghai', 'UTC'];

/** A zone of the tz database by name. Offsets and three-letter names do not know summer time. */
export const zone = z
  .string()
  .meta({ examples: ZONES })
  .transform((text, context): string => {
    if (/^(UTC|[A-Za-z_]+(\/[A-Za-z0-9_+-]+)+)$/.test(text) && isZone(text)) return text;
    wrong(context, text, `is no time zone by name: ${JSON.stringify(text)}`);
    return z.NEVER;
  })
  .meta({ description: 'IANA time zone.', examples: ZONES });

function measureOf(text: string, context: Issues): Measure | undefined {
  const parsed = parseQuantity(text);
  if ('value' in parsed) return parsed;
  wrong(context, text, `: ${parsed.message}`, parsed.hint);
  return undefined;
}

function durationOf(text: string, context: Issues): number | undefined {
  try {
    return parseDuration(text);
  } catch (error) {
    if (!(error instanceof NightshiftError)) throw error;
    wrong(context, text, `: ${error.message}`, error.hint);
    return undefined;
  }
}

/** A number with its unit, kept as written: its unit follows from what it is compared with. */
export const measured = z
  .union([z.string(), z.number()])
  .meta({ description: 'A value with its unit, or a number in the base unit.', examples: ['85°C', '450W', '80%'] });

export const name = (description: string, examples: [string, ...string[]]) =>
  z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,62}$/, 'use small letters, digits, - and _, beginning with a letter')
    .meta({ description, examples });

/** A name that is a part of a variable, where a minus would be hard to read. */
export const variableName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,62}$/, 'use small letters, digits and _, beginning with a letter')
  .meta({ examples: ['junction_hot'] });

/** What a transform or a refinement of zod adds its findings to. */
export interface Issues {
  issues: unknown[];
}

/** Says in a transform or refinement what is wrong, with a hint of its own. */
export function wrong(
  context: Issues,
  input: unknown,
  message: string,
  hint?: string,
  more: { rule?: RuleCode; path?: PropertyKey[]; atKey?: boolean } = {},
): void {
  const { path = [], ...params } = more;
  context.issues.push({
    code: 'custom',
    message,
    input,
    path,
    params: { ...params, ...(hint === undefined ? {} : { hint }) },
  });
}
