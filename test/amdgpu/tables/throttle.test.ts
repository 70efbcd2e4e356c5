import { describe, expect, it } from 'vitest';
import { THROTTLE_BITS, throttleNames } from '../../../amdgpu/tables/throttle.ts';

describe('throttle words', () => {
  it('name the common bits up to the highest', () => {
    expect(throttleNames('indep', (1n << 57n) | (1n << 36n) | (1n << 23n) | 1n)).toEqual([
      'ppt0',
      'apcc',
      'temp_hotspot',
      'fit',
    ]);
    expect(throttleNames('indep', 96)).toEqual(['fppt', 'sppt']);
    expect(throttleNames('indep', 1n << 40n)).toEqual(['temp_vr_mem0']);
  });

  it('differ from family to family at the same bit', () => {
    const bit13 = 1 << 13;
    expect(throttleNames('mi200', bit13)).toEqual(['temp_vr_mem']);
    expect(throttleNames('mi100', bit13)).toEqual(['ppm']);
    expect(throttleNames('rx6000', bit13)).toEqual(['ppt0']);
    expect(throttleNames('rx7000', bit13)).toEqual(['tdc_gfx']);
    expect(throttleNames('renoir', 6)).toEqual(['fppt', 'sppt']);
  });

  it('name the last bit of each family', () => {
    const last = Object.entries(THROTTLE_BITS).map(([family, bits]) => [family, [...bits].at(-1)]);
    expect(Object.fromEntries(last)).toEqual({
      indep: [57, 'fit'],
      mi200: [19, 'apcc'],
      mi100: [17, 'vrhot1'],
      rx6000: [19, 'apcc'],
      rx7000: [21, 'apcc'],
      renoir: [12, 'edc_gfx'],
    });
  });

  it('number a bit that has no name, and have no names in 0', () => {
    expect(throttleNames('mi200', (1 << 5) | 1)).toEqual(['ppt0', 'bit_5']);
    expect(throttleNames('indep', 1n << 63n)).toEqual(['bit_63']);
    expect(throttleNames('indep', 0n)).toEqual([]);
  });

  it('take a 32-bit word with its top bit set', () => {
    expect(throttleNames('rx7000', 0x8000_0002)).toEqual(['temp_hotspot', 'bit_31']);
  });
});
