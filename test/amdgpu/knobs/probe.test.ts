import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { type CardView, probe } from '../../../amdgpu/knobs/probe.ts';
import type { Card, Family } from '../../../model/card.ts';

const { EACCES, EROFS, ENOENT, EPERM } = constants.errno;
const LEVEL = 'power_dpm_force_performance_level';

const CAPS = {
  'hwmon/power1_cap': '750000000\n',
  'hwmon/power1_cap_min': '0\n',
  'hwmon/power1_cap_max': '750000000\n',
  'hwmon/power1_cap_default': '750000000\n',
};
const FILES: Readonly<Record<string, string>> = { ...CAPS, [LEVEL]: 'auto\n', pp_od_clk_voltage: '', pp_dpm_sclk: '' };

interface Given extends Partial<Omit<CardView, 'card' | 'has' | 'text'>> {
  family?: Family;
  pci?: string;
  package?: string;
  virtual?: boolean;
  files?: Readonly<Record<string, string>>;
  without?: string;
}

function view(given: Given = {}): CardView {
  const { family = 'mi300', pci = '0000:05:00.0', virtual = false, files = FILES, without, ...rest } = given;
  const card: Card = {
    pci,
    gpu: 0,
    package: given.package ?? pci,
    model: { name: '', family, deviceId: '', gfx: '' },
    virtual,
    partitions: [],
    generation: 1,
  };
  return {
    card,
    health: 'ok',
    has: (name) => name in files && name !== without,
    text: (name) => (name === without ? undefined : files[name]),
    access: () => 0,
    hardware: { gfx: { min: 500, max: 2100 }, mem: { min: 900, max: 1300 } },
    ...rest,
  };
}

const alone = (given: Given) => probe(view(given), view(given));

describe('what can be set', () => {
  it('has its range, its default and our floor', () => {
    const facts = alone({});
    const on = '0000:05:00.0';
    const power = { min: 0, max: 750, default: 750, floor: 300 };
    expect([...facts.values()]).toEqual([
      { knob: 'power_cap', on, ...power, adjustable: true },
      { knob: 'gfx_clock', on, min: 500, max: 2100, default: 2100, floor: 840, adjustable: true },
      { knob: 'mem_clock', on, min: 900, max: 1300, default: 1300, floor: 901, adjustable: true },
    ]);
  });

  it('of a package is the cap of the primary die and the clocks of each', () => {
    const [first, second] = ['0000:c1:00.0', '0000:c6:00.0'];
    const primary = view({ family: 'mi200', pci: first });
    const files = { ...FILES, ...Object.fromEntries(Object.keys(CAPS).map((name) => [name, '0\n'])) };
    const facts = probe(view({ family: 'mi200', pci: second, package: first, files }), primary);
    expect(facts.get('power_cap')).toMatchObject({ on: first, adjustable: true, max: 750 });
    expect(facts.get('gfx_clock')).toMatchObject({ on: second, adjustable: true });
    expect(probe(view({ package: first, pci: second }), undefined).get('power_cap')).toEqual({
      knob: 'power_cap',
      on: first,
      adjustable: false,
      why: 'gone',
    });
  });

  it('on MI100 has a floor that is a level, and no memory clock', () => {
    const facts = alone({ family: 'mi100', hardware: { gfx: { min: 300, max: 1502 }, levels: [300, 495, 731, 1502] } });
    expect(facts.get('gfx_clock')).toMatchObject({ adjustable: true, floor: 731 });
    expect(facts.get('mem_clock')).toEqual({
      knob: 'mem_clock',
      on: '0000:05:00.0',
      adjustable: false,
      why: 'unsupported',
    });
  });

  it.each<[why: string, expected: string, Given]>([
    ['a guest', 'virtual_function', { virtual: true }],
    ['a sleeping card', 'asleep', { health: 'asleep' }],
    ['a card that has gone', 'gone', { health: 'gone', virtual: true }],
    ['a card that hangs', 'silent', { health: 'silent' }],
    ['a card in reset', 'resetting', { health: 'resetting' }],
    ['a driver without the file', 'no_file', { without: 'hwmon/power1_cap' }],
    ['a file that went', 'no_file', { access: () => ENOENT }],
    ['a read-only mount', 'read_only', { access: () => EROFS }],
    ['an ordinary user', 'denied', { access: () => EACCES }],
    ['a user kept out by other means', 'denied', { access: () => EPERM }],
    ['a card that nobody has looked at', 'unprobed', { access: () => undefined }],
    ['a range that cannot be read', 'unread', { without: 'hwmon/power1_cap_max' }],
    ['a lowest that is the highest', 'fixed_range', { files: { ...FILES, 'hwmon/power1_cap_min': '750000000\n' } }],
    ['a cap of 0 W', 'fixed_range', { files: { ...FILES, 'hwmon/power1_cap_max': '0\n' } }],
    ['a range 1 W wide', 'no_headroom', { files: { ...FILES, 'hwmon/power1_cap_min': '749000000\n' } }],
  ])('is nothing for %s: %s', (_why, expected, given) => {
    expect(alone(given).get('power_cap')).toMatchObject({ adjustable: false, why: expected });
  });

  it('of a clock needs the level too', () => {
    const access = (name: string): number => (name === LEVEL ? EROFS : 0);
    expect(alone({ access }).get('gfx_clock')).toMatchObject({ adjustable: false, why: 'read_only' });
    expect(alone({ access }).get('power_cap')).toMatchObject({ adjustable: true });
    expect(alone({ without: LEVEL }).get('mem_clock')).toMatchObject({ why: 'no_file' });
    expect(alone({ hardware: {} }).get('gfx_clock')).toMatchObject({ why: 'unread' });
  });

  it('on a part of another kind is its cap', () => {
    const facts = alone({ family: 'navi3' });
    expect([...facts.values()].map(({ adjustable }) => adjustable)).toEqual([true, false, false]);
  });
});
