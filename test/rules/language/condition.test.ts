import { describe, expect, it } from 'vitest';
import type { TraceEntry } from '../../../model/policy.ts';
import { compile, errorsOf, evaluate, NOW, scope, type Values } from './condition-support.ts';

const junction = { var: 'gpu.temperature.junction' };
const power = { var: 'gpu.power' };
const label = (name: string) => ({ var: `alert.labels.${name}` });
const code = (source: unknown) => errorsOf(source).map((error) => error.code);

describe('pitfalls of JSON Logic', () => {
  it.each([
    ['<', { '<': [junction, 80] }],
    ['<= 0', { '<=': [junction, 0] }],
    ['>= 0', { '>=': [junction, 0] }],
    ['> -1', { '>': [junction, -1] }],
    ['between', { between: [junction, -1, 1] }],
    ['a sum', { '<': [{ '+': [junction, 1] }, 80] }],
  ])('1: without data %s is unknown, not true', (_, source) => {
    expect(evaluate(source)).toBe('unknown');
  });

  it.each([
    ['!=', { '!=': [label('job'), 'batch'] }],
    ['!', { '!': { '==': [label('protected'), 'yes'] } }],
    ['! of a truth', { '!': { var: 'window.night' } }],
    ['not in', { '!': { in: [label('job'), ['batch', 'test']] } }],
  ])('2: without data the negation %s is unknown, not true', (_, source) => {
    expect(evaluate(source)).toBe('unknown');
  });

  it.each(['none', 'all', 'some', 'map', 'filter', 'reduce', 'merge'])(
    '3: %s over lists is refused by name',
    (name) => {
      expect(errorsOf({ [name]: [{ var: 'gpu.power' }, { '>': [{ var: '' }, 1] }] })).toMatchObject([
        { code: 'CONDITION_OPERATOR_REFUSED', path: [name], hint: expect.stringContaining('one by one') },
      ]);
    },
  );

  it('4: a rule of two operators is an error, where it stands', () => {
    expect(errorsOf({ and: [{ '>': [junction, 60], '<': [junction, 90] }] })).toMatchObject([
      { code: 'CONDITION_NOT_A_RULE', path: ['and', 0], message: expect.stringContaining('> and <') },
    ]);
  });

  it('5: an empty block is an error, also as branch', () => {
    expect(code({})).toEqual(['CONDITION_NOT_A_RULE']);
    expect(errorsOf({ if: [{ known: 'gpu.power' }, {}, false] })).toMatchObject([
      { code: 'CONDITION_NOT_A_RULE', path: ['if', 1] },
    ]);
  });

  it('6: an unknown operator is an error in a branch that never runs, with what was meant', () => {
    expect(errorsOf({ or: [true, { and: [{ betwen: [junction, 1, 2] }] }] })).toMatchObject([
      { code: 'CONDITION_OPERATOR_UNKNOWN', path: ['or', 1, 'and', 0, 'betwen'], hint: 'Did you mean between?' },
    ]);
  });

  it.each([
    [{ '>': [10] }],
    [{ '>': [5, 3, 4] }],
    [{ '>': 10 }],
    [{ '<': [1, 2, 3, 4] }],
    [{ between: [junction, 1] }],
    [{ '!': [true, false] }],
    [{ and: [] }],
    [{ or: [] }],
    [{ if: [true, false] }],
    [{ if: [true, true, false, false] }],
    [{ '>': [{ '/': [power, 2, 2] }, 1] }],
    [{ '>': [{ min: [] }, 1] }],
    [{ in: ['a'] }],
    [{ known: ['gpu.power', 'gpu.energy'] }],
    [{ in_window: [] }],
    [{ in: [label('a'), []] }],
  ])('7: the number of operands is checked: %j', (source) => {
    expect(code(source)).toEqual(['CONDITION_ARITY']);
  });

  it.each([
    ['0 == ""', { '==': [0, ''] }],
    ['"0" == false', { '==': ['0', false] }],
    ['1 == true', { '==': [1, true] }],
    ['a label and a number', { '==': [label('gpu'), 6] }],
    ['a number and a label in a list', { in: [{ var: 'gpu.number' }, [1, '2']] }],
    ['a text in a list of numbers', { in: [label('gpu'), [1, 2]] }],
  ])('8: equality of two types is an error: %s', (_, source) => {
    expect(code(source)).toEqual(['CONDITION_TYPE']);
  });

  it('8: == and === are the same, on equal types', () => {
    const values = { 'alert.labels.gpu': '6', 'gpu.number': 6, 'window.night': true };
    for (const operator of ['==', '===']) {
      expect(evaluate({ [operator]: [label('gpu'), '6'] }, values)).toBe(true);
      expect(evaluate({ [operator]: [{ var: 'gpu.number' }, 6] }, values)).toBe(true);
      expect(evaluate({ [operator]: [{ var: 'window.night' }, false] }, values)).toBe(false);
    }
    for (const operator of ['!=', '!==']) expect(evaluate({ [operator]: [label('gpu'), '7'] }, values)).toBe(true);
  });

  it('9: labels are texts, which have no order until they are made numbers', () => {
    expect(errorsOf({ '<': [label('gpu'), '10'] }).map((error) => error.code)).toContain('CONDITION_TYPE');
    expect(errorsOf({ '>': [label('value'), 80] })[0]?.hint).toContain('number');
    const asNumber = { '<': [{ number: label('gpu') }, 10] };
    expect(evaluate(asNumber, { 'alert.labels.gpu': '9' })).toBe(true);
    expect(evaluate(asNumber, { 'alert.labels.gpu': '90' })).toBe(false);
  });

  it.each(['', ' ', 'nine', '9W', '0x9', 'NaN', 'Infinity', '1e999', '9 9', '--9'])(
    '9: the label %j is no number, so unknown',
    (text) => {
      expect(evaluate({ '<': [{ number: label('gpu') }, 10] }, { 'alert.labels.gpu': text })).toBe('unknown');
    },
  );

  it('9: a label may be written in any usual way', () => {
    for (const text of ['9', ' 9 ', '9.0', '+9', '.9e1', '90e-1']) {
      expect(evaluate({ '==': [{ number: label('x') }, 9] }, { 'alert.labels.x': text })).toBe(true);
    }
  });

  it('10: arithmetic takes numbers only', () => {
    expect(code({ '>': [{ '+': [label('x'), 10] }, 1] })).toEqual(['CONDITION_TYPE']);
    expect(code({ '>': [{ '+': ['abc', 10] }, 1] })).toEqual(['CONDITION_TYPE']);
    expect(code({ '>': [{ '*': [true, 10] }, 1] })).toEqual(['CONDITION_TYPE']);
  });

  it.each([
    ['division by zero', { '>': [{ '/': [1, { var: 'signal.value' }] }, 0] }, { 'signal.value': 0 }],
    ['zero by zero', { '>=': [{ '/': [{ var: 'signal.value' }, { var: 'signal.value' }] }, 0] }, { 'signal.value': 0 }],
    ['rest of zero', { '<': [{ '%': [7, { var: 'signal.value' }] }, 9] }, { 'signal.value': 0 }],
    ['overflow', { '>': [{ '*': [{ var: 'signal.value' }, 1e308] }, 0] }, { 'signal.value': 1e308 }],
    ['NaN as reading', { '<': [junction, 80] }, { 'gpu.temperature.junction': Number.NaN }],
    ['Infinity as reading', { '>': [junction, 80] }, { 'gpu.temperature.junction': Number.POSITIVE_INFINITY }],
    ['a reading of another type', { '<': [junction, 80] }, { 'gpu.temperature.junction': '70' }],
    [
      'a share of nothing',
      { '<': [{ share_of: [{ var: 'gpu.vram_used' }, { var: 'gpu.vram_size' }] }, 1] },
      { 'gpu.vram_used': 0, 'gpu.vram_size': 0 },
    ],
  ] as [string, unknown, Values][])('11: %s is unknown', (_, source, values) => {
    expect(evaluate(source, values)).toBe('unknown');
  });

  it('12: a default stands for what a sender left out, and for nothing else', () => {
    const source = { '==': [{ var: ['alert.labels.tier', 'batch'] }, 'batch'] };
    expect(evaluate(source, { 'alert.labels.tier': { unknown: 'not_sent' } })).toBe(true);
    expect(evaluate(source, { 'alert.labels.tier': 'prod' })).toBe(false);
    expect(evaluate(source, { 'alert.labels.tier': { unknown: 'no_trigger' } })).toBe('unknown');
    expect(code({ '<': [{ var: ['gpu.power', 0] }, 80] })).toEqual(['CONDITION_DEFAULT_REFUSED']);
    expect(code({ '==': [{ var: ['alert.labels.tier', 1] }, 'batch'] })).toEqual(['CONDITION_TYPE']);
    expect(code({ '==': [{ var: ['alert.labels.tier', null] }, 'batch'] })).toEqual(['CONDITION_NOT_A_RULE']);
  });

  it('13: a label with dots is read under its name as it is', () => {
    const source = { '==': [label('kubernetes.io/hostname'), 'a'] };
    expect(evaluate(source, { 'alert.labels.kubernetes.io/hostname': 'a' })).toBe(true);
    expect(errorsOf({ '==': [label('kubernetes\\.io/hostname'), 'a'] })[0]?.hint).toContain('not escaped');
    expect(code({ '==': [{ var: ['alert', 'labels', 'x'] }, 'a'] })).toEqual(['CONDITION_ARITY']);
  });

  it.each(['constructor.name', '__proto__', 'toString', 'gpu.length', 'gpu.constructor', 'constructor', 'length'])(
    '14: %s is no variable',
    (path) => {
      expect(code({ '==': [{ var: path }, 'a'] })).toEqual(['CONDITION_VARIABLE_UNKNOWN']);
      expect(code({ [path]: [1, 2] })).toEqual(['CONDITION_OPERATOR_UNKNOWN']);
      expect(errorsOf({ condition: path }).map((error) => error.code)).toEqual(['CONDITION_NAMED_UNKNOWN']);
    },
  );

  it('15: a block among data is no literal', () => {
    expect(code({ in: ['a', [{ v: 1 }]] })).toEqual(['CONDITION_NOT_A_RULE']);
    expect(code({ '==': [label('a'), null] })).toEqual(['CONDITION_NOT_A_RULE']);
    expect(code({ '==': [label('a'), ['b']] })).toEqual(['CONDITION_NOT_A_RULE']);
  });

  it('16: depth, size and lists are bounded, and told once', () => {
    let deep: unknown = true;
    for (let i = 0; i < 20_000; i++) deep = { '!': deep };
    expect(code(deep)).toEqual(['CONDITION_TOO_LARGE']);
    const wide = { and: Array.from({ length: 60 }, () => ({ or: Array.from({ length: 60 }, () => true) })) };
    expect(code(wide)).toEqual(['CONDITION_TOO_LARGE']);
    const list = Array.from({ length: 101 }, String);
    expect(code({ in: [label('a'), list] })).toEqual(['CONDITION_TOO_LARGE']);
    expect(code({ in: [label('a'), list.slice(1)] })).toEqual([]);
    expect(code({ and: list.map(() => true) })).toEqual(['CONDITION_TOO_LARGE']);
    let allowed: unknown = true;
    for (let i = 0; i < 31; i++) allowed = { '!': allowed };
    expect(code(allowed)).toEqual([]);
    expect(code({ '!': allowed })).toEqual(['CONDITION_TOO_LARGE']);
  });

  it('17: an evaluation can tell every step', () => {
    const trace: TraceEntry[] = [];
    const source = { and: [{ '>=': [junction, '85C'] }, { '<': [power, 300] }, { known: 'gpu.energy' }] };
    expect(evaluate(source, { 'gpu.temperature.junction': 90 }, trace)).toBe(false);
    const seen = { value: 90, ageMs: 1000, source: 'test' };
    expect(trace).toEqual([
      {
        pointer: '/and/0',
        operator: '>=',
        operands: [
          { text: 'gpu.temperature.junction', ...seen },
          { text: '"85C"', value: 85 },
        ],
        result: true,
      },
      {
        pointer: '/and/1',
        operator: '<',
        operands: [
          { text: 'gpu.power', unknown: 'no_reading' },
          { text: '300', value: 300 },
        ],
        result: 'unknown',
      },
      {
        pointer: '/and/2',
        operator: 'known',
        operands: [{ text: 'gpu.energy', unknown: 'no_reading' }],
        result: false,
      },
      {
        pointer: '',
        operator: 'and',
        operands: [
          { text: '>=(gpu.temperature.junction, "85C")', value: true },
          { text: '<(gpu.power, 300)', unknown: 'unknown' },
          { text: 'known(gpu.energy)', value: false },
        ],
        result: false,
      },
    ]);
  });

  it.each([
    ['a text', '0'],
    ['a number', 1],
    ['a label', label('x')],
    ['a reading', power],
    ['a sum', { '+': [power, 1] }],
    ['a text by if', { if: [true, 'a', 'b'] }],
  ])('18: a condition that is %s is an error', (_, source) => {
    expect(errorsOf(source)).toMatchObject([{ code: 'CONDITION_TYPE', path: [] }]);
    expect(code({ and: [source] })).toEqual(['CONDITION_TYPE']);
    expect(code({ '!!': [source] })).toEqual(['CONDITION_TYPE']);
    expect(code({ if: [source, true, false] })).toEqual(['CONDITION_TYPE']);
  });

  it('19: names of variables are not computed', () => {
    for (const name of [{ cat: ['gpu.', 'power'] }, '', 1, null, [], true, [{ var: 'alert.name' }]]) {
      expect(code({ '>': [{ var: name }, 1] })).toEqual(['CONDITION_VARIABLE_COMPUTED']);
    }
  });

  it.each([
    ['log', 'explain'],
    ['missing', 'known'],
    ['missing_some', 'known'],
  ])('%s is refused, with what to do instead', (name, hint) => {
    expect(errorsOf({ [name]: ['gpu.power'] })).toMatchObject([
      { code: 'CONDITION_OPERATOR_REFUSED', path: [name], hint: expect.stringContaining(hint) },
    ]);
  });
});

describe('three values', () => {
  const U = { '>': [power, 1] };
  it.each([
    [{ and: [true, U] }, 'unknown'],
    [{ and: [U, true] }, 'unknown'],
    [{ and: [U, false] }, false],
    [{ and: [false, U] }, false],
    [{ or: [U, true] }, true],
    [{ or: [true, U] }, true],
    [{ or: [U, false] }, 'unknown'],
    [{ or: [false, U] }, 'unknown'],
    [{ '!': U }, 'unknown'],
    [{ '!!': U }, 'unknown'],
    [{ '!': { and: [U, false] } }, true],
    [{ if: [U, true, false] }, 'unknown'],
    [{ if: [U, true, true] }, 'unknown'],
    [{ if: [true, true, U] }, true],
    [{ if: [false, U, false] }, false],
    [{ if: [false, true, U, true, false] }, 'unknown'],
    [{ '?:': [false, U, true, false, true] }, false],
    [{ '==': [U, true] }, 'unknown'],
  ])('%j is %s', (source, expected) => {
    expect(evaluate(source)).toBe(expected);
    expect(evaluate(source, {}, [])).toBe(expected);
  });
});

describe('operators of our own', () => {
  it('known tells whether there is a value, and is never unknown', () => {
    for (const source of [{ known: 'gpu.power' }, { known: power }, { known: ['gpu.power'] }, { known: [power] }]) {
      expect(evaluate(source, { 'gpu.power': 0 })).toBe(true);
      expect(evaluate(source)).toBe(false);
      expect(evaluate(source, { 'gpu.power': { unknown: 'stale', at: NOW - 60_000 } })).toBe(false);
      expect(evaluate(source, { 'gpu.power': Number.NaN })).toBe(false);
    }
    expect(code({ known: { '+': [power, 1] } })).toEqual(['CONDITION_TYPE']);
    expect(code({ known: 'gpu.powr' })).toEqual(['CONDITION_VARIABLE_UNKNOWN']);
  });

  it('age is the time since the reading, also of one that is too old to be used', () => {
    const old = { '>': [{ age: 'gpu.power' }, '30s'] };
    expect(evaluate(old, { 'gpu.power': { value: 1, at: NOW - 31_000, source: '' } })).toBe(true);
    expect(evaluate(old, { 'gpu.power': { value: 1, at: NOW - 29_000, source: '' } })).toBe(false);
    expect(evaluate(old, { 'gpu.power': { unknown: 'stale', at: NOW - 60_000 } })).toBe(true);
    expect(evaluate(old, { 'gpu.power': { unknown: 'absent', at: NOW - 60_000 } })).toBe('unknown');
    expect(evaluate(old)).toBe('unknown');
    expect(evaluate({ '>=': [{ age: 'gpu.power' }, 0] }, { 'gpu.power': { value: 1, at: NOW + 5, source: '' } })).toBe(
      true,
    );
  });

  it('between includes both ends', () => {
    const at = (value: number) => evaluate({ between: [junction, '60°C', 80] }, { 'gpu.temperature.junction': value });
    expect([59.9, 60, 70, 80, 80.1].map(at)).toEqual([false, true, true, true, false]);
    expect(evaluate({ '<': [60, junction, '80C'] }, { 'gpu.temperature.junction': 60 })).toBe(false);
    expect(evaluate({ '<=': [60, junction, '80C'] }, { 'gpu.temperature.junction': 60 })).toBe(true);
  });

  it('share_of is a part of a whole of the same unit', () => {
    const source = { '>': [{ share_of: [{ var: 'gpu.vram_used' }, { var: 'gpu.vram_size' }] }, '90%'] };
    expect(evaluate(source, { 'gpu.vram_used': 91, 'gpu.vram_size': 100 })).toBe(true);
    expect(evaluate(source, { 'gpu.vram_used': 90, 'gpu.vram_size': 100 })).toBe(false);
    expect(code({ '>': [{ share_of: [{ var: 'gpu.vram_used' }, power] }, 0.9] })).toEqual(['CONDITION_UNIT']);
  });

  it('in_window asks for a window by name', () => {
    for (const source of [{ in_window: 'night' }, { in_window: ['night'] }, { var: 'window.night' }]) {
      expect(evaluate(source, { 'window.night': true })).toBe(true);
      expect(evaluate(source, { 'window.night': false })).toBe(false);
      expect(evaluate(source)).toBe('unknown');
      expect(compile(source).variables).toEqual(['window.night']);
    }
    expect(errorsOf({ in_window: ['nigth'] })).toMatchObject([
      { code: 'CONDITION_WINDOW_UNKNOWN', path: ['in_window', 0], hint: 'Did you mean night?' },
    ]);
  });

  it('in looks in a list or a text; cat and substr make texts', () => {
    const values = { 'alert.labels.a': 'gpu-7', 'gpu.temperature.junction': 85 };
    expect(evaluate({ in: [label('a'), ['gpu-6', 'gpu-7']] }, values)).toBe(true);
    expect(evaluate({ in: [label('a'), ['gpu-6']] }, values)).toBe(false);
    expect(evaluate({ in: [junction, ['85°C', 90]] }, values)).toBe(true);
    expect(evaluate({ in: ['7', label('a')] }, values)).toBe(true);
    expect(evaluate({ '==': [{ cat: ['gpu-', 7] }, label('a')] }, values)).toBe(true);
    expect(evaluate({ '==': [{ substr: [label('a'), 4] }, '7'] }, values)).toBe(true);
    expect(evaluate({ '==': [{ substr: [label('a'), 0, -2] }, 'gpu'] }, values)).toBe(true);
    expect(code({ '==': [{ substr: [label('a'), 1.5] }, '7'] })).toEqual(['CONDITION_TYPE']);
    expect(code({ in: [junction, label('a')] })).toEqual(['CONDITION_TYPE']);
  });

  it('texts that can have few values are compared with one of them', () => {
    expect(evaluate({ '==': [{ var: 'gpu.health' }, 'gone'] }, { 'gpu.health': 'gone' })).toBe(true);
    expect(errorsOf({ '!=': [{ var: 'gpu.health' }, 'gonee'] })).toMatchObject([
      { code: 'CONDITION_VALUE', path: ['!=', 1], hint: 'Did you mean gone?' },
    ]);
    expect(code({ in: [{ var: 'gpu.setting.power_cap' }, ['foreign', 'lost']] })).toEqual(['CONDITION_VALUE']);
  });
});

describe('units', () => {
  it.each([
    [{ '>=': [junction, '85°C'] }, { 'gpu.temperature.junction': 85 }],
    [{ '>=': [junction, '85C'] }, { 'gpu.temperature.junction': 85 }],
    [{ '>=': ['1.5kW', power] }, { 'gpu.power': 1500 }],
    [{ '==': [{ var: 'gpu.clock.gfx' }, '1500MHz'] }, { 'gpu.clock.gfx': 1.5e9 }],
    [{ '<=': [{ var: 'gpu.busy.gfx' }, '10%'] }, { 'gpu.busy.gfx': 0.1 }],
    [{ '==': [{ var: 'gpu.vram_used' }, '64GiB'] }, { 'gpu.vram_used': 64 * 2 ** 30 }],
    [{ '==': [{ '+': [junction, '5C'] }, '90C'] }, { 'gpu.temperature.junction': 85 }],
    [
      { '==': [{ max: [junction, { var: 'gpu.temperature.mem' }] }, '85C'] },
      { 'gpu.temperature.junction': 85, 'gpu.temperature.mem': 60 },
    ],
    [{ '==': [power, { '*': [{ var: 'gpu.power_cap' }, '50%'] }] }, { 'gpu.power': 150, 'gpu.power_cap': 300 }],
    [{ '==': [{ '/': [power, { var: 'gpu.power_cap' }] }, '50%'] }, { 'gpu.power': 150, 'gpu.power_cap': 300 }],
    [{ '==': [{ '-': [junction] }, -85] }, { 'gpu.temperature.junction': 85 }],
    [{ '==': [{ if: [true, junction, '1C'] }, '85C'] }, { 'gpu.temperature.junction': 85 }],
    [{ '>=': [junction, { var: 'threshold.junction_hot' }] }, { 'gpu.temperature.junction': 85 }],
  ] as [unknown, Values][])('%j is true', (source, values) => {
    expect(evaluate(source, values)).toBe(true);
  });

  it.each([
    ['another unit', { '>=': [junction, '450W'] }, ['>=', 1]],
    ['an unknown unit', { '>=': [junction, '85F'] }, ['>=', 1]],
    ['small letters', { '>=': [power, '450w'] }, ['>=', 1]],
    ['two readings of two units', { '>=': [junction, power] }, ['>=', 1]],
    ['a sum of two units', { '>': [{ '+': [junction, power] }, 1] }, ['>', 0, '+', 1]],
    ['a threshold of another unit', { '>': [power, { var: 'threshold.junction_hot' }] }, ['>', 1]],
    ['a unit where there is none', { '>': [{ var: 'signal.value' }, '450W'] }, ['>', 1]],
    ['branches of two units', { '>': [{ if: [true, junction, power] }, 1] }, ['>', 0, 'if', 2]],
    ['an age in degrees', { '>': [{ age: 'gpu.power' }, '10C'] }, ['>', 1]],
  ])('%s is an error at its place', (_, source, path) => {
    expect(errorsOf(source)).toMatchObject([{ code: 'CONDITION_UNIT', path }]);
    expect(errorsOf(source)[0]?.hint).not.toBe('');
  });

  it('that do not fit are told with both', () => {
    expect(errorsOf({ '>=': [junction, '450W'] })[0]?.message).toBe('"450W" is in watts, what it stands with in °C');
    expect(errorsOf({ '>=': [junction, power] })[0]?.message).toBe('gpu.power is in watts, what it stands with in °C');
  });

  it('a number in quotes is told to be without', () => {
    expect(errorsOf({ '>=': [junction, '85'] })).toMatchObject([
      { code: 'CONDITION_TYPE', hint: 'Write 85 without quotes, or with its unit.' },
    ]);
  });
});

describe('named conditions', () => {
  const hot = { '>=': [junction, 85] };

  it('are put in', () => {
    const condition = compile(
      { and: [{ condition: 'hot' }, { '!': { condition: 'idle' } }] },
      { hot, idle: { '<': [power, 90] } },
    );
    expect(condition.source).toEqual({ and: [hot, { '!': { '<': [power, 90] } }] });
    expect(condition.variables).toEqual(['gpu.temperature.junction', 'gpu.power']);
    const trace: TraceEntry[] = [];
    expect(condition.evaluate(scope({ 'gpu.temperature.junction': 90, 'gpu.power': 100 }), trace)).toBe(true);
    expect(trace.map(({ pointer }) => pointer)).toEqual(['/and/0', '/and/1/!', '/and/1', '']);
  });

  it('may be made of others, but not of themselves', () => {
    expect(compile({ condition: 'a' }, { a: { condition: 'b' }, b: hot }).source).toEqual(hot);
    expect(
      errorsOf({ or: [{ condition: 'a' }] }, { a: { condition: 'b' }, b: { '!': { condition: 'a' } } }),
    ).toMatchObject([
      { code: 'CONDITION_CYCLE', path: ['or', 0, 'condition'], message: expect.stringContaining('a → b → a') },
    ]);
  });

  it('that are wrong are told at the place that names them', () => {
    expect(errorsOf({ or: [true, { condition: 'a' }] }, { a: { '>': [1] } })).toMatchObject([
      { code: 'CONDITION_NAMED_INVALID', path: ['or', 1, 'condition'] },
    ]);
    expect(errorsOf({ condition: 'hto' }, { hot })).toMatchObject([
      { code: 'CONDITION_NAMED_UNKNOWN', hint: 'Did you mean hot?' },
    ]);
  });

  it('count with all their parts, however often they are used', () => {
    const named: Record<string, unknown> = { c0: hot };
    for (let i = 1; i <= 20; i++) named[`c${i}`] = { and: [{ condition: `c${i - 1}` }, { condition: `c${i - 1}` }] };
    expect(errorsOf({ condition: 'c20' }, named).map((error) => error.code)).toEqual(['CONDITION_TOO_LARGE']);
  });
});

describe('errors', () => {
  it('are all told, each with its path', () => {
    const source = {
      and: [
        { '>=': [{ var: 'gpu.temprature.junction' }, 85] },
        { gt: [junction, 85] },
        { '<': [power, '300X'] },
        { in_window: 'day' },
        { or: [{ '==': [label('a'), 1] }, { in: [label('a'), [null, {}]] }] },
      ],
    };
    expect(errorsOf(source).map(({ path, code: which }) => [path.join('.'), which])).toEqual([
      ['and.0.>=.0.var', 'CONDITION_VARIABLE_UNKNOWN'],
      ['and.1.gt', 'CONDITION_OPERATOR_UNKNOWN'],
      ['and.2.<.1', 'CONDITION_UNIT'],
      ['and.3.in_window', 'CONDITION_WINDOW_UNKNOWN'],
      ['and.4.or.0.==.0', 'CONDITION_TYPE'],
      ['and.4.or.1.in.1.0', 'CONDITION_NOT_A_RULE'],
      ['and.4.or.1.in.1.1', 'CONDITION_NOT_A_RULE'],
    ]);
  });

  it('have pointers that escape / and ~', () => {
    const trace: TraceEntry[] = [];
    evaluate({ '>': [{ '/': [{ '+': [1, 2] }, 3] }, 0] }, {}, trace);
    expect(trace.map(({ pointer }) => pointer)).toEqual(['/>/0/~1/0', '/>/0', '']);
  });
});
