import type { NodeDescription } from '../node.ts';
import { type Directory, directory, type Files } from './entry.ts';
import { devicePath, HWMON_CLASS, hwmonPath, PCI_BUS, portPath } from './paths.ts';

/** The driver as a module, and the directories of buses and classes that lead to its devices. */

const PAGE = 4096;

export function moduleFiles(node: NodeDescription, files: Files): void {
  const module = directory(files, 'sys/module/amdgpu');
  module.line('initstate', 'live');
  module.line('refcnt', node.gpus.length);
  if (node.outOfTree !== undefined) module.line('version', node.outOfTree);
  // -2: a threshold that the driver computes from the size of the memory.
  module.line('parameters/bad_page_threshold', -2);
  const memory = node.sockets.reduce((sum, socket) => sum + socket.memory, 0);
  directory(files, 'sys/module/ttm').line('parameters/pages_limit', Math.floor(memory / 2 / PAGE), 0o644);
  indexes(node, directory(files, PCI_BUS), directory(files, HWMON_CLASS));
}

function indexes(node: NodeDescription, bus: Directory, hwmon: Directory): void {
  for (const gpu of node.gpus) {
    bus.link(`devices/${gpu.port}`, portPath(gpu));
    bus.link(`devices/${gpu.pci}`, devicePath(gpu));
    bus.link(`drivers/amdgpu/${gpu.pci}`, devicePath(gpu));
    hwmon.link(`hwmon${gpu.hwmon}`, hwmonPath(gpu));
  }
  bus.link('drivers/amdgpu/module', 'sys/module/amdgpu');
}
