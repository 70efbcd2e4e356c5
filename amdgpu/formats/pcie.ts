import { decimal, decimalBig, parseUint } from './scalar.ts';
import { firstLine, lines } from './text.ts';

/** PCI Express: link state and error counters of the PCI core, and the driver's own table of link levels. */

const SPEED = /^(\d{1,3})(?:\.(\d))?\s*GT\/s(?:\s|$)/;
/** PCI Express base specification: the widths a link can have. A dead device reads as 63, an unconfigured one as 0. */
const WIDTHS: readonly number[] = [1, 2, 4, 8, 12, 16, 32];

/**
 * `current_link_speed`, `max_link_speed`: `16.0 GT/s PCIe`, in transfers per second and lane. Absent for `Unknown`.
 * Source: `drivers/pci/pci-sysfs.c`, `pci_speed_string` in `drivers/pci/probe.c`.
 */
export function parseLinkSpeed(text: string): number | undefined {
  const found = SPEED.exec(firstLine(text));
  if (!found) return undefined;
  // Through tenths: 2.5 and 32.0 come out as whole numbers without rounding error.
  const tenths = Number(found[1]) * 10 + Number(found[2] ?? 0);
  return tenths > 0 ? tenths * 1e8 : undefined;
}

/** `current_link_width`, `max_link_width`: lanes. Absent where the number is no width a link can have. */
export function parseLinkWidth(text: string): number | undefined {
  const lanes = parseUint(text);
  return lanes !== undefined && WIDTHS.includes(lanes) ? lanes : undefined;
}

export interface PcieLevel {
  label: string;
  /** Transfers per second and lane. */
  speed: number;
  /** Lanes. */
  width: number;
  /** Link clock; older drivers do not print it. */
  hertz?: number;
  /** Carries a star. */
  current: boolean;
}

export interface PcieLevels {
  levels: PcieLevel[];
  /** The starred level; absent with no star or several: `current_link_speed` and `_width` then know. */
  current?: PcieLevel;
  ambiguous: boolean;
}

const LEVEL = /^(\d{1,4}):\s*(\d{1,3}(?:\.\d)?\s*GT\/s),\s*x(\d{1,2})(?:\s+(\d{1,7})\s*[Mm][Hh][Zz])?\s*(\*?)$/;

/**
 * `pp_dpm_pcie`: `0: 2.5GT/s, x1 310Mhz *`. Not on MI200 and later; APUs give an empty line.
 * Source: `drivers/gpu/drm/amd/pm/amdgpu_pm.c`, `smu_cmn.c`.
 */
export function parsePcieLevels(text: string): PcieLevels {
  const levels: PcieLevel[] = [];
  for (const line of lines(text)) {
    const found = LEVEL.exec(line);
    if (!found) continue;
    const speed = parseLinkSpeed(found[2]!);
    const width = parseLinkWidth(found[3]!);
    if (speed === undefined || width === undefined) continue;
    const megahertz = decimal(found[4] ?? '');
    levels.push({
      label: found[1]!,
      speed,
      width,
      ...(megahertz !== undefined && { hertz: megahertz * 1e6 }),
      current: found[5] === '*',
    });
  }
  const starred = levels.filter((level) => level.current);
  const only = starred.length === 1 ? starred[0] : undefined;
  return { levels, ...(only && { current: only }), ambiguous: starred.length > 1 };
}

/**
 * `aer_dev_correctable`, `aer_dev_nonfatal`, `aer_dev_fatal`: counts since the device was found, by error name (`RxErr 0`).
 * The closing `TOTAL_…` line repeats their sum and is left out. Absent when no line can be read.
 * Source: `drivers/pci/pcie/aer.c`.
 */
export function parseAer(text: string): Map<string, bigint> | undefined {
  const counts = new Map<string, bigint>();
  for (const line of lines(text)) {
    // Older kernels print names of two words, so the number is what follows the last space.
    const split = line.lastIndexOf(' ');
    const count = split > 0 ? decimalBig(line.slice(split + 1)) : undefined;
    const name = line.slice(0, split).trim();
    if (count !== undefined && name !== '' && !name.startsWith('TOTAL_')) counts.set(name, count);
  }
  return counts.size > 0 ? counts : undefined;
}

const BANDWIDTH = /^(\d{1,11})\s+(\d{1,11})\s+(\d{1,4})$/;

/**
 * `pcie_bw`: messages received and sent in the second that the read took, and the largest payload in bytes. Bytes per second
 * by count times payload: an upper bound, since a message may carry less. Source: `amdgpu_pm.c`, amdgpu_get_pcie_bw.
 */
export function parsePcieBandwidth(text: string): { received: number; sent: number } | undefined {
  const [, received, sent, payload] = BANDWIDTH.exec(firstLine(text)) ?? [];
  if (received === undefined || sent === undefined || payload === undefined) return undefined;
  return { received: Number(received) * Number(payload), sent: Number(sent) * Number(payload) };
}
