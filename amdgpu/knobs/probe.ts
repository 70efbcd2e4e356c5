import { constants } from 'node:os';
import type { Card, Health } from '../../model/card.ts';
import type { KnobFacts, KnobName } from '../../model/claim.ts';
import { clockFloor, powerFloor } from './envelope.ts';
import {
  CAP,
  type ClockRange,
  hasMemoryLimit,
  hasRange,
  LEVEL,
  LEVELS,
  OVERDRIVE,
  type TextOf,
  watts,
} from './shown.ts';

/**
 * Why a knob cannot be set.
 *
 * | word | meaning |
 * |---|---|
 * | gone, silent, resetting, asleep | the card's state |
 * | virtual_function | a guest's share of a card: its limits belong to the host |
 * | unsupported | this chip has no such control |
 * | no_file | the driver shows no such file here |
 * | read_only | its file system is mounted read-only (a container) |
 * | denied | it has no write bit, or this user may not write it |
 * | unprobed | nobody has looked yet whether it may be written |
 * | unread | the range could not be read |
 * | fixed_range | lowest and highest are the same |
 * | no_headroom | our floor is not below the highest |
 */
export type WhyNot =
  | Exclude<Health, 'ok'>
  | 'virtual_function'
  | 'unsupported'
  | 'no_file'
  | 'read_only'
  | 'denied'
  | 'unprobed'
  | 'unread'
  | 'fixed_range'
  | 'no_headroom';

/** States of a card that pass; whether the knob can be set there is not known meanwhile. */
const PASSING: ReadonlySet<string> = new Set<WhyNot>(['gone', 'silent', 'resetting', 'asleep', 'unprobed', 'unread']);

export const isPassing = (why: string): boolean => PASSING.has(why);

/** One PCI function as far as is known now. */
export interface CardView {
  card: Card;
  health: Health;
  has(name: string): boolean;
  text: TextOf;
  /** 0 where the file may be written, else the errno; undefined where nobody has looked. */
  access(name: string): number | undefined;
  /** MHz between which the hardware can clock, as far as known; `levels` of MI100. */
  hardware: { gfx?: ClockRange; mem?: ClockRange; levels?: readonly number[] };
}

/**
 * What can be set on a card. A package of two dies (MI250, MI250X) has one power limit, which its primary die carries; its
 * clocks are each die's own, for each has its own firmware and driver instance. All partitions of a card share its knobs.
 */
export function probe(own: CardView, primary: CardView | undefined): Map<KnobName, KnobFacts> {
  const found = [
    primary === undefined ? unset('power_cap', own.card.package, 'gone') : powerFacts(primary),
    clockFacts(own, 'gfx_clock'),
    clockFacts(own, 'mem_clock'),
  ];
  return new Map(found.map((facts) => [facts.knob, facts]));
}

function unset(knob: KnobName, on: string, why: WhyNot): KnobFacts {
  return { knob, on, adjustable: false, why };
}

type Bounds = Pick<KnobFacts, 'min' | 'max' | 'default' | 'floor' | 'levels'>;

function powerFacts(view: CardView): KnobFacts {
  const max = watts(view.text(`${CAP}_max`));
  const min = watts(view.text(`${CAP}_min`));
  const standard = watts(view.text(`${CAP}_default`));
  const known = max !== undefined && max > 0;
  const floor = known ? powerFloor({ max, ...(min && { min }), ...(standard && { default: standard }) }) : undefined;
  return judged(view, 'power_cap', [CAP], {
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(standard && { default: standard }),
    ...(floor !== undefined && { floor }),
  });
}

function clockFacts(view: CardView, knob: 'gfx_clock' | 'mem_clock'): KnobFacts {
  const { family } = view.card.model;
  const isGraphics = knob === 'gfx_clock';
  const { levels } = view.hardware;
  if (isGraphics ? !hasRange(family) && family !== 'mi100' : !hasMemoryLimit(family))
    return unset(knob, view.card.pci, 'unsupported');
  const range = isGraphics ? view.hardware.gfx : view.hardware.mem;
  const bounds =
    range === undefined
      ? {}
      : { ...range, default: range.max, floor: floorOf(range, levels), ...(levels === undefined ? {} : { levels }) };
  return judged(view, knob, [family === 'mi100' ? LEVELS : OVERDRIVE, LEVEL], bounds);
}

/** Where there are levels, the lowest that is not under the floor: a limit is rounded down to a level. */
function floorOf(range: ClockRange, levels: readonly number[] | undefined): number {
  const floor = clockFloor(range);
  return levels?.find((level) => level >= floor) ?? floor;
}

function judged(view: CardView, knob: KnobName, files: readonly string[], bounds: Bounds): KnobFacts {
  const why = whyNot(view, files, bounds);
  const facts = { knob, on: view.card.pci, ...bounds };
  return why === undefined ? { ...facts, adjustable: true } : { ...facts, adjustable: false, why };
}

function whyNot(view: CardView, files: readonly string[], { min, max, floor }: Bounds): WhyNot | undefined {
  if (view.health === 'gone') return 'gone';
  if (view.card.virtual) return 'virtual_function';
  // Of a card that does not answer the files are not known either: that passes, and no_file would be for good.
  if (view.health !== 'ok') return view.health;
  if (!files.every((name) => view.has(name))) return 'no_file';
  for (const name of files) {
    const refusal = refusalOf(view.access(name));
    if (refusal !== undefined) return refusal;
  }
  if (max === undefined) return 'unread';
  if (max <= (min ?? 0)) return 'fixed_range';
  return floor !== undefined && floor < max ? undefined : 'no_headroom';
}

const { EROFS, ENOENT, ENODEV } = constants.errno;

function refusalOf(errno: number | undefined): WhyNot | undefined {
  if (errno === 0) return undefined;
  if (errno === undefined) return 'unprobed';
  if (errno === EROFS) return 'read_only';
  return errno === ENOENT || errno === ENODEV ? 'no_file' : 'denied';
}
