import { DEBUG } from '../files/debug.ts';
import { DRM_CLASS, devicePath, HWMON_CLASS, KFD, PCI_BUS, PLATFORM_BUS, platformPath } from '../files/paths.ts';
import type { NodeDescription } from '../node.ts';

/** Everything that goes when a GPU falls off the bus: its directories, what leads to them, and its agents. */
export function pathsOfGpu(node: NodeDescription, index: number): string[] {
  const gpu = node.gpus[index];
  if (!gpu) throw new RangeError(`there is no GPU ${index}; the node has ${node.gpus.length}`);
  const nodes = [gpu, ...gpu.reserved].flatMap(({ card, render }) => [`card${card}`, `renderD${render}`]);
  return [
    devicePath(gpu),
    `${PCI_BUS}/devices/${gpu.pci}`,
    `${PCI_BUS}/drivers/amdgpu/${gpu.pci}`,
    `${HWMON_CLASS}/hwmon${gpu.hwmon}`,
    ...nodes.map((name) => `${DRM_CLASS}/${name}`),
    ...gpu.reserved.flatMap(({ platform }) => [
      platformPath(platform),
      `${PLATFORM_BUS}/devices/amdgpu_xcp_${platform}`,
    ]),
    ...gpu.partitions.map(({ kfdNode }) => `${KFD}/topology/nodes/${kfdNode}`),
    `${DEBUG}/${gpu.card}`,
    `${DEBUG}/${gpu.pci}`,
  ];
}
