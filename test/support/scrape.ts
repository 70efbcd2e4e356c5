/**
 * A strict reader of the Prometheus text format 0.0.4, for tests. It takes what the format allows and refuses what Prometheus
 * itself lets pass: a series without TYPE, a series told twice, a family in two places.
 */

export const FAMILY_TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped'] as const;
export type FamilyType = (typeof FAMILY_TYPES)[number];

export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  /** As written: a golden is compared by bytes, and a 64-bit counter does not fit a number. */
  value: string;
  /** Milliseconds since the epoch as written, where one stands. */
  timestamp?: string;
}

export interface Family {
  type: FamilyType;
  /** Unescaped; undefined where there is no HELP line, '' where it is empty. */
  help: string | undefined;
  samples: Sample[];
}

/** What is wrong and in which line, counted from 1. */
export class ScrapeError extends Error {
  readonly line: number;
  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
    this.name = 'ScrapeError';
    this.line = line;
  }
}

const METRIC_NAME = /[a-zA-Z_:][a-zA-Z0-9_:]*/y;
const LABEL_NAME = /[a-zA-Z_][a-zA-Z0-9_]*/y;
const BLANKS = /[ \t]*/y;
/** A float as Go's ParseFloat takes it in decimal, and the three that are none. */
const VALUE = /[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[Ii]nf)|[Nn]a[Nn]/y;
const TIMESTAMP = /-?\d+/y;

/** Families in the order of the text. Throws ScrapeError at the first line that is malformed. */
export function parseScrape(exposition: string): Map<string, Family> {
  const reader = new ScrapeReader();
  if (exposition !== '' && !exposition.endsWith('\n')) {
    throw new ScrapeError(exposition.split('\n').length, 'the last line does not end with a line feed');
  }
  exposition
    .split('\n')
    .slice(0, -1)
    .forEach((line, index) => {
      reader.take(line, index + 1);
    });
  return reader.finish();
}

/** A family being read; its TYPE may still come as long as no sample has. */
interface Open {
  name: string;
  line: number;
  help?: string;
  type?: FamilyType;
  samples: Sample[];
}

class ScrapeReader {
  readonly #families = new Map<string, Family>();
  readonly #series = new Set<string>();
  #open: Open | undefined;

  take(line: string, number: number): void {
    const cursor = new Cursor(line, number);
    cursor.skipBlanks();
    if (cursor.atEnd()) return;
    if (!cursor.literal('#')) this.#sample(cursor);
    else this.#comment(cursor);
  }

  finish(): Map<string, Family> {
    this.#close();
    return this.#families;
  }

  #comment(cursor: Cursor): void {
    cursor.skipBlanks();
    const keyword = /(?:HELP|TYPE)(?=[ \t]|$)/y;
    const found = cursor.match(keyword);
    if (found === undefined) return; // any other comment
    cursor.needBlanks(`after ${found}`);
    const name = cursor.need(METRIC_NAME, 'a metric name');
    const family = this.#family(name, cursor);
    if (found === 'HELP') this.#help(family, cursor);
    else this.#type(family, cursor);
  }

  #help(family: Open, cursor: Cursor): void {
    if (family.help !== undefined) throw cursor.error(`second HELP of ${family.name}`);
    if (!cursor.atEnd()) cursor.needBlanks(`after the name ${family.name}`);
    family.help = unescaped(cursor.rest(), { '\\': '\\', n: '\n' }, cursor);
  }

  #type(family: Open, cursor: Cursor): void {
    if (family.type !== undefined) throw cursor.error(`second TYPE of ${family.name}`);
    cursor.needBlanks(`after the name ${family.name}`);
    const word = cursor.rest().trim();
    const type = FAMILY_TYPES.find((known) => known === word);
    if (type === undefined) throw cursor.error(`unknown type ${JSON.stringify(word)} of ${family.name}`);
    family.type = type;
  }

  #sample(cursor: Cursor): void {
    const name = cursor.need(METRIC_NAME, 'a metric name');
    const family = this.#open;
    if (!family?.type) throw cursor.error(`${name} has no TYPE before it`);
    const suffixes = SUFFIXES[family.type];
    if (!suffixes.some((suffix) => name === family.name + suffix)) {
      throw cursor.error(`${name} has no TYPE before it: it stands in the family ${family.name} (${family.type})`);
    }
    cursor.skipBlanks();
    const labels = cursor.literal('{') ? readLabels(cursor) : {};
    needOwnLabel(family, name, labels, cursor);
    const series = JSON.stringify([name, ...Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))]);
    if (this.#series.has(series)) throw cursor.error(`the series ${name}${JSON.stringify(labels)} was there before`);
    this.#series.add(series);
    family.samples.push({ name, labels, ...readValue(cursor) });
  }

  /** The open family of that name, or a new one; a family that was closed must not come back. */
  #family(name: string, cursor: Cursor): Open {
    if (this.#open?.name === name) {
      if (this.#open.samples.length > 0) throw cursor.error(`HELP or TYPE of ${name} after its first sample`);
      return this.#open;
    }
    this.#close();
    if (this.#families.has(name)) throw cursor.error(`the family ${name} stands in two places`);
    this.#open = { name, line: cursor.line, samples: [] };
    return this.#open;
  }

  #close(): void {
    if (!this.#open) return;
    const { name, line, type, help, samples } = this.#open;
    if (type === undefined) throw new ScrapeError(line, `${name} has a HELP and no TYPE`);
    this.#families.set(name, { type, help, samples });
    this.#open = undefined;
  }
}

const SUFFIXES: Record<FamilyType, readonly string[]> = {
  counter: [''],
  gauge: [''],
  untyped: [''],
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['', '_sum', '_count'],
};

/** `le` and `quantile` belong to the format: a bucket or a quantile without its own is none. */
function needOwnLabel(family: Open, name: string, labels: Record<string, string>, cursor: Cursor): void {
  const bound = family.type === 'histogram' && name.endsWith('_bucket') ? 'le' : undefined;
  const quantile = family.type === 'summary' && name === family.name ? 'quantile' : undefined;
  const own = bound ?? quantile;
  if (own !== undefined && !(own in labels)) throw cursor.error(`${name} has no label ${own}`);
}

function readLabels(cursor: Cursor): Record<string, string> {
  const labels = new Map<string, string>();
  for (;;) {
    cursor.skipBlanks();
    if (cursor.literal('}')) break;
    const name = cursor.need(LABEL_NAME, 'a label name or }');
    if (labels.has(name)) throw cursor.error(`the label ${name} stands twice`);
    cursor.skipBlanks();
    if (!cursor.literal('=')) throw cursor.error(`no = after the label ${name}`);
    cursor.skipBlanks();
    if (!cursor.literal('"')) throw cursor.error(`the value of ${name} is not quoted`);
    const quoted = cursor.need(/(?:[^"\\]|\\.)*/y, 'a label value');
    if (!cursor.literal('"')) throw cursor.error(`the value of ${name} does not end`);
    labels.set(name, unescaped(quoted, { '\\': '\\', '"': '"', n: '\n' }, cursor));
    cursor.skipBlanks();
    if (cursor.literal(',')) continue; // one after the last label is allowed
    if (cursor.literal('}')) break;
    throw cursor.error(`neither , nor } after the label ${name}`);
  }
  return Object.fromEntries(labels);
}

function readValue(cursor: Cursor): { value: string; timestamp?: string } {
  cursor.skipBlanks();
  const value = cursor.need(VALUE, 'a number, NaN, +Inf or -Inf');
  if (!cursor.atEnd()) cursor.needBlanks(`after the value ${value}`);
  if (cursor.atEnd()) return { value };
  const timestamp = cursor.need(TIMESTAMP, 'a timestamp in milliseconds');
  cursor.skipBlanks();
  if (!cursor.atEnd()) throw cursor.error(`something after the timestamp: ${JSON.stringify(cursor.rest())}`);
  return { value, timestamp };
}

function unescaped(escaped: string, known: Record<string, string>, cursor: Cursor): string {
  return escaped.replace(/\\(.?)/gs, (whole, character: string) => {
    const meant = known[character];
    if (meant === undefined) throw cursor.error(`bad escape ${whole}`);
    return meant;
  });
}

/** One line and how far it is read. */
class Cursor {
  readonly line: number;
  readonly #text: string;
  #at = 0;

  constructor(text: string, line: number) {
    this.#text = text;
    this.line = line;
  }

  atEnd(): boolean {
    return this.#at === this.#text.length;
  }

  rest(): string {
    return this.#text.slice(this.#at);
  }

  /** Takes what the sticky pattern finds here; undefined, and nothing taken, where it finds nothing. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  need(pattern: RegExp, what: string): string {
    const found = this.match(pattern);
    if (found === undefined) throw this.error(`${what} expected at ${JSON.stringify(this.rest())}`);
    return found;
  }

  literal(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  skipBlanks(): void {
    this.match(BLANKS);
  }

  needBlanks(where: string): void {
    if (this.match(BLANKS) === '') throw this.error(`no blank ${where}: ${JSON.stringify(this.rest())}`);
  }

  error(problem: string): ScrapeError {
    return new ScrapeError(this.line, problem);
  }
}
