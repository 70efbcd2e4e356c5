import { since } from '../driver.ts';
import { MODELS } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import type { Directory } from './entry.ts';

/** Memory and load. Source: drivers/gpu/drm/amd/amdgpu/{amdgpu_vram_mgr,amdgpu_gtt_mgr}.c, pm/amdgpu_pm.c. */

export function memoryFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  const spec = MODELS[node.model];
  // The newest driver sets up no VRAM manager on an APU: its memory is the node's own.
  if (!(spec.apu && since(node.driver, 'linux-6.19'))) {
    for (const part of ['vram', 'vis_vram']) {
      dir.line(`mem_info_${part}_total`, spec.vram);
      dir.line(`mem_info_${part}_used`, gpu.live.vramUsed);
    }
    if (spec.vramVendor) dir.line('mem_info_vram_vendor', spec.vramVendor);
  }
  const memory = node.sockets.reduce((sum, socket) => sum + socket.memory, 0);
  dir.line('mem_info_gtt_total', memory / 2);
  dir.line('mem_info_gtt_used', gpu.live.gttUsed);
  dir.line('mem_info_preempt_used', 0);
  dir.line('gpu_busy_percent', meanBusy(gpu));
  dir.line('mem_busy_percent', gpu.live.memBusy);
  // Messages received and sent in the last second, and the largest payload in bytes.
  const messages = Math.round((gpu.live.gfxBusy[0] ?? 0) * 1200);
  if (spec.family === 'mi100' || spec.family === 'mi200') dir.line('pcie_bw', `${messages} ${messages >> 1} 256`);
  dir.line('pcie_replay_count', gpu.counters.pcieReplay);
}

/** Whole percent over all compute dies, as the firmware gives it for the socket. */
export function meanBusy(gpu: Gpu): number {
  const sum = gpu.live.gfxBusy.reduce((total, percent) => total + percent, 0);
  return Math.round(sum / gpu.live.gfxBusy.length);
}
