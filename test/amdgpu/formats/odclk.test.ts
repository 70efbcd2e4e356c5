import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseOverdriveClocks } from '../../../amdgpu/formats/odclk.ts';
import { capturesDir } from '../../support/captures.ts';
import { skipUnless } from '../../support/skips.ts';
import { nearly, numbersIn, padding } from './arbitraries.ts';

const MHZ = 1e6;
const range = (min: number, max: number) => ({ min: min * MHZ, max: max * MHZ });

describe('pp_od_clk_voltage', () => {
  it('gives the range in force on an Instinct card', () => {
    const text = 'OD_SCLK:\n0: 132Mhz\n1: 2100Mhz\nOD_MCLK:\n0: 900Mhz\n1: 1300Mhz\n';
    expect(parseOverdriveClocks(text)).toEqual({ sclk: range(132, 2100), mclk: range(900, 1300), limits: {} });
  });

  it('gives no lower memory end where the driver prints only the upper one', () => {
    expect(parseOverdriveClocks('OD_MCLK:\n1: 875MHz\n')).toEqual({ mclk: { max: 875 * MHZ }, limits: {} });
  });

  it('takes nothing from voltage curves, offsets and CPU core ranges', () => {
    const text =
      'OD_SCLK_OFFSET:\n0Mhz\nOD_VDDC_CURVE:\n0: 1351MHz 750mV\nCCLK_RANGE in Core0:\n0: 1400Mhz\n1: 3500Mhz\n' +
      'OD_RANGE:\nSCLK_OFFSET: -500Mhz 1000Mhz\nVDDC_CURVE_SCLK[0]: 800Mhz 2150Mhz\nCCLK: 1400Mhz 3500Mhz\n';
    expect(parseOverdriveClocks(text)).toBeUndefined();
  });

  it('does not run on from one section into the next', () => {
    const text = 'OD_SCLK:\n0: 500Mhz\nOD_VDDC_CURVE:\n1: 1424MHz 805mV\nOD_MCLK:\n1: 1000MHz\n';
    expect(parseOverdriveClocks(text)).toEqual({ sclk: { min: 500 * MHZ }, mclk: { max: 1000 * MHZ }, limits: {} });
  });

  it('is absent for an empty read and an empty line', () => {
    for (const text of ['', '\n', '\0\0', 'OD_SCLK:\n']) expect(parseOverdriveClocks(text)).toBeUndefined();
  });

  it('comes back exactly from any range, with gaps of NULs between the sections', () => {
    const mhz = fc.integer({ min: 0, max: 9999 });
    const gap = fc.integer({ min: 0, max: 50 }).map((count) => '\0'.repeat(count));
    fc.assert(
      fc.property(mhz, mhz, mhz, mhz, gap, fc.constantFrom('Mhz', 'MHz'), (a, b, c, d, nul, unit) => {
        const text =
          `OD_SCLK:\n0: ${a}${unit}\n1: ${b}${unit}\n${nul}OD_MCLK:\n0: ${c}${unit}\n1: ${d}${unit}\n${nul}` +
          `OD_RANGE:\nSCLK:     ${a}${unit}       ${b}${unit}\nMCLK: ${c}${unit} ${d}${unit}\n`;
        const [sclk, mclk] = [range(a, b), range(c, d)];
        expect(parseOverdriveClocks(text)).toEqual({ sclk, mclk, limits: { sclk, mclk } });
      }),
    );
  });

  it('never holds a number that does not stand in the text', () => {
    const noise = nearly(
      'OD_SCLK:\n',
      'OD_MCLK:\n',
      'OD_RANGE:\n',
      '0: 500Mhz\n',
      '1: ',
      'MHz\n',
      'SCLK: 1Mhz 2Mhz\n',
      '750mV',
    );
    fc.assert(
      fc.property(fc.tuple(noise, padding), ([noisy, rest]) => {
        const text = noisy + rest;
        const read = parseOverdriveClocks(text);
        for (const part of [read?.sclk, read?.mclk, read?.limits.sclk, read?.limits.mclk])
          for (const hertz of Object.values(part ?? {})) expect(numbersIn(text)).toContain(String(hertz / MHZ));
      }),
    );
  });

  it('reads the captures, those with NUL gaps included', () => {
    const root = capturesDir();
    skipUnless(root, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)');
    const read = (path: string) =>
      parseOverdriveClocks(readFileSync(join(root, path, 'device/pp_od_clk_voltage'), 'latin1'));
    expect(read('radeon-rx7800xt/sys/class/drm/card1')).toEqual({
      sclk: range(500, 2660),
      mclk: range(97, 1300),
      limits: { sclk: range(500, 5000), mclk: range(97, 1500) },
    });
    expect(read('radeon-rx9070xt-deepsleep/sys/class/drm/card1')).toEqual({
      mclk: range(97, 1259),
      limits: { mclk: range(97, 1500) },
    });
    expect(read('apu-phoenix-780m/sys/class/drm/card1')).toEqual({
      sclk: range(800, 2700),
      limits: { sclk: range(800, 2700) },
    });
    expect(read('radeon-rx5700xt/sys/class/drm/card1')).toEqual({
      sclk: range(1351, 1900),
      mclk: { max: 875 * MHZ },
      limits: { sclk: range(800, 2150), mclk: range(625, 950) },
    });
    expect(read('radeon-vega56-manual/sys/class/drm/card0')).toEqual({
      sclk: range(852, 1630),
      mclk: range(167, 945),
      limits: { sclk: range(852, 2400), mclk: range(167, 1500) },
    });
    expect(read('apu-vangogh-steamdeck/sys/class/drm/card0')).toBeUndefined();
  });
});
