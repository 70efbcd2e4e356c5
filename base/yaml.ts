import { isAlias, isMap, isScalar, LineCounter, type Node, parseDocument } from 'yaml';
import { z } from 'zod';
import { closest } from './closest.ts';
import type { Place, Problem } from './errors.ts';

/** Nobody mends more at a time, and each has to be looked up in the text. */
const MOST_PROBLEMS = 100;

export type Path = readonly PropertyKey[];

/** A YAML text with the place of everything in it. `value` is only meaningful where `problems` is empty. */
export interface YamlText {
  value: unknown;
  problems: Problem[];
  /** Place of the value at `path`, or of the nearest thing above it that exists. */
  at(path: Path): Place;
  /** Place of the key at the end of `path`. */
  atKey(path: Path): Place;
}

/** Reads one YAML document. Duplicate keys, unknown tags and a second document are problems like any syntax error. */
export function readYaml(text: string, file: string): YamlText {
  const counter = new LineCounter();
  const doc = parseDocument(text, { lineCounter: counter, prettyErrors: false, logLevel: 'error' });
  const place = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  const problems: Problem[] = [...doc.errors, ...doc.warnings].slice(0, MOST_PROBLEMS).map((error) => ({
    message: error.code === 'MULTIPLE_DOCS' ? 'a second document begins here; one file holds one' : told(error),
    at: place(error.pos[0]),
  }));
  let value: unknown;
  if (problems.length === 0) {
    try {
      value = doc.toJS();
    } catch (error) {
      // Aliases that are undefined, or that multiply beyond measure.
      problems.push({ message: told(error as Error), at: place(0) });
    }
  }

  /** Keys and values along `path`, as far as they exist; the last entry is the deepest. */
  function walk(path: Path): { key: Node | undefined; value: Node | undefined; depth: number } {
    let key: Node | undefined;
    let node = resolved(doc.contents);
    let depth = 0;
    for (const step of path) {
      if (isMap(node)) {
        const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(step));
        if (!pair) break;
        key = pair.key as Node;
        node = resolved(pair.value);
      } else if (node && 'items' in node && typeof step === 'number') {
        const item = (node.items as unknown[])[step];
        if (item === undefined) break;
        key = item as Node;
        node = resolved(item);
      } else break;
      depth += 1;
    }
    return { key, value: node, depth };
  }
  const resolved = (node: unknown): Node | undefined =>
    isAlias(node) ? (node.resolve(doc) as Node | undefined) : ((node ?? undefined) as Node | undefined);
  const start = (node: Node | undefined): number | undefined => node?.range?.[0];

  return {
    value,
    problems,
    at(path) {
      const found = walk(path);
      // What is missing is told at the key of the block it is missing from.
      const node = found.depth === path.length ? (found.value ?? found.key) : (found.key ?? found.value);
      return place(start(node) ?? start(found.key) ?? 0);
    },
    atKey: (path) => place(start(walk(path).key) ?? 0),
  };
}

/** What the engine says of a text that goes deeper than its stack helps nobody. */
function told({ message }: Error): string {
  return /call stack/.test(message) ? 'it is nested too deeply' : message;
}

/** Checks part of a YAML text against a schema and tells every deviation with its place. */
export function checkShape<T>(
  yaml: YamlText,
  path: Path,
  value: unknown,
  schema: z.ZodType<T>,
): { value?: T; problems: Problem[] } {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return { value: result.data, problems: [] };
  return {
    problems: result.error.issues
      .slice(0, MOST_PROBLEMS)
      .flatMap((issue) => toProblems(yaml, [...path, ...issue.path], issue, schema)),
  };
}

function toProblems(yaml: YamlText, path: Path, issue: z.core.$ZodIssue, schema: z.ZodType): Problem[] {
  const name = path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(schema, issue.path);
    return issue.keys.slice(0, MOST_PROBLEMS).map((key) => {
      const meant = closest(key, known);
      const hint = meant ? `did you mean "${meant}"?` : `known here: ${known.join(', ')}`;
      return { message: `unknown key "${name ? `${name}.` : ''}${key}", ${hint}`, at: yaml.atKey([...path, key]) };
    });
  }
  return [{ message: `${name || 'the file'} ${explain(issue)}`, at: yaml.at(path) }];
}

function explain(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return 'is missing';
    return `must be ${kindOf(issue.expected)}, not ${spell(issue.input)}`;
  }
  if (issue.code === 'invalid_value') {
    return `must be one of ${issue.values.map(String).join(', ')}, not ${spell(issue.input)}`;
  }
  return issue.message;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a block of keys',
  record: 'a block of keys',
};

/** A kind of value by the word of the schema, as people say it. */
export function kindOf(expected: string): string {
  return KINDS[expected] ?? expected;
}

/** What stands there, as far as it fits into a sentence. */
export function spell(input: unknown): string {
  if (input === null || input === undefined) return 'empty';
  if (Array.isArray(input)) return 'a list';
  if (typeof input === 'number') return String(input);
  return typeof input === 'object' ? 'a block of keys' : JSON.stringify(input);
}

function knownKeys(schema: z.ZodType, path: Path): string[] {
  let inner: unknown = schema;
  for (const step of [undefined, ...path]) {
    while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodNullable) {
      inner = inner.unwrap();
    }
    if (step === undefined) continue;
    if (inner instanceof z.ZodArray) inner = inner.element;
    else if (inner instanceof z.ZodRecord) inner = inner.valueType;
    else if (inner instanceof z.ZodObject) inner = (inner.shape as Record<PropertyKey, unknown>)[step];
  }
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodNullable) {
    inner = inner.unwrap();
  }
  return inner instanceof z.ZodObject ? Object.keys(inner.shape as object) : [];
}
