/** Every variable that a condition can name: its type, its unit and what it means. */

import { closest } from '../../base/closest.ts';
import { HEALTHS } from '../../model/card.ts';
import { KNOB_STATES, type KnobName } from '../../model/claim.ts';
import type { Threshold, Window } from '../../model/policy.ts';
import { UNIT_SUFFIX, type Unit } from '../../model/units.ts';
import { FAMILIES, familyOf, findQuantity, isPlain } from './quantities.ts';
import type { Found, Variable, VariableType } from './variable.ts';

export { isPlain } from './quantities.ts';
export type { Found, Variable, VariableType } from './variable.ts';

export interface Vocabulary {
  /** Looks a path up as written; nothing in a path is ever split or escaped. */
  find(path: string): Found;
  /** Rows for people, families as one. */
  readonly rows: readonly Variable[];
  readonly windows: readonly string[];
}

export interface VocabularyOptions {
  thresholds?: ReadonlyMap<string, Threshold>;
  windows?: ReadonlyMap<string, Window>;
  /** IANA zone of `time.*`; without one these are refused. */
  zone?: string;
}

/** `gpu.setting.NAME` and the knob it speaks of. */
export const SETTINGS: Readonly<Record<string, KnobName>> = {
  power_cap: 'power_cap',
  gfx_clock: 'gfx_clock',
  mem_clock: 'mem_clock',
};

/** What `gpu.setting.*` can say: `none` where nothing of ours is set. */
export const SETTING_STATES: readonly string[] = ['none', ...KNOB_STATES];

const OWN: readonly Variable[] = [
  { path: 'gpu.number', type: 'number', meaning: 'Number of the GPU, for people: it can move when cards are changed.' },
  { path: 'gpu.model', type: 'string', meaning: 'Marketing name of the GPU, such as MI300X.' },
  { path: 'gpu.health', type: 'string', values: HEALTHS, meaning: 'Whether the GPU answers.' },
  ...Object.keys(SETTINGS).map((name): Variable => {
    const meaning = `What became of our setting of ${name} on the GPU; none where nothing of ours is set.`;
    return { path: `gpu.setting.${name}`, type: 'string', values: SETTING_STATES, meaning };
  }),
  { path: 'node.name', type: 'string', meaning: 'Name of this node.' },
  { path: 'node.gpus', type: 'number', meaning: 'GPUs of this node that are not gone.' },
  { path: 'alert.name', type: 'string', meaning: 'Name of the alert that triggered the policy.' },
  { path: 'signal.value', type: 'number', meaning: 'Value of the signal that triggered the policy.' },
];

/** Families whose last part is whatever somebody else named: everything behind the prefix, dots included, is that name. */
const OPEN: readonly Variable[] = [
  {
    path: 'alert.labels.NAME',
    type: 'string',
    optional: true,
    meaning: 'Label of the alert that triggered the policy.',
  },
  { path: 'signal.state.NAME', type: 'number', optional: true, meaning: 'State that the signal carries.' },
];

const TIMES: readonly Variable[] = [
  { path: 'time.hour', type: 'number', plausible: [0, 23], meaning: 'Hour of the local day, 0 to 23.' },
  { path: 'time.minute', type: 'number', plausible: [0, 59], meaning: 'Minute of the local hour.' },
  { path: 'time.weekday', type: 'number', plausible: [1, 7], meaning: 'Day of the local week, 1 Monday to 7 Sunday.' },
  { path: 'time.day_of_month', type: 'number', plausible: [1, 31], meaning: 'Day of the local month.' },
];

const LATER: Readonly<Record<string, string>> = {
  workload: 'This version does not look at workloads: decide by gpu.* or by labels of the alert.',
  inference: 'This version does not read inference servers: alert on their metrics and use that alert as trigger.',
};

/** Makes the vocabulary of one set of rule files. */
export function buildVocabulary(options: VocabularyOptions = {}): Vocabulary {
  const exact = new Map(OWN.map((variable) => [variable.path, variable]));
  for (const { name, value, unit, description } of options.thresholds?.values() ?? []) {
    const known = Object.hasOwn(UNIT_SUFFIX, unit) && !isPlain(unit as Unit);
    const meaning = description || 'Threshold of thresholds.yaml.';
    const path = `threshold.${name}`;
    exact.set(path, { path, type: 'number', meaning, constant: value, ...(known ? { unit: unit as Unit } : {}) });
  }
  for (const { name } of options.windows?.values() ?? []) {
    const path = `window.${name}`;
    exact.set(path, { path, type: 'boolean', meaning: `Whether it is within the window ${name}.` });
  }
  if (options.zone !== undefined) for (const variable of TIMES) exact.set(variable.path, variable);
  const families = Object.values(FAMILIES).flatMap((map) => [...map.values()].map(({ row }) => row));
  return {
    find: (path) => find(path, exact, options.zone !== undefined),
    rows: [...exact.values(), ...OPEN, ...families],
    windows: [...(options.windows?.keys() ?? [])],
  };
}

/** Rows for a reference page: path, type, unit, meaning. */
export function describeVariables(
  vocabulary: Vocabulary,
): { path: string; type: VariableType; unit: string; meaning: string }[] {
  return vocabulary.rows.map(({ path, type, unit, meaning }) => ({ path, type, unit: unit ?? '', meaning }));
}

function find(path: string, exact: ReadonlyMap<string, Variable>, hasZone: boolean): Found {
  const variable = exact.get(path);
  if (variable !== undefined) return { variable };
  const dot = path.indexOf('.');
  const room = dot < 0 ? path : path.slice(0, dot);
  const rest = dot < 0 ? '' : path.slice(dot + 1);
  const later = Object.hasOwn(LATER, room) ? LATER[room] : undefined;
  if (later !== undefined) return { refused: `${room}.* is not in this version`, hint: later };
  if (room === 'time' && !hasZone) {
    return { refused: 'time.* has no zone', hint: 'Name one: defaults: { zone: Europe/Berlin }.' };
  }
  for (const open of OPEN) {
    const prefix = open.path.slice(0, -'NAME'.length);
    if (path.startsWith(prefix) && path.length > prefix.length) return named(path, prefix, open);
  }
  if (room === 'gpu' || room === 'partition' || room === 'node') {
    const found = findQuantity(path, room, rest);
    if (found !== undefined) return found;
  }
  return { unknown: path, hint: hintFor(path, exact) };
}

function named(path: string, prefix: string, open: Variable): Found {
  if (path.includes('\\')) {
    const plain = path.replaceAll('\\', '');
    return { unknown: path, hint: `Dots are not escaped, all behind ${prefix} is the name: ${plain}.` };
  }
  return { variable: { ...open, path } };
}

function hintFor(path: string, exact: ReadonlyMap<string, Variable>): string {
  const dot = path.indexOf('.');
  const room = path.slice(0, Math.max(0, dot));
  if (Object.hasOwn(FAMILIES, room)) {
    const families = FAMILIES[room as keyof typeof FAMILIES];
    const own = [...exact.keys()].filter((name) => name.startsWith(`${room}.`)).map((name) => name.slice(dot + 1));
    const key = path.slice(dot + 1);
    const meant = closest(key, [...own, ...families.keys()]) ?? closest(key.split('.')[0] ?? '', families.keys());
    if (meant !== undefined) {
      const family = families.get(meant);
      const tail = family && family.quantity.labels.length > 0 ? key.split('.').slice(1) : [];
      return `Did you mean ${tail.length > 0 ? [room, meant, ...tail].join('.') : (family?.row.path ?? `${room}.${meant}`)}?`;
    }
  }
  const unroomed = FAMILIES.gpu.get(path) ?? familyOf(FAMILIES.gpu, path);
  if (unroomed !== undefined) return `Did you mean gpu.${path}?`;
  const meant = closest(path, exact.keys());
  if (meant !== undefined) return `Did you mean ${meant}?`;
  return 'docs/policies.md lists all variables.';
}
