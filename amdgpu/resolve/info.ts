import { info } from '../../model/quantities/info.ts';
import { computeUnits, kfdNumber } from '../formats/kfd.ts';
import { parseInt10, parseWord } from '../formats/scalar.ts';
import type { Context } from './context.ts';

const FIRMWARE = /^fw_version\/(\w+)_fw_version$/;
const RESET = /^(\w+)_reset_mask$/;

/** Identity. `extra` is what discovery knows: card and render node, and the driver that is loaded. */
export function resolveInfo(
  { card, raw, kfd, out }: Context,
  extra: { card: string; renderNode: string; driver: string; simulated: boolean },
): void {
  const word = (name: string): string => raw.parse(name, parseWord) ?? '';
  const ids = new Set(kfd.map((node) => node.props.get('unique_id')));
  // The topology's id is the socket's only where all partitions have the same: newer drivers give each its own.
  const unique = ids.size === 1 ? kfd[0]?.props.get('unique_id') : undefined;
  out.putAll(info.info, 1, 'uevent', [
    card.pci.startsWith('kfd-') ? '' : card.pci,
    card.package,
    word('unique_id').replace(/^0+$/, '') || (unique === undefined || unique === 0n ? '' : hex16(unique)),
    word('serial_number'),
    word('product_name'),
    word('product_number'),
    word('manufacturer'),
    card.model.name,
    card.model.deviceId,
    word('revision'),
    [word('subsystem_vendor'), word('subsystem_device')].filter((part) => part !== '').join(':'),
    card.model.gfx,
    word('vbios_version'),
    extra.driver,
    word('mem_info_vram_vendor').replace(/^unknown$/, ''),
    word('board_info')
      .replace(/^type\s*:\s*/, '')
      .replace(/^unknown$/, ''),
    word('xgmi_physical_id'),
    extra.card,
    extra.renderNode,
    card.virtual ? 'true' : '',
    word('vendor'),
    extra.simulated ? 'true' : '',
  ]);
  for (const name of raw.names()) {
    const block = FIRMWARE.exec(name)?.[1];
    const version = block === undefined ? undefined : raw.parse(name, parseWord);
    // 0x00000000 says that the block has no firmware of its own.
    if (block !== undefined && version !== undefined && Number(version) !== 0)
      out.put(info.firmware, 1, name, block, version);
    const engine = RESET.exec(name)?.[1];
    if (engine === undefined) continue;
    for (const method of (raw.parse(name, parseWord) ?? '').split(/\s+/)) {
      if (method !== '' && method !== 'unsupported') out.put(info.resetMethod, 1, name, engine, method);
    }
  }
  for (const method of (raw.parse('reset_method', parseWord) ?? '').split(/\s+/)) {
    if (method !== '') out.put(info.resetMethod, 1, 'reset_method', 'pci', method);
  }
  const numa = raw.parse('numa_node', parseInt10);
  // -1: the firmware names no node.
  if (numa !== undefined && numa >= 0) out.put(info.numaNode, numa, 'numa_node');
  const cpus = raw.parse('local_cpulist', parseWord);
  if (cpus !== undefined) out.put(info.cpuAffinity, 1, 'local_cpulist', cpus);
  shape({ kfd, out });
}

function shape({ kfd, out }: Pick<Context, 'kfd' | 'out'>): void {
  for (const node of kfd) {
    const label = String(node.partition);
    const number = (key: string): number | undefined => kfdNumber(node.props, key) || undefined;
    out.put(info.computeUnits, computeUnits(node.props) || undefined, 'kfd properties', label);
    out.put(info.simds, number('simd_count'), 'kfd properties', label);
    out.put(info.xccs, number('num_xcc'), 'kfd properties', label);
    out.put(info.wavesPerSimd, number('max_waves_per_simd'), 'kfd properties', label);
    out.put(info.shaderArrays, number('array_count'), 'kfd properties', label);
    const clock = number('max_engine_clk_fcompute');
    out.put(info.engineClockMax, clock === undefined ? undefined : clock * 1e6, 'kfd properties', label);
    for (const { level, kind, bytes, count } of node.caches) {
      out.put(info.cacheSize, bytes, 'kfd caches', String(level), kind, label);
      out.put(info.caches, count, 'kfd caches', String(level), kind, label);
    }
  }
}

function hex16(value: bigint): string {
  return value.toString(16).padStart(16, '0');
}
