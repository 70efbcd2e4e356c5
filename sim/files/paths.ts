import type { Gpu } from '../node.ts';

/** Where the parts of a node stand in the tree. */

export const DRM_CLASS = 'sys/class/drm';
export const HWMON_CLASS = 'sys/class/hwmon';
export const PCI_BUS = 'sys/bus/pci';
export const PLATFORM_BUS = 'sys/bus/platform';
export const KFD = 'sys/devices/virtual/kfd/kfd';

export const portPath = (gpu: Gpu): string => `sys/devices/${gpu.root}/${gpu.port}`;
export const devicePath = (gpu: Gpu): string => `${portPath(gpu)}/${gpu.pci}`;
export const hwmonPath = (gpu: Gpu): string => `${devicePath(gpu)}/hwmon/hwmon${gpu.hwmon}`;
export const platformPath = (platform: number): string => `sys/devices/platform/amdgpu_xcp_${platform}`;
