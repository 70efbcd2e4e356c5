import { decimalBig, hasHexPrefix, hexBig } from './scalar.ts';
import { lines, linesAcrossGaps } from './text.ts';

/**
 * Hardware errors, `ras/*` below the device. Totals since the driver was loaded.
 * Source: `drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c`, `amdgpu_ras.h`.
 */

/** Uncorrectable, correctable, and deferred (poison found but not yet consumed). A class that is not printed is absent. */
export interface ErrorCounts {
  ue?: bigint;
  ce?: bigint;
  de?: bigint;
}

/**
 * `<block>_err_count`: `ue: 0`, `ce: 0`, with `de: 0` on newer parts. `'busy'` while the driver refuses (GPU reset, fatal
 * error pending): the totals are then unknown, not 0.
 */
export function parseErrCount(text: string): ErrorCounts | 'busy' | undefined {
  const counts: ErrorCounts = {};
  for (const line of lines(text)) {
    if (line.startsWith('Query currently inaccessible')) return 'busy';
    const kind = line.slice(0, 2);
    if (line.charCodeAt(2) !== 58 || (kind !== 'ue' && kind !== 'ce' && kind !== 'de')) continue;
    const count = decimalBig(line.slice(3).trim());
    if (count !== undefined) counts[kind] = count;
  }
  return counts.ue === undefined && counts.ce === undefined && counts.de === undefined ? undefined : counts;
}

/** R: retired. P: retirement pending. F: could not be reserved. */
export type PageFlag = 'R' | 'P' | 'F';

export interface BadPage {
  /** GPU page frame number. */
  pfn: bigint;
  /** Bytes. */
  size: bigint;
  flag: PageFlag;
}

export interface BadPages {
  reserved: number;
  pending: number;
  unreservable: number;
  pages: BadPage[];
}

const PAGE = /^0x([0-9a-fA-F]{1,16})\s*:\s*0x([0-9a-fA-F]{1,16})\s*:\s*([RPF])$/;

/**
 * `gpu_vram_bad_pages`: `0x00000001 : 0x00001000 : R`. An empty file means that no page is bad, hence zeros; text without a
 * single valid row means that it could not be read, hence absent.
 */
export function parseBadPages(text: string): BadPages | undefined {
  const pages: BadPage[] = [];
  const rows = linesAcrossGaps(text);
  for (const row of rows) {
    const found = PAGE.exec(row);
    if (found) pages.push({ pfn: hexBig(found[1]!)!, size: hexBig(found[2]!)!, flag: found[3] as PageFlag });
  }
  if (pages.length === 0 && rows.length > 0) return undefined;
  const count = (flag: PageFlag) => pages.reduce((sum, page) => sum + (page.flag === flag ? 1 : 0), 0);
  return { reserved: count('R'), pending: count('P'), unreservable: count('F'), pages };
}

export interface RasEvent {
  /** `fatal`, `poison_creation`, `poison_consumption`; what newer drivers add in the same spelling. */
  name: string;
  count: bigint;
  /** Sequence number of the latest one. */
  lastSeqno: bigint;
}

export interface EventState {
  /** Events of every kind so far. */
  seqno?: bigint;
  events: RasEvent[];
}

const SEQNO = /^current seqno:\s*(\d{1,20})$/;
const EVENT = /^([A-Za-z][A-Za-z0-9 ]{0,63}):\s*count:\s*(\d{1,20}),\s*last_seqno:\s*(\d{1,20})$/;

/** `event_state`: `current seqno: N`, then `Fatal Error: count:N, last_seqno:N` and its like. Cheap to read. */
export function parseEventState(text: string): EventState | undefined {
  const state: EventState = { events: [] };
  for (const line of lines(text)) {
    const seqno = decimalBig(SEQNO.exec(line)?.[1] ?? '');
    if (seqno !== undefined) state.seqno = seqno;
    const found = EVENT.exec(line);
    const count = decimalBig(found?.[2] ?? '');
    const lastSeqno = decimalBig(found?.[3] ?? '');
    if (found && count !== undefined && lastSeqno !== undefined)
      state.events.push({ name: eventName(found[1]!), count, lastSeqno });
  }
  return state.seqno === undefined && state.events.length === 0 ? undefined : state;
}

function eventName(title: string): string {
  const name = title.trim().toLowerCase().replaceAll(' ', '_');
  return name.length > 6 && name.endsWith('_error') ? name.slice(0, -6) : name;
}

/** `features`: `feature mask: 0x%x`, one bit a block with RAS, in the driver's block order. */
export function parseFeatureMask(text: string): bigint | undefined {
  return hexAfter(text, 'feature mask:');
}

/** `schema`: `schema: 0x%x`. */
export function parseSchema(text: string): bigint | undefined {
  return hexAfter(text, 'schema:');
}

export interface RasVersion {
  /** Version of the table in the EEPROM. */
  table?: bigint;
  /** Version of the RAS module (newest drivers): `1.2.3`. */
  module?: string;
}

const MODULE_VERSION = /^ras version:\s*(\d{1,9}(?:\.\d{1,9}){0,5})$/;

/** `version`: `table version: 0x%x`, and `ras version: a.b.c` on the newest drivers. */
export function parseRasVersion(text: string): RasVersion | undefined {
  const table = hexAfter(text, 'table version:');
  let module: string | undefined;
  for (const line of lines(text)) module ??= MODULE_VERSION.exec(line)?.[1];
  if (table === undefined && module === undefined) return undefined;
  return { ...(table !== undefined && { table }), ...(module !== undefined && { module }) };
}

function hexAfter(text: string, key: string): bigint | undefined {
  for (const line of lines(text)) {
    if (!line.startsWith(key)) continue;
    const token = line.slice(key.length).trim();
    return hasHexPrefix(token) ? hexBig(token.slice(2)) : undefined;
  }
  return undefined;
}
