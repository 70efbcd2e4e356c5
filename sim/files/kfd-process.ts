import { since } from '../driver.ts';
import type { NodeDescription } from '../node.ts';
import { QUEUE_KINDS, type SimProcess } from '../process.ts';
import { type Directory, directory, type Files } from './entry.ts';
import { KFD } from './paths.ts';

/** Processes with /dev/kfd open. Source: drivers/gpu/drm/amd/amdkfd/kfd_process.c. */

export function kfdProcessFiles(node: NodeDescription, files: Files): void {
  for (const process of node.processes)
    if (process.kfd) processFiles(node, process, directory(files, `${KFD}/proc/${process.pid}`));
}

/** The process has an entry for each agent, with zeros where it does nothing. */
function processFiles(node: NodeDescription, process: SimProcess, dir: Directory): void {
  dir.line('pasid', since(node.driver, 'linux-6.19') ? 0 : process.pasid);
  for (const gpu of node.gpus) {
    for (const { number, kfdGpuId: id } of gpu.partitions) {
      const uses = process.gpus.filter((use) => use.gpu === gpu.index && use.partition === number);
      const sum = (key: 'vram' | 'sdma' | 'evicted' | 'cuOccupancy' | 'faults' | 'pageIn' | 'pageOut'): number =>
        uses.reduce((total, use) => total + use[key], 0);
      dir.line(`vram_${id}`, sum('vram'));
      dir.line(`sdma_${id}`, sum('sdma'));
      dir.line(`stats_${id}/evicted_ms`, sum('evicted'));
      dir.line(`stats_${id}/cu_occupancy`, sum('cuOccupancy'));
      dir.line(`counters_${id}/faults`, sum('faults'));
      dir.line(`counters_${id}/page_in`, sum('pageIn'));
      dir.line(`counters_${id}/page_out`, sum('pageOut'));
      // These three come without a newline.
      for (const queue of uses.flatMap((use) => use.queues)) {
        dir.raw(`queues/${queue.id}/size`, String(queue.size));
        dir.raw(`queues/${queue.id}/type`, String(QUEUE_KINDS.indexOf(queue.kind)));
        dir.raw(`queues/${queue.id}/gpuid`, String(id));
      }
    }
  }
}
