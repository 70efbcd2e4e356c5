import type { NodeDescription } from '../node.ts';
import { type Directory, directory, type Files, WRITABLE } from './entry.ts';
import { DRM_CLASS, devicePath, PLATFORM_BUS, platformPath } from './paths.ts';

/** Card and render nodes, of the PCI devices and of the platform devices that stand for further partitions. */

const DRM_MAJOR = 226;

export function drmFiles(node: NodeDescription, files: Files): void {
  const drmClass = directory(files, DRM_CLASS);
  drmClass.line('version', 'drm 1.1.0 20060810');
  for (const gpu of node.gpus) {
    nodePair(files, devicePath(gpu), gpu.card, gpu.render);
    for (const slot of gpu.reserved) {
      const path = platformPath(slot.platform);
      const name = `amdgpu_xcp_${slot.platform}`;
      nodePair(files, path, slot.card, slot.render);
      platformFiles(directory(files, path), name);
      directory(files, `${PLATFORM_BUS}/devices`).link(name, path);
    }
  }
}

/** The parent of a further partition: it has neither PCI ids nor sensors. */
function platformFiles(dir: Directory, name: string): void {
  dir.link('subsystem', PLATFORM_BUS);
  dir.line('modalias', `platform:${name.replace(/_\d+$/, '')}`);
  dir.raw('uevent', `MODALIAS=platform:${name.replace(/_\d+$/, '')}\n`, WRITABLE);
  dir.line('power/runtime_status', 'unsupported');
  dir.line('power/control', 'auto', WRITABLE);
}

function nodePair(files: Files, device: string, card: number, render: number): void {
  for (const [name, minor] of [
    [`card${card}`, card],
    [`renderD${render}`, render],
  ] as const) {
    const dir = directory(files, `${device}/drm/${name}`);
    dir.line('dev', `${DRM_MAJOR}:${minor}`);
    dir.raw('uevent', `MAJOR=${DRM_MAJOR}\nMINOR=${minor}\nDEVNAME=dri/${name}\nDEVTYPE=drm_minor\n`, WRITABLE);
    dir.link('device', device);
    dir.link('subsystem', DRM_CLASS);
    directory(files, DRM_CLASS).link(name, dir.path);
  }
}
