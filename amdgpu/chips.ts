import type { Family } from '../model/card.ts';

/**
 * PCI device ids of the Instinct parts, and of their virtual functions.
 * Source: torvalds/linux drivers/gpu/drm/amd/amdgpu/amdgpu_drv.c, amdgpu_discovery.c; libdrm amdgpu.ids.
 */
const INSTINCT: Record<string, { name: string; family: Family; virtual?: boolean; dualDie?: boolean }> = {
  '0x66a0': { name: 'MI50', family: 'mi50' },
  '0x66a1': { name: 'MI50', family: 'mi50' },
  '0x66af': { name: 'Radeon VII', family: 'mi50' },
  '0x738c': { name: 'MI100', family: 'mi100' },
  '0x738e': { name: 'MI100', family: 'mi100' },
  '0x7408': { name: 'MI250X', family: 'mi200', dualDie: true },
  '0x740c': { name: 'MI250', family: 'mi200', dualDie: true },
  '0x740f': { name: 'MI210', family: 'mi200' },
  '0x7410': { name: 'MI210', family: 'mi200', virtual: true },
  '0x74a0': { name: 'MI300A', family: 'mi300' },
  '0x74a1': { name: 'MI300X', family: 'mi300' },
  '0x74a2': { name: 'MI308X', family: 'mi300' },
  '0x74a5': { name: 'MI325X', family: 'mi300' },
  '0x74a8': { name: 'MI308X HF', family: 'mi300' },
  '0x74a9': { name: 'MI300X HF', family: 'mi300' },
  '0x74bd': { name: 'MI300X HF', family: 'mi300' },
  '0x74b5': { name: 'MI300X', family: 'mi300', virtual: true },
  '0x74b6': { name: 'MI308X', family: 'mi300', virtual: true },
  '0x74b9': { name: 'MI325X', family: 'mi300', virtual: true },
  '0x75a0': { name: 'MI350X', family: 'mi350' },
  '0x75a3': { name: 'MI355X', family: 'mi350' },
  '0x75b0': { name: 'MI350X', family: 'mi350', virtual: true },
  '0x75b3': { name: 'MI355X', family: 'mi350', virtual: true },
};

/** Device id ranges of the Radeon generations, for what their files mean; the name stays the card's own product name. */
const RANGES: [number, number, Family][] = [
  [0x6860, 0x687f, 'vega'],
  [0x7310, 0x731f, 'navi1'],
  [0x7340, 0x734f, 'navi1'],
  [0x7360, 0x7360, 'navi1'],
  [0x73a0, 0x73ff, 'navi2'],
  [0x7420, 0x743f, 'navi2'],
  [0x7440, 0x749f, 'navi3'],
  [0x7550, 0x759f, 'navi4'],
  [0x15d0, 0x15df, 'apu'],
  [0x15b0, 0x15cf, 'apu'],
  [0x1630, 0x164f, 'apu'],
  [0x1680, 0x1687, 'apu'],
  [0x150e, 0x150e, 'apu'],
  [0x1586, 0x1586, 'apu'],
  [0x1900, 0x1902, 'apu'],
  [0x1114, 0x1114, 'apu'],
];

/** What cards are called by, each once. */
export const MODEL_NAMES: readonly string[] = [...new Set(Object.values(INSTINCT).map(({ name }) => name))];

export interface Chip {
  name: string;
  family: Family;
  virtual: boolean;
  dualDie: boolean;
}

/** What a PCI device id (`0x74a1`) says; `gfx` (`gfx942`) helps where the id is not known. */
export function identify(deviceId: string, gfx: string): Chip {
  const known = INSTINCT[deviceId];
  if (known !== undefined) {
    return { name: known.name, family: known.family, virtual: known.virtual ?? false, dualDie: known.dualDie ?? false };
  }
  return { name: '', family: familyOf(Number(deviceId), gfx), virtual: false, dualDie: false };
}

function familyOf(id: number, gfx: string): Family {
  for (const [from, to, family] of RANGES) if (id >= from && id <= to) return family;
  if (/^gfx94/.test(gfx)) return 'mi300';
  if (/^gfx95/.test(gfx)) return 'mi350';
  if (gfx === 'gfx90a') return 'mi200';
  if (gfx === 'gfx908') return 'mi100';
  if (gfx === 'gfx906') return 'mi50';
  return 'other';
}

/** Instinct parts since MI100: gpu_metrics holds what the single files say, from the same firmware table. */
export function tableFirst(family: Family): boolean {
  return family === 'mi100' || family === 'mi200' || family === 'mi300' || family === 'mi350';
}

/** energy_accumulator counts 2^-16 J on these; elsewhere its tick is undocumented. */
export function energyDocumented(family: Family): boolean {
  return family === 'mi200' || family === 'mi300' || family === 'mi350';
}
