import { isBlock } from './shape.ts';

/** What a condition names, as written: for what is unused, and for what a policy must keep to be compiled again. */
export interface Mentions {
  variables: Set<string>;
  thresholds: Set<string>;
  windows: Set<string>;
  conditions: Set<string>;
}

export function noMentions(): Mentions {
  return { variables: new Set(), thresholds: new Set(), windows: new Set(), conditions: new Set() };
}

/** Adds what `source` names. Takes anything, also what is no condition. */
export function collectMentions(
  source: unknown,
  into: Mentions = noMentions(),
  seen: Set<unknown> = new Set(),
): Mentions {
  // An alias can make a block part of itself, and many small blocks of one large one.
  if (seen.has(source)) return into;
  if (typeof source === 'object' && source !== null) seen.add(source);
  if (Array.isArray(source)) for (const item of source) collectMentions(item, into, seen);
  else if (isBlock(source)) {
    for (const [operator, operands] of Object.entries(source)) {
      const first = Array.isArray(operands) ? operands[0] : operands;
      if (operator === 'var' || operator === 'known' || operator === 'age') mention(first, into);
      else if (typeof first === 'string' && operator === 'in_window') into.windows.add(first);
      else if (typeof first === 'string' && operator === 'condition') into.conditions.add(first);
      collectMentions(operands, into, seen);
    }
  }
  return into;
}

function mention(path: unknown, into: Mentions): void {
  if (typeof path !== 'string') return;
  into.variables.add(path);
  if (path.startsWith('threshold.')) into.thresholds.add(path.slice('threshold.'.length));
  if (path.startsWith('window.')) into.windows.add(path.slice('window.'.length));
}
