import { since } from '../driver.ts';
import { MODELS } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import { type Directory, hex } from './entry.ts';

/** Hardware errors. Source: drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c. */

/** Bit of each block in the feature mask; one that is not listed here is numbered after the last. */
const BITS = [
  'umc',
  'sdma',
  'gfx',
  'mmhub',
  'athub',
  'pcie_bif',
  'hdp',
  'xgmi_wafl',
  'df',
  'smn',
  'sem',
  'mp0',
  'mp1',
  'fuse',
  'mca',
  'vcn',
  'jpeg',
];

export function rasFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  const { family } = MODELS[node.model];
  const deferred = family === 'mi300' || family === 'mi350';
  const blocks = Object.keys(gpu.ras.blocks);
  dir.line('features', `feature mask: ${hex(blocks.reduce((mask, block) => mask + 2 ** BITS.indexOf(block), 0))}`);
  dir.line('version', `table version: ${deferred ? '0x21000' : '0x10000'}`);
  dir.line('schema', `schema: ${deferred ? '0xf' : '0x7'}`);
  if (since(node.driver, 'linux-6.12')) dir.raw('event_state', eventState(gpu));
  dir.raw('gpu_vram_bad_pages', gpu.ras.badPages.map(badPage).join(''));
  for (const [block, { ue, ce, de }] of Object.entries(gpu.ras.blocks))
    dir.raw(`${block}_err_count`, `ue: ${ue}\nce: ${ce}\n${deferred && block === 'umc' ? `de: ${de}\n` : ''}`);
}

function badPage({ page, size, flag }: Gpu['ras']['badPages'][number]): string {
  return `${hex(page, 8)} : ${hex(size, 8)} : ${flag}\n`;
}

/** Events are numbered across their kinds in the order in which the driver saw them. */
function eventState(gpu: Gpu): string {
  const { fatal, poisonCreation, poisonConsumption } = gpu.ras.events;
  const kinds: [string, number][] = [
    ['Fatal Error', fatal],
    ['Poison Creation', poisonCreation],
    ['Poison Consumption', poisonConsumption],
  ];
  let seqno = 0;
  const lines = kinds.map(([name, count]) => {
    seqno += count;
    return `${name}: count:${count}, last_seqno:${count > 0 ? seqno : 0}\n`;
  });
  return `current seqno: ${seqno}\n${lines.join('')}`;
}
