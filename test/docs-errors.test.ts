import { describe, expect, it } from 'vitest';
import { BASE_CODES } from '../base/codes.ts';
import { REASONS } from '../model/reading.ts';
import { RULE_CODES } from '../rules/language/codes.ts';
import { CONDITION_CODES } from '../rules/language/condition-codes.ts';
import { REPOSITORY, readPage as read, rowsOf, section, wordsOf } from './support/pages.ts';
import { readSources } from './support/rooms.ts';

describe('docs/errors.md', () => {
  const [codes, answers] = read('docs/errors.md').split('## HTTP answers') as [string, string];
  const documented = rowsOf(codes).map(([code, fault]) => [...wordsOf(code), fault] as [string, string]);
  const answered = rowsOf(answers.split('\n## ')[0] as string).map(([code, status]) => [...wordsOf(code), status]);
  const sources = [...readSources(REPOSITORY)].map(([, source]) => source);
  const handedOn = new Set(
    sources.flatMap((source) => [...source.matchAll(/\bcode: '([A-Z]+_[A-Z_]+)'/g)].map(([, code]) => code as string)),
  );
  // An answer of the parser of values: those who ask make an error of the rules from it.
  handedOn.delete('UNIT_INVALID');

  it('has every code that we raise, with whose fault it is, and no other', () => {
    const raised = new Map<string, Set<string>>();
    const add = (code: string, fault: string) => raised.set(code, (raised.get(code) ?? new Set()).add(fault));
    for (const source of sources) {
      for (const [, fault, code] of source.matchAll(/\b(configuration|environment|hardware|bug)Error\(\s*'([A-Z_]+)'/g))
        add(code as string, fault as string);
      for (const [, code, fault] of source.matchAll(/code: '([A-Z_]+)',\s*fault: '(\w+)'/g))
        add(code as string, fault as string);
    }
    for (const [code, { fault }] of Object.entries(BASE_CODES)) add(code, fault);
    // Of a code that is handed on by a variable the fault does not stand beside it.
    const spelled = documented.filter(([code]) => raised.has(code) || !handedOn.has(code));
    expect(spelled.sort()).toEqual([...raised].map(([code, faults]) => [code, [...faults].sort().join(', ')]).sort());
    expect(documented.length).toBeGreaterThan(60);
  });

  it('has every code that an HTTP answer has, with its status, and no other', () => {
    const given = new Map<string, string>();
    for (const source of sources) {
      for (const [, status, code] of source.matchAll(/refuse\(response, (\d+), '([A-Z_]+)'/g))
        given.set(code as string, status as string);
      for (const [, status, code] of source.matchAll(/status\((\d+)\)\.json\(\{\s*code: '([A-Z_]+)'/g))
        given.set(code as string, status as string);
    }
    expect(answered.sort()).toEqual([...given].sort());
    expect(answered.length).toBeGreaterThan(8);
  });

  it('is in order, part by part', () => {
    for (const part of read('docs/errors.md').split('\n## ')) {
      const first = rowsOf(part).map(([code]) => code);
      expect(first).toEqual([...first].sort());
    }
  });

  it('leaves no code out that is written in another way', () => {
    const known = new Set([...documented, ...answered].map(([code]) => code));
    for (const code of [...Object.keys(RULE_CODES), ...CONDITION_CODES.map(({ code }) => code)]) known.add(code);
    expect([...handedOn].filter((code) => !known.has(code))).toEqual([]);
  });

  it('explains every reason that a reading may be absent for', () => {
    const reasons = [...read('docs/errors.md').matchAll(/^\| `([a-z]+)` \|/gm)].map(([, reason]) => reason);
    expect(reasons).toEqual([...REASONS].sort());
  });
});

it('docs/policies.md has every code of rules and conditions, with how severe it is', () => {
  const rows = rowsOf(section(read('docs/policies.md'), 'What can be wrong')).map(([code, severity]) => [
    ...wordsOf(code),
    severity,
  ]);
  const rules = Object.entries(RULE_CODES).map(([code, { severity }]) => [code, severity]);
  const conditions = CONDITION_CODES.map(({ code }) => [code, 'error']);
  expect(rows.sort()).toEqual([...rules, ...conditions].sort());
});
