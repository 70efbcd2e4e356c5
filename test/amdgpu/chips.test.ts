import { describe, expect, it } from 'vitest';
import { energyDocumented, identify, tableFirst } from '../../amdgpu/chips.ts';
import type { Family } from '../../model/card.ts';

describe('a device id', () => {
  it.each([
    ['0x738c', 'MI100', 'mi100'],
    ['0x740f', 'MI210', 'mi200'],
    ['0x7408', 'MI250X', 'mi200'],
    ['0x740c', 'MI250', 'mi200'],
    ['0x74a0', 'MI300A', 'mi300'],
    ['0x74a1', 'MI300X', 'mi300'],
    ['0x74a5', 'MI325X', 'mi300'],
    ['0x75a3', 'MI355X', 'mi350'],
  ])('%s is an %s', (id, name, family) => {
    expect(identify(id, '')).toMatchObject({ name, family, virtual: false });
  });

  it('of a virtual function says so', () => {
    for (const id of ['0x74b5', '0x74b9', '0x75b3', '0x7410']) expect(identify(id, '').virtual, id).toBe(true);
  });

  it('of two dies in a package is MI250\u2019s alone', () => {
    expect(['0x7408', '0x740c', '0x740f', '0x74a1'].map((id) => identify(id, '').dualDie)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('of a Radeon or an APU tells the generation and no name', () => {
    const families: [string, Family][] = [
      ['0x687f', 'vega'],
      ['0x731f', 'navi1'],
      ['0x73bf', 'navi2'],
      ['0x747e', 'navi3'],
      ['0x7550', 'navi4'],
      ['0x15bf', 'apu'],
      ['0x163f', 'apu'],
    ];
    for (const [id, family] of families) expect(identify(id, '')).toMatchObject({ name: '', family });
  });

  it('that is not known leaves the family to the topology, and else open', () => {
    expect(identify('0x74ff', 'gfx942').family).toBe('mi300');
    expect(identify('0x9999', 'gfx950').family).toBe('mi350');
    expect(identify('', 'gfx90a').family).toBe('mi200');
    expect(identify('', '').family).toBe('other');
  });
});

it('the table comes first and energy is documented from the parts on that fill them', () => {
  const all: Family[] = [
    'vega',
    'mi50',
    'mi100',
    'mi200',
    'mi300',
    'mi350',
    'navi1',
    'navi2',
    'navi3',
    'navi4',
    'apu',
    'other',
  ];
  expect(all.filter(tableFirst)).toEqual(['mi100', 'mi200', 'mi300', 'mi350']);
  expect(all.filter(energyDocumented)).toEqual(['mi200', 'mi300', 'mi350']);
});
