/** Throttle bits in the driver's words. `indep` is the same on every chip; the others belong to one family each. */
export type ThrottleMap = 'indep' | 'mi200' | 'mi100' | 'rx6000' | 'rx7000' | 'renoir';

/** `BIT NAME NAME …`: names of consecutive bits from BIT on. */
function bits(...runs: readonly string[]): ReadonlyMap<number, string> {
  const map = new Map<number, string>();
  for (const run of runs) {
    const [first, ...names] = run.split(' ');
    for (const [i, name] of names.entries()) map.set(Number(first) + i, name);
  }
  return map;
}

/**
 * Names by bit. `indep` is field indep_throttle_status (gpu_metrics 1.3, 2.2 and later), the others are throttle_status.
 * Sources: smu_v11/v12/v13 driver interface headers and amdgpu_smu.h. 1.4 and 1.5 always write 0 to throttle_status, so
 * there is no map for MI300.
 */
export const THROTTLE_BITS: Readonly<Record<ThrottleMap, ReadonlyMap<number, string>>> = {
  indep: bits(
    '0 ppt0 ppt1 ppt2 ppt3 spl fppt sppt sppt_apu',
    '16 tdc_gfx tdc_soc tdc_mem tdc_vdd tdc_cvip edc_cpu edc_gfx apcc',
    '32 temp_gpu temp_core temp_mem temp_edge temp_hotspot temp_soc temp_vr_gfx temp_vr_soc',
    '40 temp_vr_mem0 temp_vr_mem1 temp_liquid0 temp_liquid1 vrhot0 vrhot1 prochot_cpu prochot_gfx',
    '56 ppm fit',
  ),
  mi200: bits(
    '0 ppt0 ppt1 tdc_gfx tdc_soc tdc_hbm',
    '6 temp_gpu temp_mem',
    '11 temp_vr_gfx temp_vr_soc temp_vr_mem',
    '19 apcc',
  ),
  mi100: bits(
    '1 temp_edge temp_hotspot temp_mem temp_vr_gfx temp_vr_mem temp_vr_soc tdc_gfx tdc_soc',
    '9 ppt0 ppt1 ppt2 ppt3 ppm fit apcc vrhot0 vrhot1',
  ),
  rx6000: bits(
    '1 temp_edge temp_hotspot temp_mem temp_vr_gfx temp_vr_mem0 temp_vr_mem1 temp_vr_soc temp_liquid0 temp_liquid1',
    '10 temp_plx tdc_gfx tdc_soc ppt0 ppt1 ppt2 ppt3 fit ppm apcc',
  ),
  rx7000: bits(
    '0 temp_edge temp_hotspot temp_hotspot_gfx temp_hotspot_mem temp_mem temp_vr_gfx temp_vr_mem0 temp_vr_mem1',
    '8 temp_vr_soc temp_vr_u temp_liquid0 temp_liquid1 temp_plx tdc_gfx tdc_soc tdc_u ppt0 ppt1 ppt2 ppt3 fit apcc',
  ),
  renoir: bits(
    '0 spl fppt sppt sppt_apu temp_core temp_gpu temp_soc tdc_vdd tdc_soc prochot_cpu prochot_gfx edc_cpu edc_gfx',
  ),
};

/** Names of the bits set in a throttle word, lowest first; a bit without a name is `bit_<n>`. */
export function throttleNames(map: ThrottleMap, word: bigint | number): string[] {
  const names: string[] = [];
  let rest = BigInt(word);
  for (let bit = 0; rest > 0n; bit++, rest >>= 1n) {
    if (rest & 1n) names.push(THROTTLE_BITS[map].get(bit) ?? `bit_${bit}`);
  }
  return names;
}
