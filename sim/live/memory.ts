import { DRIVER_VRAM } from '../describe-gpu.ts';
import { MODELS } from '../models.ts';
import type { LayerDemand } from '../scenario/run.ts';
import type { NodeDescription } from '../tree.ts';
import type { LiveJob } from './jobs.ts';

/**
 * Who gets how much of a GPU's memory. Batch jobs took theirs long before a request came, so inference gets what is left. `short`: bytes
 * that it then misses, by GPU; work of layers without a job is requests, and its memory is inference's too.
 */
export function grant(
  node: NodeDescription,
  jobs: readonly LiveJob[],
  demands: readonly LayerDemand[],
  short: Map<number, number>,
): void {
  const { vram } = MODELS[node.model];
  for (const { index } of node.gpus) {
    let room = vram - DRIVER_VRAM;
    let missing = 0;
    const give = (job: LiveJob): void => {
      job.granted = Math.min(job.run.held, room);
      room -= job.granted;
      if (job.job.class === 'inference') missing += job.run.held - job.granted;
    };
    const here = jobs.filter(({ gpu }) => gpu === index);
    for (const job of here) if (job.job.class !== 'inference') give(job);
    for (const job of here) if (job.job.class === 'inference') give(job);
    for (const { gpu, layer, amount } of demands)
      if (gpu === index && layer.job === undefined)
        missing += Math.max(0, (amount.vram ?? 0) * vram - Math.max(0, room));
    short.set(index, missing);
  }
}
