import { describe, expect, it } from 'vitest';
import { packTemps } from '../../../amdgpu/tables/board.ts';
import { encodeTable } from '../../../amdgpu/tables/encode.ts';
import { blank, decoded, put } from './bytes.ts';
import { recordTable } from './recordbytes.ts';

describe('gpuboard_temp 1.0', () => {
  it('names sensors by the top byte, not by their slot', () => {
    const bytes = blank('1.0', 120);
    put(bytes, 16, 'u32', 0x0300_002e);
    put(bytes, 20, 'u32', 0x0000_0033);
    put(bytes, 64, 'u32', 0x0c00_0040);
    put(bytes, 112, 'u32', 0x0000_0041);
    expect(decoded('gpuboard_temp', bytes).temps()).toEqual([
      { sensor: 'oam_vdd18_vr', celsius: 46 },
      { sensor: 'retimer', celsius: 51 },
      { sensor: 'vddio_11_e32', celsius: 64 },
      { sensor: 'vddcr_vdd0', celsius: 65 },
    ]);
  });

  it('reads degrees below zero, and -1 where the sensor has a number', () => {
    const bytes = blank('1.0', 120);
    put(bytes, 16, 'u32', 0x01ff_fff6);
    put(bytes, 20, 'u32', 0x02ff_ffff);
    expect(decoded('gpuboard_temp', bytes).temps()).toEqual([
      { sensor: 'oam_ibc', celsius: -10 },
      { sensor: 'oam_ibc_2', celsius: -1 },
    ]);
  });

  it('stops at structure_size in a file of 144 bytes', () => {
    const bytes = blank('1.0', 120, 144);
    put(bytes, 120, 'u32', 0x0100_0020);
    const table = decoded('gpuboard_temp', bytes);
    expect(table.temps()).toEqual([]);
    expect(table.size).toBe(120);
    expect(table.absentCount).toBe(26);
  });

  it('gives its head, in which all ones are a number', () => {
    const bytes = blank('1.0', 120);
    put(bytes, 4, 'u16', 0xffff);
    put(bytes, 6, 'u16', 3);
    put(bytes, 8, 'u64', 77n);
    const table = decoded('gpuboard_temp', bytes);
    expect(table.num('label_version')).toBe(65535);
    expect(table.num('node_id')).toBe(3);
    expect(table.num('accumulation_counter')).toBe(77);
  });

  it('calls a sensor without a name by its number', () => {
    const bytes = blank('1.0', 120);
    put(bytes, 60, 'u32', 0x0600_0010);
    put(bytes, 64, 'u32', 0xfe00_0011);
    expect(decoded('gpuboard_temp', bytes).temps()).toEqual([
      { sensor: 'sensor_6', celsius: 16 },
      { sensor: 'sensor_254', celsius: 17 },
    ]);
  });
});

describe('baseboard_temp 1.0', () => {
  it('reads its first and its last slot', () => {
    const bytes = blank('1.0', 144);
    put(bytes, 16, 'u32', 0x0700_0030);
    put(bytes, 140, 'u32', 0x1600_0031);
    expect(decoded('baseboard_temp', bytes).temps()).toEqual([
      { sensor: 'oam_0_1_hsc', celsius: 48 },
      { sensor: 'ibc', celsius: 49 },
    ]);
  });

  it('has no sensors where all slots are unused', () => {
    const table = decoded('baseboard_temp', blank('1.0', 144));
    expect(table.temps()).toEqual([]);
    expect(table.absentCount).toBe(33);
  });

  it('reads every sensor from words packed in any order', () => {
    const temps = [
      { sensor: 'ibc_hsc', celsius: 40 },
      { sensor: 'ubb_fpga', celsius: -3 },
      { sensor: 'retimer_6_7_0v9_vr', celsius: 55 },
    ];
    expect(packTemps(temps)).toEqual({ system_temp: [0x1500_0028, 0x00ff_fffd, 0x1200_0037] });
    expect(decoded('baseboard_temp', encodeTable('baseboard_temp', '1.0', packTemps(temps))).temps()).toEqual(temps);
    expect(() => packTemps([{ sensor: 'nose', celsius: 1 }])).toThrow(RangeError);
  });
});

describe('board temperatures 1.1', () => {
  it('are one signed record a sensor', () => {
    const table = decoded(
      'gpuboard_temp',
      recordTable('1.1', [
        [9, 6, 0, [5n]],
        [52, 2, 0, [1]],
        [53, 2, 0, [2]],
        [54, 3, 2, [44]],
        [59, 3, 2, [-7]],
        [80, 3, 2, [61]],
      ]),
    );
    expect(table.temps()).toEqual([
      { sensor: 'retimer', celsius: 44 },
      { sensor: '04_hbm_d_vr', celsius: -7 },
      { sensor: 'vddan_075', celsius: 61 },
    ]);
    expect(table.num('label_version')).toBe(1);
    expect(table.num('node_id')).toBe(2);
    expect(table.num('accumulation_counter')).toBe(5);
  });

  it('name baseboard sensors by ids 81 to 103', () => {
    const table = decoded(
      'baseboard_temp',
      recordTable('1.1', [
        [81, 3, 2, [30]],
        [94, 3, 2, [31]],
        [103, 3, 2, [32]],
      ]),
    );
    expect(table.temps().map((t) => t.sensor)).toEqual(['ubb_fpga', 'retimer_0_1_2_3_1v2_vr', 'ibc']);
    expect(table.version).toBe('baseboard_temp-1.1');
  });

  it('leave out a sensor that holds all ones', () => {
    const table = decoded(
      'baseboard_temp',
      recordTable('1.1', [
        [81, 3, 2, [-1]],
        [82, 3, 2, [28]],
      ]),
    );
    expect(table.temps()).toEqual([{ sensor: 'ubb_front', celsius: 28 }]);
    expect(table.absentCount).toBe(1);
  });

  it('do not hide in tables that have none', () => {
    expect(decoded('gpu_metrics', blank('1.3', 120).fill(1, 4)).temps()).toEqual([]);
  });
});
