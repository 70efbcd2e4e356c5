/**
 * Enough of TypeScript's lexical grammar to tell code, comments and strings apart, so that rules about our own sources do not
 * trip over a comment that quotes an import. Not a parser: what decides between a division and a regular expression is
 * the token before it, which is right for formatted code.
 */
export interface Token {
  kind: 'code' | 'comment' | 'string' | 'template' | 'regex';
  /** For a string its content without quotes, escapes as written; of a template one piece between `${}`; else as written. */
  text: string;
  /** Offset of the first character of `text`. */
  at: number;
}

export function tokenize(source: string): Token[] {
  return new Scanner(source).scan();
}

export interface Import {
  module: string;
  /** `import type` or `export type`: gone when the program runs. (`import { type A }` is not: the module is still loaded.) */
  typeOnly: boolean;
}

/** What `import … from`, `export … from`, `import '…'`, `import('…')` and `require('…')` name, in order of appearance. */
export function importsOf(source: string): Import[] {
  const found: Import[] = [];
  let head = '';
  for (const { kind, text } of tokenize(source)) {
    if (kind === 'code') head += text;
    if (kind !== 'string' && kind !== 'template') continue;
    if (INTRODUCES_MODULE.test(head)) found.push({ module: text, typeOnly: TYPE_ONLY.test(head) });
    head = '';
  }
  return found;
}

/** What stands right before the name: `from`, a bare `import`, or the call of a loader. Not `Array.from(`, nor a key `from:`. */
const INTRODUCES_MODULE = /(?:[}\w*\s]\bfrom|(?:^|[;\s}])import|\b(?:import|require|getBuiltinModule)\s*\()\s*$/;

/** Up to the name. `import type from` imports a value named `type`. */
const TYPE_ONLY = /\b(?:import|export)\s+type\b(?!\s*from\b)(?:(?!\b(?:import|export)\b)[^;])*\bfrom\s*$/;

/** Text of every string and every piece of a template. */
export function stringsOf(source: string): string[] {
  return tokenize(source)
    .filter(({ kind }) => kind === 'string' || kind === 'template')
    .map(({ text }) => text);
}

/** After these a slash begins a regular expression: an operand is wanted, so it cannot divide. */
const WANTS_OPERAND =
  /(?:^|[([{,;:=!&|?+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void|delete|throw|new|await|yield))\s*$/;
const REGEX = /\/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const QUOTED = { "'": /(?:[^'\\\n]|\\[\s\S])*/y, '"': /(?:[^"\\\n]|\\[\s\S])*/y } as const;
const TEMPLATE_PIECE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y;

class Scanner {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  /** Depth of braces in each template expression we are inside of; the innermost last. */
  readonly #templates: number[] = [];
  #at = 0;
  /** Where the code since the last token of another kind began. */
  #codeFrom = 0;

  constructor(source: string) {
    this.#source = source;
  }

  scan(): Token[] {
    while (this.#at < this.#source.length) this.#step();
    this.#endCode();
    return this.#tokens;
  }

  #step(): void {
    const character = this.#source[this.#at]!;
    if (this.#source.startsWith('//', this.#at)) this.#piece('comment', /.*/y);
    else if (this.#source.startsWith('/*', this.#at)) this.#piece('comment', /[\s\S]*?(?:\*\/|$)/y);
    else if (character === "'" || character === '"') this.#quoted(QUOTED[character]);
    else if (character === '`') this.#template();
    else if (character === '/' && WANTS_OPERAND.test(this.#codeBefore())) this.#regexOrCode();
    else if (character === '{') this.#brace(1);
    else if (character === '}') this.#brace(-1);
    else this.#at++;
  }

  #quoted(content: RegExp): void {
    this.#piece('string', content, 1);
    this.#skip(1);
  }

  #template(): void {
    this.#piece('template', TEMPLATE_PIECE, 1);
    this.#afterPiece();
  }

  /** At the backtick that ends a template, or at the `${` of its next expression. */
  #afterPiece(): void {
    if (this.#source[this.#at] === '$') {
      this.#templates.push(0);
      this.#skip(2);
    } else {
      this.#skip(1);
    }
  }

  #brace(step: 1 | -1): void {
    const depth = this.#templates.at(-1);
    if (step === -1 && depth === 0) {
      this.#templates.pop();
      this.#template();
      return;
    }
    if (depth !== undefined) this.#templates[this.#templates.length - 1] = depth + step;
    this.#at++;
  }

  #regexOrCode(): void {
    REGEX.lastIndex = this.#at;
    if (REGEX.test(this.#source)) this.#piece('regex', REGEX);
    else this.#at++;
  }

  /** The last line or so of code before here; the last token where that is a string, which counts as an operand. */
  #codeBefore(): string {
    const code = this.#source.slice(Math.max(this.#codeFrom, this.#at - 40), this.#at);
    if (code.trim() !== '') return code;
    const last = this.#tokens.findLast(
      ({ kind, text }) => kind !== 'comment' && (kind !== 'code' || text.trim() !== ''),
    );
    if (!last) return '';
    return last.kind === 'code' ? last.text.slice(-40) : 'operand';
  }

  #piece(kind: Token['kind'], pattern: RegExp, opening = 0): void {
    this.#endCode();
    this.#at += opening;
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#source)?.[0] ?? '';
    this.#tokens.push({ kind, text, at: this.#at });
    this.#at += text.length;
    this.#codeFrom = this.#at;
  }

  #skip(count: number): void {
    this.#at += count;
    this.#codeFrom = this.#at;
  }

  #endCode(): void {
    if (this.#at > this.#codeFrom) {
      this.#tokens.push({ kind: 'code', text: this.#source.slice(this.#codeFrom, this.#at), at: this.#codeFrom });
    }
    this.#codeFrom = this.#at;
  }
}
