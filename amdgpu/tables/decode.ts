import { LAYOUTS, RECORD_VERSION, versionName } from './layouts.ts';
import { recordLayout } from './records.ts';
import type { DecodeResult, TableKind } from './types.ts';
import { TableView } from './view.ts';

export type { BoardTemperature, DecodeResult, FieldUnit, Table, TableFault, TableKind } from './types.ts';

const HEADER_BYTES = 4;

/**
 * Reads the header of a driver table and gives access to its fields. Never throws, whatever the bytes.
 * The table ends at structure_size: a file may be longer (a copy padded with NUL, gpuboard_temp's 24 bytes of slack), and a
 * table shorter than the layout has only the fields that end inside it.
 * Sources: gpu_metrics, xcp/xcp_metrics, board/gpuboard_temp, board/baseboard_temp of a card's PCI device directory.
 */
export function decodeTable(kind: TableKind, bytes: Uint8Array): DecodeResult {
  if (bytes.length < HEADER_BYTES) return { ok: false, fault: 'short' };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = view.getUint16(0, true);
  const format = view.getUint8(2);
  const content = view.getUint8(3);
  if (size < HEADER_BYTES || (format === 0 && content === 0)) return { ok: false, fault: 'bad_header' };

  const family = `${format}.${content}`;
  const fixed = LAYOUTS[kind].get(family);
  if (!fixed && family !== RECORD_VERSION[kind]) {
    return { ok: false, fault: 'unknown_version', version: versionName(kind, family) };
  }
  if (bytes.length < size) return { ok: false, fault: 'short', version: versionName(kind, family) };
  const layout = fixed ?? recordLayout(view, size, versionName(kind, family));
  return { ok: true, table: new TableView(view, layout, family, size) };
}
