import { type Path, readYaml, type YamlText } from '../../base/yaml.ts';
import { RULE_CODES, type RuleCode, type Severity } from './codes.ts';

/** The text of one rule file. `file` is its name as people should see it. */
export interface RuleFile {
  file: string;
  text: string;
}

/** One thing that is wrong in a rule file, with the line that it stands in. Line and column count from 1. */
export interface RuleProblem {
  code: string;
  severity: Severity;
  file: string;
  line: number;
  column: number;
  message: string;
  /** What to do about it, as a sentence. */
  hint: string;
  /** The line itself; `column` points into it. */
  snippet: string;
}

/** Larger than any file that people write; what is larger is a mistake or an attack. */
const MAX_BYTES = 262_144;
/** A file that is no YAML at all makes an error a character. */
const MAX_YAML_PROBLEMS = 20;
/** In a longer line the caret would be lost. */
const MAX_SNIPPET = 200;

/** One rule file: its value, the place of everything in it, and what was found to be wrong. */
export class Sheet {
  readonly file: string;
  readonly problems: RuleProblem[] = [];
  /** Undefined where the text could not be read as YAML. */
  readonly value: unknown;
  readonly #lines: readonly string[];
  readonly #yaml: YamlText | undefined;

  constructor({ file, text }: RuleFile) {
    this.file = file;
    this.#lines = text.split(/\r\n|\r|\n/);
    if (Buffer.byteLength(text) > MAX_BYTES) {
      this.#put('RULE_FILE_TOO_LARGE', 1, 1, 'the file is larger than 256 KiB', 'Split it.');
      return;
    }
    const odd = this.#lines.findIndex((line) => line.includes('\ufffd'));
    if (odd >= 0) {
      const hint = 'Save the file as UTF-8.';
      this.#put('RULE_YAML_INVALID', odd + 1, (this.#lines[odd] ?? '').indexOf('\ufffd') + 1, 'here is no UTF-8', hint);
      return;
    }
    const directive = this.#lines.findIndex((line) => line.startsWith('%'));
    if (directive >= 0 && this.#lines.slice(0, directive).every((line) => /^\s*(#|$)/.test(line))) {
      // `%YAML 1.1` would turn `no` into false and 22:00 into 1320.
      const hint = 'Remove the line: these files are YAML 1.2 without directives.';
      this.#put('RULE_YAML_INVALID', directive + 1, 1, 'a YAML directive is not taken here', hint);
      return;
    }
    const yaml = readYaml(text, file);
    for (const { message, at } of yaml.problems.slice(0, MAX_YAML_PROBLEMS)) {
      this.#put('RULE_YAML_INVALID', at?.line ?? 1, at?.column ?? 1, oneLine(message), hintFor(message));
    }
    if (yaml.problems.length > 0) return;
    this.#yaml = yaml;
    this.value = yaml.value;
  }

  get hasErrors(): boolean {
    return this.problems.some(({ severity }) => severity === 'error');
  }

  /** The value at `path` is wrong. */
  add(code: RuleCode, path: Path, message: string, hint: string): void {
    this.#at(code, RULE_CODES[code].severity, this.#yaml?.at(path), message, hint);
  }

  /** The key at the end of `path` is wrong. */
  addAtKey(code: RuleCode, path: Path, message: string, hint: string): void {
    this.#at(code, RULE_CODES[code].severity, this.#yaml?.atKey(path), message, hint);
  }

  /** An error with a code of another's catalogue, as those of conditions. */
  addForeign(code: string, path: Path, message: string, hint: string, atKey: boolean): void {
    this.#at(code, 'error', atKey ? this.#yaml?.atKey(path) : this.#yaml?.at(path), message, hint);
  }

  lineOf(path: Path): number {
    return this.#yaml?.at(path).line ?? 1;
  }

  #at(
    code: string,
    severity: Severity,
    place: { line?: number; column?: number } | undefined,
    message: string,
    hint: string,
  ): void {
    this.#push(code, severity, place?.line ?? 1, place?.column ?? 1, message, hint);
  }

  #put(code: RuleCode, line: number, column: number, message: string, hint: string): void {
    this.#push(code, RULE_CODES[code].severity, line, column, message, hint);
  }

  #push(code: string, severity: Severity, line: number, column: number, message: string, hint: string): void {
    const snippet = (this.#lines[line - 1] ?? '').slice(0, MAX_SNIPPET).replaceAll('\t', ' ');
    this.problems.push({ code, severity, file: this.file, line, column, message, hint, snippet });
  }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function hintFor(message: string): string {
  if (/tab/i.test(message)) return 'Indent with spaces.';
  if (/unique/i.test(message)) return 'Of a key that stands twice one would win silently: keep one.';
  if (/tag/i.test(message)) return 'Remove the tag: only plain values are taken.';
  if (/documents/i.test(message)) return 'One file is one document: split it at the ---.';
  if (/alias/i.test(message)) return 'Write it out, or name it under conditions.';
  return 'Correct the YAML here; what follows is often its consequence.';
}
