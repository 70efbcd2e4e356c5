import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseUevent } from '../../../amdgpu/formats/uevent.ts';
import { capturesDir } from '../../support/captures.ts';
import { skipUnless } from '../../support/skips.ts';
import { nearly, numbersIn, padding } from './arbitraries.ts';
import { capturedFiles } from './expected.ts';

describe('uevent', () => {
  it('of a PCI device has driver, ids, class and address in the spelling of the other files', () => {
    const text =
      'DRIVER=amdgpu\nPCI_CLASS=120000\nPCI_ID=1002:74A1\nPCI_SUBSYS_ID=1002:74A1\nPCI_SLOT_NAME=0000:C1:00.0\nMODALIAS=pci:v00001002\n';
    expect(parseUevent(text)).toEqual({
      driver: 'amdgpu',
      pciClass: 0x120000,
      vendor: '0x1002',
      device: '0x74a1',
      subsystemVendor: '0x1002',
      subsystemDevice: '0x74a1',
      pci: '0000:c1:00.0',
    });
  });

  it('of a DRM node has its numbers and its device name', () => {
    const text = 'MAJOR=226\nMINOR=128\nDEVNAME=dri/renderD128\nDEVTYPE=drm_minor\n';
    expect(parseUevent(text)).toEqual({ major: 226, minor: 128, devname: 'dri/renderD128' });
  });

  it('leaves out what is missing or malformed', () => {
    expect(parseUevent('')).toEqual({});
    expect(parseUevent('\n')).toEqual({});
    expect(
      parseUevent(
        'DRIVER=\nPCI_ID=1002\nPCI_SLOT_NAME=card0\nPCI_CLASS=display\nMINOR=-1\nMAJOR=\nDEVNAME=\nXDRIVER=x\n=y\0DRIVER=z\n',
      ),
    ).toEqual({});
  });

  it('comes back exactly for every device', () => {
    const id = fc.nat(0xffff).map((value) => value.toString(16).padStart(4, '0'));
    const slot = fc.tuple(fc.nat(0xffff), fc.nat(255), fc.nat(31), fc.nat(7));
    fc.assert(
      fc.property(id, id, slot, fc.nat(0xffffff), fc.nat(), padding, (vendor, device, place, pciClass, minor, rest) => {
        const [domain, bus, unit, func] = place.map((value) => value.toString(16));
        const pci = `${domain!.padStart(4, '0')}:${bus!.padStart(2, '0')}:${unit!.padStart(2, '0')}.${func}`;
        const lines = ['DRIVER=amdgpu', `PCI_CLASS=${pciClass.toString(16).toUpperCase()}`, `MINOR=${minor}`];
        lines.push(`PCI_ID=${vendor.toUpperCase()}:${device.toUpperCase()}`, `PCI_SLOT_NAME=${pci}`);
        expect(parseUevent(`${lines.join('\n')}\n${rest}`)).toEqual({
          driver: 'amdgpu',
          pciClass,
          minor,
          vendor: `0x${vendor}`,
          device: `0x${device}`,
          pci,
        });
      }),
    );
  });

  it('holds nothing that does not stand in the text', () => {
    const noise = nearly(
      'DRIVER=',
      'amdgpu\n',
      'PCI_ID=1002:',
      '74A1\n',
      'PCI_SLOT_NAME=',
      '0000:05:00.0',
      'MINOR=',
      '\n',
      'DEVNAME=',
    );
    fc.assert(
      fc.property(noise, (text) => {
        const event = parseUevent(text);
        const low = text.toLowerCase();
        for (const word of [event.driver, event.devname]) if (word !== undefined) expect(text).toContain(word);
        if (event.pci !== undefined) expect(low).toContain(event.pci);
        if (event.vendor !== undefined) expect(low).toContain(`${event.vendor.slice(2)}:${event.device!.slice(2)}`);
        for (const number of [event.major, event.minor])
          if (number !== undefined) expect(numbersIn(text)).toContain(String(number));
      }),
    );
  });

  it('is read from every capture', () => {
    const root = capturesDir();
    skipUnless(root, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)');
    const events = capturedFiles(root, 'uevent').map((file) => parseUevent(readFileSync(file, 'latin1')));
    const drivers = new Set(events.map((event) => event.driver));
    expect(drivers).toEqual(new Set(['amdgpu', 'radeon', 'qxl']));
    for (const event of events) expect(event.pci).toMatch(/^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/);
  });
});
