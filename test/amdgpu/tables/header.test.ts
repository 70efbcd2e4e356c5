import { describe, expect, it } from 'vitest';
import { decodeTable, type TableKind } from '../../../amdgpu/tables/decode.ts';
import { blank, decoded, put, type Width } from './bytes.ts';

describe('the header decides', () => {
  it('calls fewer than four bytes short', () => {
    for (let n = 0; n < 4; n++) {
      expect(decodeTable('gpu_metrics', blank('1.3', 120).subarray(0, n))).toEqual({ ok: false, fault: 'short' });
    }
  });

  it('calls a read that ends before structure_size short, by even one byte', () => {
    const bytes = blank('1.3', 120);
    expect(decodeTable('gpu_metrics', bytes.subarray(0, 119))).toMatchObject({ ok: false, fault: 'short' });
    expect(decodeTable('gpu_metrics', bytes).ok).toBe(true);
  });

  it('refuses a size below the header and the revision 0.0', () => {
    for (const size of [0, 1, 2, 3]) {
      const bytes = blank('1.3', 120);
      put(bytes, 0, 'u16', size);
      expect(decodeTable('gpu_metrics', bytes)).toEqual({ ok: false, fault: 'bad_header' });
    }
    expect(decodeTable('gpu_metrics', blank('0.0', 120))).toEqual({ ok: false, fault: 'bad_header' });
    expect(decodeTable('gpu_metrics', new Uint8Array(4096))).toEqual({ ok: false, fault: 'bad_header' });
  });

  it('names a revision it does not know and decodes nothing of it', () => {
    const unknown: readonly (readonly [TableKind, string, string])[] = [
      ['gpu_metrics', '1.10', '1.10'],
      ['gpu_metrics', '2.5', '2.5'],
      ['gpu_metrics', '3.1', '3.1'],
      ['gpu_metrics', '0.3', '0.3'],
      ['partition', '1.2', 'partition-1.2'],
      ['gpuboard_temp', '2.0', 'gpuboard_temp-2.0'],
      ['baseboard_temp', '1.3', 'baseboard_temp-1.3'],
    ];
    for (const [kind, family, version] of unknown) {
      expect(decodeTable(kind, blank(family, 120))).toEqual({ ok: false, fault: 'unknown_version', version });
    }
  });

  it('keeps the revisions of the files apart', () => {
    expect(decodeTable('partition', blank('1.3', 120))).toMatchObject({ fault: 'unknown_version' });
    expect(decoded('partition', blank('1.0', 488)).has('temperature_edge')).toBe(false);
    expect(decoded('gpu_metrics', blank('1.0', 80)).has('temperature_edge')).toBe(true);
  });

  it('ignores what follows the table in a longer file', () => {
    const padded = blank('1.3', 120, 4096);
    put(padded, 4, 'u16', 40);
    const table = decoded('gpu_metrics', padded);
    expect(table.num('temperature_edge')).toBe(40);
    expect(table.num('indep_throttle_status')).toBeUndefined();
    expect(table.size).toBe(120);
  });
});

describe('a table shorter than its layout', () => {
  it('has only the fields that end inside it', () => {
    const bytes = blank('1.3', 120);
    put(bytes, 0, 'u16', 106);
    put(bytes, 104, 'u16', 800);
    put(bytes, 106, 'u16', 801);
    const table = decoded('gpu_metrics', bytes);
    expect(table.num('voltage_soc')).toBe(800);
    expect(table.has('voltage_gfx')).toBe(false);
    expect(table.num('voltage_gfx')).toBeUndefined();
    expect(table.nums('voltage_gfx')).toBeUndefined();
    expect([...table.fields()]).not.toContain('voltage_gfx');
  });

  it('lacks a field that ends beyond it by one byte', () => {
    const bytes = blank('1.3', 120);
    put(bytes, 0, 'u16', 103);
    put(bytes, 96, 'u64', 5n);
    expect(decoded('gpu_metrics', bytes).big('firmware_timestamp')).toBeUndefined();
    put(bytes, 0, 'u16', 104);
    expect(decoded('gpu_metrics', bytes).big('firmware_timestamp')).toBe(5n);
  });

  it('lacks an array of which a part is missing', () => {
    const bytes = blank('1.3', 120);
    put(bytes, 0, 'u16', 94);
    put(bytes, 88, 'u16', 50);
    expect(decoded('gpu_metrics', bytes).nums('temperature_hbm')).toBeUndefined();
  });

  it('has only the whole partitions', () => {
    const bytes = blank('1.8', 3872);
    put(bytes, 0, 'u16', 344 + 2 * 440 + 439);
    const table = decoded('gpu_metrics', bytes);
    expect(table.xcp()).toBe(2);
    expect(table.xcpNums(1, 'gfx_busy_inst')).toHaveLength(8);
    expect(table.xcpNums(2, 'gfx_busy_inst')).toBeUndefined();
    put(bytes, 0, 'u16', 200);
    expect(decoded('gpu_metrics', bytes).xcp()).toBe(0);
  });

  it('may be the header alone', () => {
    const table = decoded('gpu_metrics', blank('1.3', 4));
    expect([...table.fields()]).toEqual([]);
    expect(table.absentCount).toBe(0);
  });
});

describe('the marker for "not reported"', () => {
  const WIDTHS: readonly (readonly [string, number, number, Width, string])[] = [
    ['1.0', 80, 74, 'u8', 'pcie_link_width'],
    ['1.3', 120, 4, 'u16', 'temperature_edge'],
    ['1.3', 120, 68, 'u32', 'throttle_status'],
    ['1.3', 120, 24, 'u64', 'energy_accumulator'],
  ];

  it('is all ones of the field alone, never of a narrower width', () => {
    for (const [version, size, offset, width, name] of WIDTHS) {
      const bits = BigInt(width.slice(1));
      for (const narrower of [8n, 16n, 32n, 64n].filter((b) => b <= bits)) {
        const bytes = blank(version, size);
        put(bytes, offset, width, (1n << narrower) - 1n);
        const value = decoded('gpu_metrics', bytes).big(name);
        expect(value, `${name} of ${narrower} ones`).toBe(narrower === bits ? undefined : (1n << narrower) - 1n);
      }
    }
  });

  it('is not the value one below it', () => {
    for (const [version, size, offset, width, name] of WIDTHS) {
      const bytes = blank(version, size);
      const raw = (1n << BigInt(width.slice(1))) - 2n;
      put(bytes, offset, width, raw);
      expect(decoded('gpu_metrics', bytes).big(name), name).toBe(raw);
    }
  });

  it('is judged element by element', () => {
    const bytes = blank('1.3', 120);
    put(bytes, 90, 'u16', 61);
    expect(decoded('gpu_metrics', bytes).nums('temperature_hbm')).toEqual([undefined, 61, undefined, undefined]);
  });

  it('is not 0', () => {
    const bytes = blank('1.3', 120).fill(0, 4);
    const table = decoded('gpu_metrics', bytes);
    expect(table.num('average_socket_power')).toBe(0);
    expect(table.big('energy_accumulator')).toBe(0n);
    expect(table.absentCount).toBe(0);
  });

  it('is counted over fields, elements and partitions', () => {
    expect(decoded('gpu_metrics', blank('1.1', 96)).absentCount).toBe(36);
    const bytes = blank('1.1', 96);
    put(bytes, 4, 'u16', 1);
    put(bytes, 92, 'u16', 2);
    expect(decoded('gpu_metrics', bytes).absentCount).toBe(34);
    const partition = 8 + 32 + 4 + 8;
    expect(decoded('gpu_metrics', blank('1.6', 1664)).absentCount).toBe(
      6 + 2 + 7 + 4 + 2 + 5 + 2 + 17 + 22 + 1 + 8 * partition,
    );
  });
});

describe('asking for values', () => {
  it('gives a 64-bit number only where a double holds it', () => {
    const bytes = blank('1.4', 288);
    put(bytes, 32, 'u64', 2n ** 53n - 1n);
    expect(decoded('gpu_metrics', bytes).num('system_clock_counter')).toBe(Number.MAX_SAFE_INTEGER);
    put(bytes, 32, 'u64', 2n ** 53n);
    expect(decoded('gpu_metrics', bytes).num('system_clock_counter')).toBeUndefined();
    expect(decoded('gpu_metrics', bytes).big('system_clock_counter')).toBe(2n ** 53n);
  });

  it('gives no single value of an array, and an array of one of a scalar', () => {
    const bytes = blank('1.4', 288).fill(1, 4);
    const table = decoded('gpu_metrics', bytes);
    expect(table.num('current_gfxclk')).toBeUndefined();
    expect(table.big('current_gfxclk')).toBeUndefined();
    expect(table.nums('current_uclk')).toEqual([257]);
    expect(table.bigs('current_uclk')).toEqual([257n]);
  });

  it('knows neither header nor padding nor inherited names', () => {
    const table = decoded('gpu_metrics', blank('1.3', 120).fill(1, 4));
    for (const name of ['structure_size', 'padding', 'padding1', 'constructor', '__proto__', 'toString']) {
      expect(table.has(name), name).toBe(false);
      expect(table.num(name), name).toBeUndefined();
    }
  });

  it('tells the unit that a value is in', () => {
    const table = decoded('gpu_metrics', blank('1.8', 3872));
    expect(table.unit('pcie_link_speed')).toBe('gigatransfer_per_second');
    expect(table.unit('energy_accumulator')).toBe('joule');
    expect(table.unit('pcie_bandwidth_acc')).toBe('gigabyte_per_second_sample');
    expect(table.unit('xgmi_read_data_acc')).toBe('kilobyte');
    expect(table.unit('nothing')).toBeUndefined();
  });
});
