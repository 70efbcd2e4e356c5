import { clockFiles } from '../files/clocks.ts';
import { directory, type Files } from '../files/entry.ts';
import { hwmonFiles } from '../files/hwmon.ts';
import { kfdProcessFiles } from '../files/kfd-process.ts';
import { memoryFiles } from '../files/memory.ts';
import { partitionFiles } from '../files/partition.ts';
import { devicePath, hwmonPath, platformPath, portPath } from '../files/paths.ts';
import { pciFiles, portFiles } from '../files/pci.ts';
import { procFiles } from '../files/proc.ts';
import { rasFiles } from '../files/ras.ts';
import { boardFiles, partitionTable, tableFiles } from '../files/tables.ts';
import { throttleLogFile } from '../files/throttle-log.ts';
import { expressionOf } from '../relay-faults.ts';
import type { Gpu, NodeDescription } from '../tree.ts';

/** What is rendered how often: a step renders what the firmware measures, and everything else is looked at each second. */

/** Sensors, clocks, load, memory and tables of one GPU. */
export function fastFiles(node: NodeDescription, gpu: Gpu, files: Files): void {
  const device = directory(files, devicePath(gpu));
  memoryFiles(node, gpu, device);
  clockFiles(node, gpu, device);
  hwmonFiles(node, gpu, directory(files, hwmonPath(gpu)));
  tableFiles(node, gpu, device);
  for (const partition of gpu.partitions) {
    const slot = gpu.reserved.find(({ partition: number }) => number === partition.number);
    if (slot) partitionTable(node, gpu, partition, directory(files, platformPath(slot.platform)));
  }
}

/** Errors, modes, link and power state of one GPU. */
export function slowFiles(node: NodeDescription, gpu: Gpu, files: Files): void {
  const device = directory(files, devicePath(gpu));
  rasFiles(node, gpu, device.within('ras'));
  partitionFiles(node, gpu, device);
  throttleLogFile(gpu, device);
  boardFiles(node, gpu, device.within('board'));
  pciFiles(node, gpu, device);
  portFiles(node, gpu, directory(files, portPath(gpu)));
}

export function processFiles(node: NodeDescription, files: Files): void {
  kfdProcessFiles(node, files);
  procFiles(node, files);
}

/** Files behind which the firmware must answer, below a device directory; what is in the others the driver knows by itself. */
export const ASKS_FIRMWARE: readonly string[] = [
  'gpu_metrics',
  'xcp/xcp_metrics',
  '*_busy_percent',
  'pp_dpm_*',
  'pp_od_clk_voltage',
  'pp_features',
  'pcie_bw',
  'power_dpm_force_performance_level',
  'hwmon/*/*_input',
  'hwmon/*/*_average',
  'hwmon/*/power?_cap*',
];
const SILENT = new RegExp(`^(?:${ASKS_FIRMWARE.map((pattern) => expressionOf(pattern)).join('|')})$`);

/** Whether the firmware of this GPU must answer a read or write of the file. */
export function asksFirmware(gpu: Gpu, path: string): boolean {
  const device = `${devicePath(gpu)}/`;
  return path.startsWith(device) && SILENT.test(path.slice(device.length));
}

/** A GPU whose firmware does not answer, as it was seen on a real one: these files are there, and reading them gives nothing. */
export function silence(gpu: Gpu, files: Files): void {
  for (const [path, entry] of files)
    if (!('link' in entry) && asksFirmware(gpu, path)) files.set(path, { ...entry, content: '' });
}
