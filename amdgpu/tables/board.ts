import type { BoardTemperature } from './types.ts';

/**
 * Sensors of board/gpuboard_temp and board/baseboard_temp revision 1.0, by the field that holds them. Each word carries the
 * sensor's index into its list in bits 31:24; entries are packed from slot 0 in any order, so the slot says nothing.
 */
export const BOARD_SENSORS: Readonly<Record<string, readonly string[]>> = {
  node_temp: ['retimer', 'oam_ibc', 'oam_ibc_2', 'oam_vdd18_vr', 'oam_04_hbm_b_vr', 'oam_04_hbm_d_vr'],
  vr_temp: [
    ...['vddcr_vdd0', 'vddcr_vdd1', 'vddcr_vdd2', 'vddcr_vdd3', 'vddcr_soc_a', 'vddcr_soc_c', 'vddcr_socio_a'],
    ...['vddcr_socio_c', 'vdd_085_hbm', 'vddcr_11_hbm_b', 'vddcr_11_hbm_d', 'vdd_usr', 'vddio_11_e32'],
  ],
  system_temp: [
    ...['ubb_fpga', 'ubb_front', 'ubb_back', 'ubb_oam7', 'ubb_ibc', 'ubb_ufpga', 'ubb_oam1', 'oam_0_1_hsc'],
    ...['oam_2_3_hsc', 'oam_4_5_hsc', 'oam_6_7_hsc', 'ubb_fpga_0v72_vr', 'ubb_fpga_3v3_vr', 'retimer_0_1_2_3_1v2_vr'],
    ...['retimer_4_5_6_7_1v2_vr', 'retimer_0_1_0v9_vr', 'retimer_4_5_0v9_vr', 'retimer_2_3_0v9_vr'],
    ...['retimer_6_7_0v9_vr', 'oam_0_1_2_3_3v3_vr', 'oam_4_5_6_7_3v3_vr', 'ibc_hsc', 'ibc'],
  ],
};

/** One packed word to a temperature: bits 31:24 the sensor, bits 23:0 signed whole degrees. */
export function unpackTemp(field: string, word: number): BoardTemperature {
  const id = word >>> 24;
  return { sensor: BOARD_SENSORS[field]?.[id] ?? `sensor_${id}`, celsius: (word << 8) >> 8 };
}

/** Words for `encodeTable` from temperatures: each sensor goes to the next free slot of the field that knows it. */
export function packTemps(temps: readonly BoardTemperature[]): Record<string, number[]> {
  const words: Record<string, number[]> = {};
  for (const { sensor, celsius } of temps) {
    const field = Object.keys(BOARD_SENSORS).find((f) => BOARD_SENSORS[f]?.includes(sensor));
    if (!field) throw new RangeError(`no board sensor is called ${sensor}`);
    const id = BOARD_SENSORS[field]?.indexOf(sensor) ?? 0;
    words[field] ??= [];
    words[field].push(((id << 24) | (Math.round(celsius) & 0xffffff)) >>> 0);
  }
  return words;
}
