import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  RECORDS_1_9,
  RECORDS_BASEBOARD_1_1,
  RECORDS_GPUBOARD_1_1,
  widened,
} from '../../../amdgpu/tables/attributes.ts';
import { decodeTable, type TableKind } from '../../../amdgpu/tables/decode.ts';
import { type EncodeOptions, encodeTable, type FieldValues } from '../../../amdgpu/tables/encode.ts';
import { decodeHsmp } from '../../../amdgpu/tables/hsmp.ts';
import { LAYOUTS, RECORD_VERSION } from '../../../amdgpu/tables/layouts.ts';
import { type Field, SCALARS, scalarWidth } from '../../../amdgpu/tables/types.ts';
import { decoded } from './bytes.ts';

const KINDS: readonly TableKind[] = ['gpu_metrics', 'partition', 'gpuboard_temp', 'baseboard_temp'];
const FIXED = KINDS.flatMap((kind) => [...LAYOUTS[kind]].map(([version, layout]) => ({ kind, version, layout })));

/** Raw values by field; a gap is an absent element. */
type RawValues = Record<string, (bigint | undefined)[] | undefined>;

/** A raw value of a field's type, never the marker. */
function rawOf(field: Pick<Field, 'code'>): fc.Arbitrary<bigint> {
  const bits = 8 * scalarWidth(field.code);
  const signed = (field.code & 1) === 1;
  const min = signed ? -(2n ** BigInt(bits - 1)) : 0n;
  const max = signed ? 2n ** BigInt(bits - 1) - 1n : 2n ** BigInt(bits) - 2n;
  return fc.bigInt({ min, max }).filter((v) => v !== -1n);
}

/** Raw values for some fields, with gaps in the arrays. */
function valuesOf(fields: Iterable<Pick<Field, 'name' | 'code' | 'count'>>): fc.Arbitrary<RawValues> {
  const arbitraries = [...fields].map((f) => [
    f.name,
    fc.array(fc.option(rawOf(f), { nil: undefined }), { minLength: f.count, maxLength: f.count }),
  ]);
  return fc.record(Object.fromEntries(arbitraries), { requiredKeys: [] });
}

function expectValues(kind: TableKind, bytes: Uint8Array, names: Iterable<string>, values: RawValues): void {
  const table = decoded(kind, bytes);
  for (const name of names) {
    const got = table.bigs(name) ?? [];
    expect(got, name).toEqual(values[name] ?? got.map(() => undefined));
  }
}

describe('what is encoded is decoded', () => {
  for (const { kind, version, layout } of FIXED) {
    it(`in every field of ${kind} ${version}`, () => {
      const entries = fc.array(valuesOf(layout.xcp?.fields.values() ?? []), { maxLength: layout.xcp?.count ?? 0 });
      fc.assert(
        fc.property(valuesOf(layout.fields.values()), entries, (values, xcp) => {
          const bytes = encodeTable(kind, version, { ...values, xcp });
          expect(bytes).toHaveLength(layout.size);
          const bare = [...layout.fields.values()].filter((f) => f.sentinel).map((f) => f.name);
          expectValues(kind, bytes, bare, values);
          const table = decoded(kind, bytes);
          for (const [p, entry] of xcp.entries()) {
            for (const name of Object.keys(entry))
              expect(table.xcpBigs(p, name), `xcp${p} ${name}`).toEqual(entry[name]);
          }
        }),
        { numRuns: 25 },
      );
    });
  }

  const RECORDS = [
    ['gpu_metrics', '1.9', RECORDS_1_9, {}],
    ['gpu_metrics', '1.9', widened(RECORDS_1_9), { wide: true }],
    ['partition', '1.1', RECORDS_1_9.filter((r) => r.id > 40), { records: RECORDS_1_9.filter((r) => r.id > 40) }],
    ['gpuboard_temp', '1.1', RECORDS_GPUBOARD_1_1, {}],
    ['baseboard_temp', '1.1', RECORDS_BASEBOARD_1_1, {}],
  ] as const satisfies readonly (readonly [TableKind, string, typeof RECORDS_1_9, EncodeOptions])[];
  for (const [kind, version, records, options] of RECORDS) {
    it(`in every record of ${kind} ${version} with ${JSON.stringify(Object.keys(options))}`, () => {
      fc.assert(
        fc.property(valuesOf(records), (values) => {
          expectValues(
            kind,
            encodeTable(kind, version, values, options),
            records.map((r) => r.name),
            values,
          );
        }),
        { numRuns: 25 },
      );
    });
  }

  it('in the unit as well as raw', () => {
    for (const { kind, version, layout } of FIXED) {
      for (const field of layout.fields.values()) {
        if (field.count !== 1) continue;
        fc.assert(
          fc.property(fc.integer({ min: 0, max: 2 ** (Math.min(scalarWidth(field.code), 4) * 8) - 2 }), (raw) => {
            const value = (raw * field.mul) / field.div;
            const table = decoded(kind, encodeTable(kind, version, { [field.name]: value }));
            expect(table.big(field.name), `${version} ${field.name}`).toBe(BigInt(raw));
            expect(table.num(field.name)).toBe(value);
          }),
          { numRuns: 5 },
        );
      }
    }
  });
});

describe('any bytes', () => {
  const touch = (kind: TableKind, bytes: Uint8Array): void => {
    const result = decodeTable(kind, bytes);
    if (!result.ok) return;
    const { table } = result;
    expect(table.size).toBeLessThanOrEqual(bytes.length);
    for (const name of table.fields()) {
      const nums = table.nums(name) as readonly unknown[];
      expect(nums).toHaveLength(table.bigs(name)?.length ?? -1);
      table.num(name);
      table.big(name);
    }
    for (let p = 0; p <= table.xcp(); p++) for (const name of table.xcpFields()) table.xcpNums(p, name);
    table.temps();
    expect(table.absentCount).toBeGreaterThanOrEqual(0);
  };

  it('never make the decoder throw', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.uint8Array({ maxLength: 600 }), (kind, bytes) => touch(kind, bytes)),
      { numRuns: 500 },
    );
  });

  it('never make it throw or read outside behind a header that looks right', () => {
    const versions = KINDS.flatMap((kind) =>
      [...LAYOUTS[kind].keys(), RECORD_VERSION[kind]].map((v) => [kind, v] as const),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...versions),
        fc.uint8Array({ minLength: 4, maxLength: 4095 }),
        fc.integer({ min: 0, max: 4200 }),
        fc.integer({ min: -2, max: 300 }),
        ([kind, version], bytes, size, attrCount) => {
          const view = new DataView(bytes.buffer);
          const [format, content] = version.split('.').map(Number) as [number, number];
          view.setUint16(0, size, true);
          bytes[2] = format;
          bytes[3] = content;
          if (version === RECORD_VERSION[kind] && bytes.length >= 8) view.setInt32(4, attrCount, true);
          touch(kind, bytes);
          decodeHsmp(bytes);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('never make it throw where tags of random records follow each other', () => {
    const record = fc.tuple(fc.nat(1023), fc.nat(15), fc.nat(40), fc.nat(255));
    fc.assert(
      fc.property(fc.array(record, { maxLength: 30 }), fc.nat(2000), (records, slack) => {
        const bytes = new Uint8Array(slack + 8);
        const view = new DataView(bytes.buffer);
        view.setUint16(0, bytes.length, true);
        bytes.set([1, 9], 2);
        view.setInt32(4, records.length, true);
        let at = 8;
        for (const [id, type, count, unit] of records) {
          if (at + 8 > bytes.length) break;
          view.setUint32(at, unit * 2 ** 24 + type * 2 ** 20 + id * 2 ** 10 + count, true);
          at += 8 + count * (type < SCALARS.length ? scalarWidth(type) : 1);
        }
        touch('gpu_metrics', bytes);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the encoder refuses', () => {
  const encode = (values: FieldValues) => encodeTable('gpu_metrics', '1.3', values);

  it('a revision that does not exist', () => {
    expect(() => encodeTable('gpu_metrics', '1.10', {})).toThrow(/1\.10 has no layout/);
    expect(() => encodeTable('partition', '1.3', {})).toThrow(/partition-1\.3 has no layout/);
  });

  it('a field that the revision does not have', () => {
    expect(() => encode({ curr_socket_power: 5 })).toThrow(/1\.3 has no field curr_socket_power/);
    expect(() => encodeTable('gpu_metrics', '1.3', { xcp: [{}] })).toThrow(/0 xcp entries/);
  });

  it('values that their type cannot hold', () => {
    expect(() => encode({ temperature_edge: 65536 })).toThrow(/does not fit u16/);
    expect(() => encode({ temperature_edge: -1 })).toThrow(/does not fit u16/);
    expect(() => encode({ energy_accumulator: 1n << 64n })).toThrow(/does not fit u64/);
    expect(() => encode({ temperature_edge: Number.NaN })).toThrow(/not a value/);
  });

  it('too many elements, and one value for an array', () => {
    expect(() => encode({ temperature_hbm: [1, 2, 3, 4, 5] })).toThrow(/4 elements/);
    expect(() => encode({ temperature_hbm: 1 })).toThrow(/is an array/);
  });

  it('nothing of a table cut short or padded', () => {
    const cut = encodeTable('gpu_metrics', '1.3', { temperature_edge: 40 }, { structureSize: 96 });
    expect(cut).toHaveLength(96);
    expect(decoded('gpu_metrics', cut).num('temperature_edge')).toBe(40);
    expect(decoded('gpu_metrics', cut).has('firmware_timestamp')).toBe(false);
    const padded = encodeTable('gpuboard_temp', '1.0', {}, { fileSize: 144 });
    expect(padded).toHaveLength(144);
    expect(padded.subarray(120).every((b) => b === 0)).toBe(true);
    expect(decoded('gpuboard_temp', padded).size).toBe(120);
  });
});
