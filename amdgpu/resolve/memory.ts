import { memory } from '../../model/quantities/memory.ts';
import { parseCarveout, parseCarveoutOptions } from '../formats/carveout.ts';
import { memoryBank } from '../formats/kfd.ts';
import { type Context, first, firstOf, scaled, states, uint } from './context.ts';

export function resolveMemory({ raw, table, out }: Context): void {
  const used = firstOf(
    [uint(raw, 'mem_info_vram_used'), 'mem_info_vram_used'],
    [uint(raw, 'kfd/used_memory'), 'kfd used_memory'],
  );
  out.put(memory.vramUsed, ...used);
  out.put(memory.visibleVramUsed, uint(raw, 'mem_info_vis_vram_used'), 'mem_info_vis_vram_used');
  out.put(memory.gttUsed, uint(raw, 'mem_info_gtt_used'), 'mem_info_gtt_used');
  out.put(memory.preemptibleUsed, uint(raw, 'mem_info_preempt_used'), 'mem_info_preempt_used');
  out.put(memory.bandwidthMax, scaled(first(table, 'mem_max_bandwidth'), 1e9), 'gpu_metrics');
}

export function resolveMemorySizes(context: Context): void {
  const { raw, kfd, card, out } = context;
  const total = uint(raw, 'mem_info_vram_total');
  out.put(memory.vramSize, ...firstOf([total, 'mem_info_vram_total'], [bankOfWholeCard(context), 'kfd mem_banks']));
  out.put(memory.visibleVramSize, uint(raw, 'mem_info_vis_vram_total'), 'mem_info_vis_vram_total');
  out.put(memory.gttSize, uint(raw, 'mem_info_gtt_total'), 'mem_info_gtt_total');
  for (const node of kfd) {
    const label = String(node.partition);
    const banks = node.memBanks.map(memoryBank).filter((bank) => bank.heap?.startsWith('vram'));
    if (banks.length === 0) continue;
    const bytes = banks.reduce((sum, bank) => sum + (bank.bytes ?? 0), 0);
    out.put(memory.bankSize, bytes > 0 ? bytes : undefined, 'kfd mem_banks', label);
    out.put(memory.busWidth, banks[0]?.width || undefined, 'kfd mem_banks', label);
    out.put(memory.vramClockMax, banks[0]?.hertz || undefined, 'kfd mem_banks', label);
  }
  if (card.model.family === 'apu') carveout(context);
}

function carveout({ raw, out }: Context): void {
  const options = raw.parse('uma/carveout_options', parseCarveoutOptions) ?? [];
  const current = raw.parse('uma/carveout', parseCarveout);
  if (current === undefined) return;
  const name = (index: number): string => options.find((option) => option.index === index)?.name ?? String(index);
  const names = options.map((option) => option.name);
  states(out, memory.carveout, names, name(current), 'uma/carveout');
}

/** KFD alone tells the size where the driver shows no mem_info files; with partitions its banks may be views of one pool. */
function bankOfWholeCard({ kfd }: Context): number | undefined {
  if (kfd.length !== 1) return undefined;
  const banks = (kfd[0]?.memBanks ?? []).map(memoryBank).filter((bank) => bank.heap?.startsWith('vram'));
  const bytes = banks.reduce((sum, bank) => sum + (bank.bytes ?? 0), 0);
  return bytes > 0 ? bytes : undefined;
}
