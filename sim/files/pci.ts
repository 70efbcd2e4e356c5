import { MODELS } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import { type Directory, hex, WRITABLE } from './entry.ts';
import { PCI_BUS } from './paths.ts';

/** What the PCI and power-management cores show of a function. Source: drivers/pci/pci-sysfs.c, drivers/pci/pcie/aer.c. */

const VENDOR = 0x1002;

export function pciFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  const spec = MODELS[node.model];
  const alias = modalias(spec.deviceId, spec.subsystemDevice, spec.pciClass);
  dir.line('vendor', hex(VENDOR, 4));
  dir.line('device', hex(spec.deviceId, 4));
  dir.line('subsystem_vendor', hex(VENDOR, 4));
  dir.line('subsystem_device', hex(spec.subsystemDevice, 4));
  dir.line('revision', hex(spec.revision, 2));
  dir.line('class', hex(spec.pciClass, 6));
  dir.line('modalias', alias);
  dir.raw('uevent', uevent(gpu, spec.deviceId, spec.subsystemDevice, spec.pciClass, alias), WRITABLE);
  dir.line('enable', 1, WRITABLE);
  dir.line('irq', 160 + gpu.index);
  dir.line('numa_node', gpu.numa, WRITABLE);
  const cpus = node.sockets[gpu.numa]?.cpus ?? '';
  dir.line('local_cpulist', cpus);
  dir.line('local_cpus', cpuMask(cpus));
  dir.line('power_state', gpu.live.runtimeStatus === 'suspended' ? 'D3hot' : 'D0');
  dir.line('d3cold_allowed', 1, WRITABLE);
  dir.line('reset_method', 'bus', WRITABLE);
  dir.line('sriov_totalvfs', spec.apu ? 0 : 8);
  dir.line('sriov_numvfs', 0, WRITABLE);
  dir.line('sriov_drivers_autoprobe', 1, WRITABLE);
  dir.link('driver', `${PCI_BUS}/drivers/amdgpu`);
  dir.link('subsystem', PCI_BUS);
  linkFiles(dir, spec.pcie, gpu.live.link);
  aerFiles(dir);
  powerFiles(node, gpu, dir.within('power'));
}

/** The port above the GPU: the link it shares with the GPU has the same rate and width. */
export function portFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  const spec = MODELS[node.model];
  dir.line('vendor', '0x1022');
  dir.line('device', '0x14ab');
  dir.line('class', '0x060400');
  dir.line('numa_node', gpu.numa, WRITABLE);
  dir.link('subsystem', PCI_BUS);
  linkFiles(dir, spec.pcie, gpu.live.link);
}

function linkFiles(dir: Directory, max: Gpu['live']['link'], current: Gpu['live']['link']): void {
  dir.line('max_link_speed', linkSpeed(max.speed));
  dir.line('max_link_width', max.width);
  dir.line('current_link_speed', linkSpeed(current.speed));
  dir.line('current_link_width', current.width);
}

const linkSpeed = (gigatransfers: number): string => `${gigatransfers.toFixed(1)} GT/s PCIe`;

const CORRECTABLE = ['RxErr', 'BadTLP', 'BadDLLP', 'Rollover', 'Timeout', 'NonFatalErr', 'CorrIntErr', 'HeaderOF'];
const UNCORRECTABLE = [
  ...['Undefined', 'DLP', 'SDES', 'TLP', 'FCP', 'CmpltTO', 'CmpltAbrt', 'UnxCmplt', 'RxOF', 'MalfTLP', 'ECRC'],
  ...['UnsupReq', 'ACSViol', 'UncorrIntErr', 'BlockedTLP', 'AtomicOpBlocked', 'TLPBlockedErr', 'PoisonTLPBlocked'],
];

function aerFiles(dir: Directory): void {
  const text = (names: readonly string[], total: string): string =>
    [...names, total].map((name) => `${name} 0\n`).join('');
  dir.raw('aer_dev_correctable', text(CORRECTABLE, 'TOTAL_ERR_COR'));
  dir.raw('aer_dev_nonfatal', text(UNCORRECTABLE, 'TOTAL_ERR_NONFATAL'));
  dir.raw('aer_dev_fatal', text(UNCORRECTABLE, 'TOTAL_ERR_FATAL'));
}

function powerFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  dir.line('control', 'on', WRITABLE);
  dir.line('runtime_status', gpu.live.runtimeStatus);
  dir.line('runtime_enabled', 'forbidden');
  dir.line('runtime_active_time', Math.round(node.boot.uptime * 1000));
  dir.line('runtime_suspended_time', 0);
  dir.line('autosuspend_delay_ms', 5000, WRITABLE);
}

function uevent(gpu: Gpu, device: number, subsystem: number, pciClass: number, alias: string): string {
  const id = (value: number): string => value.toString(16).toUpperCase().padStart(4, '0');
  return [
    'DRIVER=amdgpu',
    `PCI_CLASS=${pciClass.toString(16).toUpperCase()}`,
    `PCI_ID=${id(VENDOR)}:${id(device)}`,
    `PCI_SUBSYS_ID=${id(VENDOR)}:${id(subsystem)}`,
    `PCI_SLOT_NAME=${gpu.pci}`,
    `MODALIAS=${alias}`,
    '',
  ].join('\n');
}

function modalias(device: number, subsystem: number, pciClass: number): string {
  const wide = (value: number): string => value.toString(16).toUpperCase().padStart(8, '0');
  const byte = (shift: number): string => ((pciClass >> shift) & 0xff).toString(16).toUpperCase().padStart(2, '0');
  const ids = `v${wide(VENDOR)}d${wide(device)}sv${wide(VENDOR)}sd${wide(subsystem)}`;
  return `pci:${ids}bc${byte(16)}sc${byte(8)}i${byte(0)}`;
}

/** `0-3,8-11` as the kernel's mask: hexadecimal words of 32 bits, highest first. */
function cpuMask(list: string): string {
  let mask = 0n;
  for (const range of list.split(',').filter(Boolean)) {
    const [first, last] = range.split('-').map(Number) as [number, number?];
    mask |= ((1n << BigInt((last ?? first) - first + 1)) - 1n) << BigInt(first);
  }
  const words: string[] = [];
  for (let rest = mask; rest > 0n || words.length === 0; rest >>= 32n)
    words.unshift((rest & 0xffff_ffffn).toString(16).padStart(8, '0'));
  return words.join(',');
}
