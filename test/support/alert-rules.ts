import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** The folder `alerts/` of the repository, with a slash at its end. */
export const ALERTS: string = fileURLToPath(new URL('../../alerts/', import.meta.url));

export interface Rule {
  alert?: string;
  record?: string;
  expr: string;
  for?: string;
  keep_firing_for?: string;
  labels?: Readonly<Record<string, string>>;
  annotations?: Readonly<Record<string, string>>;
}

export interface AlertRule extends Rule {
  alert: string;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
}

export function shippedRules(): Rule[] {
  const text = readFileSync(`${ALERTS}nightshift.rules.yaml`, 'utf8');
  const { groups } = parse(text) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export const isAlert = (rule: Rule): rule is AlertRule => rule.alert !== undefined;

/** A metric as an expression asks for it, with the labels that it wants to be equal to something. */
export interface Selector {
  name: string;
  equal: Readonly<Record<string, string>>;
}

/** Words of PromQL after which a list of label names stands. */
const LABEL_LIST = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g;
const KEYWORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan', 'group_left', 'group_right']);

/** What an expression selects: names that are no keyword and are not called. Enough for our own rules; not a parser. */
export function selectorsOf(expression: string): Selector[] {
  const plain = expression.replace(LABEL_LIST, ' ');
  const found: Selector[] = [];
  for (let rest = plain; rest !== ''; ) {
    const string = /^"(?:[^"\\]|\\.)*"/.exec(rest);
    const word = /^[a-zA-Z_:][\w:]*/.exec(rest);
    const number = /^[\d.]+[a-z]*/.exec(rest);
    const taken = string ?? number ?? word;
    if (taken === null) {
      rest = rest.slice(1);
      continue;
    }
    rest = rest.slice(taken[0].length);
    if (taken !== word || KEYWORDS.has(word[0].toLowerCase()) || /^\s*\(/.test(rest)) continue;
    const matchers = /^\s*\{([^}]*)\}/.exec(rest);
    if (matchers !== null) rest = rest.slice(matchers[0].length);
    const equal = [...(matchers?.[1] ?? '').matchAll(/(\w+)\s*=\s*"([^"]*)"/g)];
    found.push({ name: word[0], equal: Object.fromEntries(equal.map(([, label, value]) => [label, value])) });
  }
  return found;
}
