import { above, below, between, complement, EVERYTHING, intersect, only, type Region, union } from './intervals.ts';
import { isBlock } from './shape.ts';
import { parseQuantity } from './units.ts';
import type { Vocabulary } from './vocabulary.ts';

/** What a condition allows of each of its numbers. */
export interface Allowed {
  /** Where the condition is true, each variable lies in its region; one that is not here may be anything. */
  possible: ReadonlyMap<string, Region>;
  /** The condition says this of one variable and nothing else. */
  exact?: { variable: string; region: Region };
  /** It is always this. */
  constant?: boolean;
}

const ANYTHING: Allowed = { possible: new Map() };

/** Reads what `source`, named conditions put in, allows. What it cannot read it takes to allow anything. */
export function allowedBy(source: unknown, vocabulary: Vocabulary): Allowed {
  if (typeof source === 'boolean') return { possible: new Map(), constant: source };
  if (!isBlock(source)) return ANYTHING;
  const [[operator, raw] = ['', undefined], ...more] = Object.entries(source);
  if (more.length > 0) return ANYTHING;
  const operands: readonly unknown[] = Array.isArray(raw) ? raw : [raw];
  const parts = (): Allowed[] => operands.map((one) => allowedBy(one, vocabulary));
  switch (operator) {
    case 'and':
      return parts().reduce(both, { possible: new Map(), constant: true });
    case 'or':
      return parts().reduce(either, { possible: new Map(), constant: false });
    case '!':
      return not(allowedBy(operands[0], vocabulary));
    case '!!':
      return allowedBy(operands[0], vocabulary);
    default:
      return comparison(operator, operands, vocabulary);
  }
}

function both(a: Allowed, b: Allowed): Allowed {
  if (a.constant === true) return b;
  if (b.constant === true) return a;
  if (a.constant === false || b.constant === false) return { possible: new Map(), constant: false };
  const possible = new Map(a.possible);
  for (const [variable, region] of b.possible) {
    possible.set(variable, intersect(possible.get(variable) ?? EVERYTHING, region));
  }
  return { possible, ...together(a, b, intersect) };
}

function either(a: Allowed, b: Allowed): Allowed {
  if (a.constant === false) return b;
  if (b.constant === false) return a;
  if (a.constant === true || b.constant === true) return { possible: new Map(), constant: true };
  const possible = new Map<string, Region>();
  for (const [variable, region] of a.possible) {
    const other = b.possible.get(variable);
    if (other !== undefined) possible.set(variable, union(region, other));
  }
  return { possible, ...together(a, b, union) };
}

function together(a: Allowed, b: Allowed, join: (x: Region, y: Region) => Region): Pick<Allowed, 'exact'> {
  if (a.exact === undefined || b.exact === undefined || a.exact.variable !== b.exact.variable) return {};
  return { exact: { variable: a.exact.variable, region: join(a.exact.region, b.exact.region) } };
}

function not({ exact, constant }: Allowed): Allowed {
  if (constant !== undefined) return { possible: new Map(), constant: !constant };
  return exact === undefined ? ANYTHING : exactly(exact.variable, complement(exact.region));
}

function exactly(variable: string, region: Region): Allowed {
  return { possible: new Map([[variable, region]]), exact: { variable, region } };
}

/** With the variable on the left: what `x OP limit` allows. */
const REGIONS: Readonly<Record<string, (limit: number) => Region>> = {
  '<': (limit) => below(limit, false),
  '<=': (limit) => below(limit, true),
  '>': (limit) => above(limit, false),
  '>=': (limit) => above(limit, true),
  '==': only,
  '===': only,
  '!=': (limit) => complement(only(limit)),
  '!==': (limit) => complement(only(limit)),
};
const MIRRORED: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' };

function comparison(operator: string, operands: readonly unknown[], vocabulary: Vocabulary): Allowed {
  const names = operands.map(variableOf);
  const at = names.findIndex((name) => name !== undefined && !name.startsWith('threshold.'));
  const variable = names[at];
  if (variable === undefined) return ANYTHING;
  const limits = operands.map((one, i) => (i === at ? Number.NaN : constantOf(one, variable, vocabulary)));
  const [first, second, third] = limits as [number, number, number | undefined];
  if (limits.some((limit, i) => i !== at && !Number.isFinite(limit))) return ANYTHING;
  if (operator === 'between' && at === 0 && third !== undefined) return exactly(variable, between(second, third));
  const region = REGIONS[operator];
  if (region === undefined) return ANYTHING;
  const mirrored = REGIONS[MIRRORED[operator] ?? operator] as (limit: number) => Region;
  if (operands.length === 2) return exactly(variable, at === 0 ? region(second) : mirrored(first));
  // low < x < high
  if (operands.length === 3 && at === 1 && third !== undefined)
    return exactly(variable, intersect(mirrored(first), region(third)));
  return ANYTHING;
}

/** A variable without default: with one, a missing value makes the comparison as well. */
function variableOf(operand: unknown): string | undefined {
  if (!isBlock(operand) || !Object.hasOwn(operand, 'var')) return undefined;
  const named = operand.var;
  if (typeof named === 'string') return named;
  return Array.isArray(named) && named.length === 1 && typeof named[0] === 'string' ? named[0] : undefined;
}

/** A constant in the unit of the variable that it stands beside; NaN for what is none. */
function constantOf(operand: unknown, variable: string, vocabulary: Vocabulary): number {
  if (typeof operand === 'number') return operand;
  const threshold = variableOf(operand);
  if (threshold !== undefined) {
    const found = vocabulary.find(threshold);
    return 'variable' in found ? (found.variable.constant ?? Number.NaN) : Number.NaN;
  }
  const found = vocabulary.find(variable);
  if (typeof operand !== 'string' || !('variable' in found)) return Number.NaN;
  const parsed = parseQuantity(operand);
  return 'value' in parsed && parsed.unit === found.variable.unit ? parsed.value : Number.NaN;
}

/** Where a condition can be true for values that a card can have; the variable whose region is empty, where it cannot. */
export function impossibility({ possible, constant }: Allowed, vocabulary: Vocabulary): string | undefined {
  if (constant === false) return 'false';
  for (const [variable, region] of possible) {
    const found = vocabulary.find(variable);
    const range = 'variable' in found ? found.variable.plausible : undefined;
    const can = range === undefined ? region : intersect(region, between(range[0], range[1]));
    if (can.length === 0) return variable;
  }
  return undefined;
}
