// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the sources under test are strings
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { importsOf, stringsOf, tokenize } from './support/source.ts';

describe('the strings of a source', () => {
  it.each([
    ['a(\'one\', "two")', ['one', 'two']],
    ["'it\\'s' + '\"'", ["it\\'s", '"']],
    ["// 'no'\n/* 'no' */ 'yes'", ['yes']],
    ["'// no comment' + '/* nor this'", ['// no comment', '/* nor this']],
    ["`a${b + 'c'}d`", ['a', 'c', 'd']],
    ['`a${{ b: `c${d}` }.b}e` + "f"', ['a', 'c', '', 'e', 'f']],
    ['`\\`${1}$ {`', ['\\`', '$ {']],
    ["x = /['\"]/g; 'after'", ['after']],
    ["x.replace(/\\//, 'a')", ['a']],
    ["return /[/'`]+/.test('b');", ['b']],
    ["const half = total / 2; const s = 'c'; const t = 1 / 3;", ['c']],
    ["(a + b) / c + 'd' / 2", ['d']],
    ["list[0] / 'e'.length / `f`.length / 2", ['e', 'f']],
    ["f(x, // why\n /'/)", []],
    ['', []],
  ])('%j are %j', (source, strings) => {
    expect(stringsOf(source)).toEqual(strings);
  });
});

describe('the imports of a source', () => {
  it.each([
    ["import a from 'a'; import b, { c } from \"b\"; import * as d from 'd';", ['a', 'b', 'd']],
    ["import'a';export*from'b';export{c}from'c';", ['a', 'b', 'c']],
    ["await import('a'); require('b'); import( /* why */ 'c')", ['a', 'b', 'c']],
    ["import data from './x.json' with { type: 'json' };", ['./x.json']],
    ["// import 'no'\n/** import x from 'no' */", []],
    ["Array.from('abc'); range({ from: 'a', to: 'b' }); const text = `import x from 'no'`;", []],
    ["important('no'); reimport = 'no'; const from = 'no';", []],
  ])('%j are %j', (source, names) => {
    expect(importsOf(source).map(({ module }) => module)).toEqual(names);
  });

  it.each([
    ["import type { A } from 'a';", true],
    ["import type A from 'a';", true],
    ["import type * as a from 'a';", true],
    ["export type * from 'a';", true],
    ["import type {\n  A, // one\n  B,\n} from 'a';", true],
    ["import { b } from b\nimport type { A } from 'a';", true],
    ["import { type A } from 'a';", false],
    ["import type from 'a';", false],
    ["export type A = string;\nimport { b } from 'a';", false],
    ["export type A = string\nexport const b = await import('a');", false],
    ["export type A = string\nimport 'a';", false],
  ])('%j are types alone: %s', (source, typeOnly) => {
    expect(importsOf(source)).toEqual([{ module: 'a', typeOnly }]);
  });
});

it('loses no character of a source but the quotes', () => {
  for (const file of ['support/source.ts', 'support/scrape.ts', 'support/faultfs.ts', 'rooms.test.ts']) {
    const source = readFileSync(new URL(file, import.meta.url), 'utf8');
    let end = 0;
    for (const { text, at } of tokenize(source)) {
      expect(source.slice(end, at)).toMatch(/^(?:['"`}]|\$\{)*$/);
      expect(source.slice(at, at + text.length)).toBe(text);
      end = at + text.length;
    }
    expect(source.slice(end)).toMatch(/^['"`]?$/);
  }
});
