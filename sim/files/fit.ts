import { RECORDS_1_9, RECORDS_PARTITION_1_1 } from '../../amdgpu/tables/attributes.ts';
import type { FieldValue, FieldValues, TableValues } from '../../amdgpu/tables/encode.ts';
import { LAYOUTS } from '../../amdgpu/tables/layouts.ts';
import { scalarWidth } from '../../amdgpu/tables/types.ts';

/** Cuts all that a chip could say down to what one revision of a table has room for. */

interface Room {
  code: number;
  count: number;
}
type Rooms = ReadonlyMap<string, Room>;

const SELF_DESCRIBING: Readonly<Record<string, Rooms>> = {
  'gpu_metrics 1.9': new Map(RECORDS_1_9.map((record) => [record.name, record])),
  'partition 1.1': new Map(RECORDS_PARTITION_1_1.map((record) => [record.name, record])),
};

export interface ChipValues {
  fields: FieldValues;
  /** By compute partition. */
  xcp?: readonly FieldValues[];
}

export function fitTable(kind: 'gpu_metrics' | 'partition', version: string, values: ChipValues): TableValues {
  const layout = LAYOUTS[kind].get(version);
  const rooms: Rooms | undefined = layout?.fields ?? SELF_DESCRIBING[`${kind} ${version}`];
  if (!rooms) throw new RangeError(`${kind} ${version} is not known`);
  const fields = narrow(values.fields, rooms);
  const entries = layout?.xcp && values.xcp?.map((entry) => narrow(entry, layout.xcp?.fields ?? new Map()));
  return entries ? { ...fields, xcp: entries } : fields;
}

function narrow(values: FieldValues, rooms: Rooms): Record<string, FieldValue> {
  const fitted: Record<string, FieldValue> = {};
  for (const [name, value] of Object.entries(values)) {
    const room = rooms.get(name);
    if (!room || value === undefined) continue;
    const width = 8 * scalarWidth(room.code);
    fitted[name] =
      typeof value === 'object'
        ? value.slice(0, room.count).map((element) => wrap(element, width))
        : wrap(value, width);
  }
  return fitted;
}

/** Counters are given as bigint, raw: a field that is too narrow wraps, as in the firmware. */
function wrap(value: number | bigint | undefined, width: number): number | bigint | undefined {
  return typeof value === 'bigint' ? BigInt.asUintN(width, value) : value;
}
