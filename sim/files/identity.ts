import { since } from '../driver.ts';
import { MODELS, type ModelSpec } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import { type Directory, hex } from './entry.ts';

/**
 * Names, numbers and firmware versions. Source: drivers/gpu/drm/amd/amdgpu/{amdgpu_device,amdgpu_fru_eeprom,amdgpu_ucode,
 * amdgpu_discovery,amdgpu_atombios}.c.
 */

export function identityFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  const spec = MODELS[node.model];
  dir.line('unique_id', gpu.uniqueId.toString(16).padStart(16, '0'));
  dir.line('vbios_version', spec.vbios);
  if (spec.fru) {
    dir.line('product_name', spec.product);
    dir.line('product_number', spec.fru.number);
    dir.line('serial_number', gpu.serial);
    if (since(node.driver, 'linux-6.12')) {
      dir.line('manufacturer', spec.fru.manufacturer);
      dir.line('fru_id', `${spec.fru.number}-${gpu.serial.slice(-6)}`);
    }
  }
  if (!spec.apu && since(node.driver, 'linux-6.12')) dir.line('board_info', `type : ${isModule(spec) ? 'oam' : 'cem'}`);
  firmwareFiles(spec, dir.within('fw_version'));
  discoveryFiles(spec, dir.within('ip_discovery/die/0'));
}

/** MI250X and the MI300 line are accelerator modules; MI100 and MI210 are cards. */
const isModule = (spec: ModelSpec): boolean => spec.dies === 2 || spec.memoryModes.length > 0;

const FIRMWARE = [
  ...[
    'vce',
    'uvd',
    'mc',
    'me',
    'pfp',
    'ce',
    'rlc',
    'rlc_srlc',
    'rlc_srlg',
    'rlc_srls',
    'mec',
    'mec2',
    'imu',
    'sos',
    'asd',
  ],
  ...['ta_ras', 'ta_xgmi', 'smc', 'sdma', 'sdma2', 'vcn', 'dmcu'],
];

function firmwareFiles(spec: ModelSpec, dir: Directory): void {
  for (const name of new Set([...FIRMWARE, ...Object.keys(spec.firmware)]))
    dir.line(`${name}_fw_version`, hex(spec.firmware[name] ?? 0, 8));
}

interface Block {
  hwId: number;
  version: readonly [number, number, number];
  instances: number;
}

/** One directory a block, named by hardware id, with a link that has the block's name. */
function discoveryFiles(spec: ModelSpec, dir: Directory): void {
  const blocks = discoveredBlocks(spec);
  dir.line(
    'num_ips',
    Object.values(blocks).reduce((sum, block) => sum + block.instances, 0),
  );
  for (const [name, block] of Object.entries(blocks)) {
    dir.link(name, `${dir.path}/${block.hwId}`);
    for (let instance = 0; instance < block.instances; instance++) {
      const at = dir.within(`${block.hwId}/${instance}`);
      const [major, minor, revision] = block.version;
      at.line('hw_id', block.hwId);
      at.line('num_instance', instance);
      at.line('major', major);
      at.line('minor', minor);
      at.line('revision', revision);
      at.line('harvest', '0x0');
      at.line('num_base_addresses', 1);
      at.line('base_addr', hex(0x2000 + 0x100 * block.hwId + instance, 8));
    }
  }
}

function discoveredBlocks(spec: ModelSpec): Record<string, Block> {
  const ip = {
    mi100: { gc: [9, 4, 1], mp1: [11, 0, 2], sdma: [4, 2, 2], vcn: [2, 5, 0] },
    mi200: { gc: [9, 4, 2], mp1: [13, 0, 2], sdma: [4, 4, 0], vcn: [2, 6, 0] },
    mi300: { gc: [9, 4, 3], mp1: [13, 0, 6], sdma: [4, 4, 2], vcn: [4, 0, 3] },
    mi350: { gc: [9, 5, 0], mp1: [13, 0, 12], sdma: [4, 4, 5], vcn: [5, 0, 1] },
  } as const;
  const { gc, mp1, sdma, vcn } = ip[spec.family];
  return {
    MP1: { hwId: 1, version: mp1, instances: 1 },
    GC: { hwId: 11, version: gc, instances: spec.xccs },
    UVD: { hwId: 12, version: vcn, instances: spec.vcns },
    SDMA0: { hwId: 42, version: sdma, instances: spec.sdma.engines + spec.sdma.xgmi },
    UMC: { hwId: 150, version: spec.family === 'mi100' ? [6, 1, 2] : [12, 0, 0], instances: spec.hbmStacks },
  };
}
