/** Quantities of the catalogue as variables of conditions, keyed as the table of readings keys them. */
import { editDistance } from '../../base/closest.ts';
import { ALL_QUANTITIES } from '../../model/quantities/catalogue.ts';
import type { Quantity } from '../../model/quantities/quantity.ts';
import type { Unit } from '../../model/units.ts';
import { ALIASES, KNOWN_LABELS } from './labels.ts';
import type { Found, Variable } from './variable.ts';

/** Keys that two quantities of different units share: a value under it could be either. */
const AMBIGUOUS: ReadonlyMap<string, string> = new Map([
  ['accumulation', 'It counts ticks and seconds under one name: use it in an alert, on its rate.'],
  ['throttle', 'It counts ticks and seconds under one name: alert on its rate, or use gpu.throttle_active.CAUSE.'],
]);

/** What variables of our own tell. */
const OWN: ReadonlySet<string> = new Set(['up', 'health', 'gpus']);

/** Partitioned, and of chips that do not tell whose partition it serves also told for the whole GPU. */
const WHOLE_TOO: ReadonlySet<string> = new Set(['media_engine_busy']);

export interface Family {
  key: string;
  quantity: Quantity;
  row: Variable;
}

export type Room = 'gpu' | 'partition' | 'node';

/** Quantities that conditions can use, by room. Not those that say everything in labels, nor those of single processes. */
export const FAMILIES: Readonly<Record<Room, ReadonlyMap<string, Family>>> = {
  gpu: familiesOf('gpu', (q) => q.node !== true),
  partition: familiesOf('partition', (q) => q.partitioned === true),
  node: familiesOf('node', (q) => q.node === true),
};

function familiesOf(room: string, belongs: (q: Quantity) => boolean): ReadonlyMap<string, Family> {
  const found = new Map<string, Family>();
  for (const quantity of ALL_QUANTITIES) {
    const { key, kind, labels } = quantity;
    if (!belongs(quantity) || kind === 'info' || labels.includes('pid') || OWN.has(key) || AMBIGUOUS.has(key)) continue;
    const names = room === 'gpu' && quantity.partitioned ? [...labels, 'partition'] : labels;
    const path = [room, key, ...names.map((name) => name.toUpperCase())].join('.');
    found.set(key, { key, quantity, row: { path, ...describe(quantity) } });
  }
  return found;
}

function describe({ help, unit, plausible }: Quantity): Omit<Variable, 'path'> {
  return {
    type: 'number',
    meaning: help,
    ...(isPlain(unit) ? {} : { unit }),
    ...(plausible === undefined ? {} : { plausible }),
  };
}

/** Units that are no units: a number of things, or a state as 0 or 1. */
export function isPlain(unit: Unit): boolean {
  return unit === 'none' || unit === 'count' || unit === 'state';
}

/** The quantity that a key as in `CardFacts.readings` belongs to, by its longest prefix. */
export function quantityOf(room: 'gpu' | 'node', key: string): Quantity | undefined {
  return familyOf(FAMILIES[room], key)?.quantity;
}

export function familyOf(families: ReadonlyMap<string, Family>, key: string): Family | undefined {
  for (let end = key.length; end > 0; end = key.lastIndexOf('.', end - 1)) {
    const family = families.get(key.slice(0, end));
    if (family !== undefined) return family;
  }
  return undefined;
}

/** The variable that `room.key` is; undefined where no quantity has such a key. */
export function findQuantity(path: string, room: Room, key: string): Found | undefined {
  const head = key.split('.')[0] as string;
  const reason = room === 'gpu' ? AMBIGUOUS.get(head) : undefined;
  if (reason !== undefined) return { refused: `${room}.${head} has two units`, hint: reason };
  const family = familyOf(FAMILIES[room], key);
  if (family === undefined) return undefined;
  const { row } = family;
  const parts = key === family.key ? [] : key.slice(family.key.length + 1).split('.');
  const { labels, partitioned } = family.quantity;
  const most = labels.length + (room === 'gpu' && partitioned ? 1 : 0);
  const least = WHOLE_TOO.has(family.key) ? labels.length : most;
  if (labels.length === 0 && parts.length > most) return undefined;
  // Labels that are addresses have points of their own; those that are known by name have none.
  if (KNOWN_LABELS.has(family.key) && parts.length > most)
    return { unknown: path, hint: `It ends earlier: ${row.path}.` };
  if (parts.length < least || parts.includes('')) {
    const instead = least > labels.length ? `, or use partition.${key}` : example(family);
    return { unknown: path, hint: `It goes on: ${row.path}${instead}.` };
  }
  const label = misspelt(family.key, parts[0] ?? '');
  if (label !== undefined) {
    const meant = [room, family.key, label, ...parts.slice(1)].join('.');
    return { unknown: path, hint: `Did you mean ${meant}?` };
  }
  return { variable: { ...row, path } };
}

function example({ key }: Family): string {
  const known = KNOWN_LABELS.get(key);
  return known === undefined ? '' : `, with ${known.slice(0, 6).join(', ')} …`;
}

/**
 * The label that was most likely meant. Labels are an open set, so a new one is let through; only what is one letter off a
 * known one, or a usual other name of it, is held to be a slip: it would be unknown for ever and its policy never act.
 */
function misspelt(key: string, label: string): string | undefined {
  const known = KNOWN_LABELS.get(key);
  if (known === undefined || known.includes(label)) return undefined;
  const aliases = ALIASES.get(key);
  if (aliases !== undefined && Object.hasOwn(aliases, label)) return aliases[label];
  if (unnumbered(label).length < 4 || isKnown(known, label)) return undefined;
  return known.find((one) => one.length >= 4 && editDistance(one, label.toLowerCase()) <= 1);
}

/** What stands in the place of a label that no card known here has, and what cards have; undefined where nothing is odd. */
export function unknownLabel(path: string): { label: string; known: readonly string[] } | undefined {
  const [room = '', ...rest] = path.split('.');
  if (!Object.hasOwn(FAMILIES, room)) return undefined;
  const key = rest.join('.');
  const family = familyOf(FAMILIES[room as Room], key);
  const known = family && KNOWN_LABELS.get(family.key);
  if (family === undefined || known === undefined) return undefined;
  const label = key.slice(family.key.length + 1).split('.')[0] ?? '';
  return isKnown(known, label) ? undefined : { label, known };
}

const unnumbered = (label: string): string => label.replace(/\d+$/, '');

/** Of numbered ones (`hbm0`) every number is. */
function isKnown(known: readonly string[], label: string): boolean {
  const letters = unnumbered(label);
  return known.some((one) => one === letters || unnumbered(one) === letters);
}
