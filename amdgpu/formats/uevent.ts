import { decimal } from './scalar.ts';
import { lines } from './text.ts';

/**
 * `uevent` of a PCI device or a DRM node. Source: `drivers/base/core.c`, `drivers/pci/pci-driver.c`.
 * Every field is absent where its line is; a field whose line is malformed is absent too.
 */
export interface Uevent {
  /** Bound driver: `amdgpu`, `radeon`, `vfio-pci`. */
  driver?: string;
  /** `0x1002`, lower case, in the spelling of the file `vendor`. */
  vendor?: string;
  device?: string;
  subsystemVendor?: string;
  subsystemDevice?: string;
  /** `0000:c1:00.0`, lower case. */
  pci?: string;
  /** Class, subclass and programming interface: 0x030000 display, 0x120000 accelerator, 0x038000 other display. */
  pciClass?: number;
  major?: number;
  minor?: number;
  /** `dri/renderD128`. */
  devname?: string;
}

const ID_PAIR = /^([0-9a-fA-F]{4}):([0-9a-fA-F]{4})$/;
const PCI_ADDRESS = /^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$/;
const CLASS = /^[0-9a-fA-F]{1,6}$/;

export function parseUevent(text: string): Uevent {
  const event: Uevent = {};
  for (const line of lines(text)) {
    const split = line.indexOf('=');
    if (split > 0) assign(event, line.slice(0, split), line.slice(split + 1));
  }
  return event;
}

function assign(event: Uevent, key: string, value: string): void {
  if (key === 'DRIVER' && value !== '') event.driver = value;
  else if (key === 'DEVNAME' && value !== '') event.devname = value;
  else if (key === 'PCI_SLOT_NAME' && PCI_ADDRESS.test(value)) event.pci = value.toLowerCase();
  else if (key === 'PCI_CLASS' && CLASS.test(value)) event.pciClass = Number.parseInt(value, 16);
  else if (key === 'MAJOR' || key === 'MINOR') {
    const number = decimal(value);
    if (number !== undefined) event[key === 'MAJOR' ? 'major' : 'minor'] = number;
  } else if (key === 'PCI_ID' || key === 'PCI_SUBSYS_ID') {
    const found = ID_PAIR.exec(value);
    if (!found) return;
    const vendor = `0x${found[1]!.toLowerCase()}`;
    const device = `0x${found[2]!.toLowerCase()}`;
    if (key === 'PCI_ID') Object.assign(event, { vendor, device });
    else Object.assign(event, { subsystemVendor: vendor, subsystemDevice: device });
  }
}
