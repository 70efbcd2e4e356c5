import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  exampleHint,
  formatMeasure,
  looksLikeMeasure,
  parseQuantity,
  readMeasure,
} from '../../../rules/language/units.ts';

const GIB = 2 ** 30;

describe('a value with its unit', () => {
  it.each([
    ['450W', 450, 'watts'],
    ['450 W', 450, 'watts'],
    ['0.45kW', 450, 'watts'],
    ['500mW', 0.5, 'watts'],
    ['1500MHz', 1.5e9, 'hertz'],
    ['1.5GHz', 1.5e9, 'hertz'],
    ['2.3GHz', 2_300_000_000, 'hertz'],
    ['32768Hz', 32768, 'hertz'],
    ['75%', 0.75, 'ratio'],
    ['0.1%', 0.001, 'ratio'],
    ['70%', 0.7, 'ratio'],
    ['85°C', 85, 'celsius'],
    ['85 °C', 85, 'celsius'],
    ['85℃', 85, 'celsius'],
    ['85C', 85, 'celsius'],
    ['-5.5C', -5.5, 'celsius'],
    ['64GiB', 64 * GIB, 'bytes'],
    ['0.5GiB', GIB / 2, 'bytes'],
    ['64GB', 64e9, 'bytes'],
    ['1B', 1, 'bytes'],
    ['10GB/s', 1e10, 'bytes_per_second'],
    ['1MiB/s', 2 ** 20, 'bytes_per_second'],
    ['16GT/s', 1.6e10, 'transfers_per_second'],
    ['90s', 90, 'seconds'],
    ['1m30s', 90, 'seconds'],
    ['500ms', 0.5, 'seconds'],
    ['1d', 86400, 'seconds'],
    ['850mV', 0.85, 'volts'],
    ['40A', 40, 'amperes'],
    ['50kJ', 50_000, 'joules'],
    ['3000rpm', 3000, 'rpm'],
  ])('%s is %d in base units', (text, value, unit) => {
    expect(parseQuantity(text)).toEqual({ value, unit });
    expect(looksLikeMeasure(text)).toBe(true);
  });

  it.each([
    ['a bare number', '450', 'Add a unit'],
    ['an empty text', '', 'Write it like'],
    ['a word', 'hot', 'Write it like'],
    ['small letters', '450w', 'Did you mean the unit W?'],
    ['small letters of a clock', '1500mhz', 'Did you mean the unit MHz?'],
    ['a slip', '64Gib', 'Did you mean the unit GiB?'],
    ['Fahrenheit', '185F', 'Temperatures are in °C.'],
    ['a decimal comma', '1,5GHz', 'Decimals stand behind a point.'],
    ['parts of a second', '1.5s', 'whole parts'],
    ['two spaces', '450  W', 'Write it like'],
    ['a space before', ' 450W', 'Write it like'],
    ['an exponent', '1e3W', 'Write it like'],
    ['two values', '450W 3', 'Write it like'],
    ['hexadecimal', '0x10W', 'Write it like'],
    ['what every object has', '5constructor', 'Write it like'],
    ['endless digits', `${'9'.repeat(400)}W`, 'Write it like'],
  ])('%s is an error that says what to do', (_, text, hint) => {
    expect(parseQuantity(text)).toMatchObject({ code: 'UNIT_INVALID', hint: expect.stringContaining(hint) });
    expect(readMeasure(text)).toBeUndefined();
  });

  it.each(['gfx', '', 'hbm0', '0000:c1:00.0', '9', 'gpu-6', '10.0.0.1', 'renderD128'])(
    '%j does not look like one',
    (text) => {
      expect(looksLikeMeasure(text)).toBe(false);
    },
  );

  it('is read from no text whatever but what it is made of', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const found = parseQuantity(text);
        expect('code' in found ? found.hint !== '' : Number.isFinite(found.value)).toBe(true);
      }),
    );
  });

  it('of any whole number of percent is exactly that share', () => {
    for (let percent = 0; percent <= 100; percent++) {
      expect(readMeasure(`${percent}%`)?.value).toBe(Number(`${percent}e-2`));
    }
  });
});

describe('writing a value', () => {
  it.each([
    [85, 'celsius', '85 °C'],
    [1.5e9, 'hertz', '1500 MHz'],
    [0.7, 'ratio', '70 %'],
    [0.07, 'ratio', '7 %'],
    [64 * GIB, 'bytes', '64 GiB'],
    [512, 'bytes', '512 B'],
    [90, 'seconds', '1m30s'],
    [0.5, 'seconds', '0.5 s'],
    [450, 'watts', '450 W'],
    [3, 'none', '3'],
  ] as const)('%d %s is %s', (value, unit, text) => {
    expect(formatMeasure(value, unit)).toBe(text);
  });

  it('has an example for units that can be written', () => {
    expect(exampleHint('watts')).toBe('Write it like 450W.');
    expect(exampleHint('none')).toBe('Write a plain number.');
    expect(exampleHint(undefined)).toBe('Write a plain number.');
  });
});
