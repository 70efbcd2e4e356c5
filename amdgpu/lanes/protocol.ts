/**
 * What parent and lane say to each other.
 *
 * Commands go down the fork's IPC channel, one batch at a time. Answers come up a pipe of their own, one frame an item and
 * each written before the next item is touched: the first item without a frame is the one that hangs.
 */

/** Read these files; `pass` keeps their descriptors open between batches, `read` opens and closes. */
export interface ReadItem {
  op: 'pass' | 'read';
  /** Names the list of files in the lane's memory; a lane that knows the id needs no `files`. */
  plan?: string;
  files?: readonly string[];
  /** power/runtime_status: read first; a suspended card's files are not touched. */
  gate?: string;
}

/** List these directories: names with their kind, and link targets (not with `names`, which is much cheaper). */
export interface ListItem {
  op: 'list';
  dirs: readonly string[];
  names?: boolean;
}

/** Asks whether this lane may open these files for writing. None is opened, no driver is asked. */
export interface AccessItem {
  op: 'access';
  files: readonly string[];
}

export type Item = ReadItem | ListItem | AccessItem;

/** One write(2) of exactly this text to this file. */
export interface WriteStep {
  file: string;
  text: string;
}

/** Takes these steps in order, up to the first that fails, and then reads files back. For lanes that were opened writable. */
export interface WriteItem {
  op: 'write';
  steps: readonly WriteStep[];
  readBack: readonly string[];
  /** power/runtime_status: read first; nothing is written to a suspended card. */
  gate?: string;
  /** Put in when the item is sent: no step is begun at or after this time of `steadyMs`. */
  until?: number;
}

export type Work = Item | WriteItem;

/** `drop`: nobody waits for the rest of that batch any more. */
export type Command =
  | { op: 'batch'; seq: number; items: readonly Work[] }
  | { op: 'drop'; seq: number }
  | { op: 'forget'; plan: string };

export interface Entry {
  name: string;
  kind: 'dir' | 'file' | 'link';
  /** Target of a link, as written. */
  target?: string;
}

/** Bytes of one file, or the errno (positive) with which open or read failed. */
export type FileResult = Uint8Array | number;

export type Answer =
  | { op: 'read'; asleep: boolean; files: FileResult[]; milliseconds: number }
  | { op: 'list'; dirs: (Entry[] | number)[] }
  /** Per file 0, or the errno that opening it for writing would end in. */
  | { op: 'access'; files: number[] };

/** Of a step that was not begun, because one before it failed or time was up. */
export const NOT_TRIED = -1;

/** Per step 0, its errno, or NOT_TRIED; then the files that were read back. */
export interface WriteAnswer {
  op: 'write';
  asleep: boolean;
  steps: number[];
  files: FileResult[];
  milliseconds: number;
}

/** Milliseconds of the kernel's monotonic clock, which is one for all processes of a machine. */
export const steadyMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Frame header: u32 length of what follows, u32 seq, u32 item index, u8 kind, 3 bytes of padding, f64 milliseconds. */
export const HEADER = 24;
export const KIND = { read: 0, asleep: 1, list: 2, access: 3, write: 4, writeAsleep: 5 } as const;

/** Most that one read of a sysfs text or table returns; longer files (bad pages) are read on until they end. */
export const PAGE = 4096;

/**
 * Parses a frame's payload.
 *
 * read: u32 n, then n × i32 (byte length, or -errno), then the bytes of all files behind each other.
 */
export function parseReadPayload(payload: Uint8Array): FileResult[] {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const count = view.getUint32(0, true);
  const files: FileResult[] = new Array(count);
  let at = 4 + 4 * count;
  for (let i = 0; i < count; i++) {
    const length = view.getInt32(4 + 4 * i, true);
    if (length < 0) files[i] = -length;
    else {
      files[i] = payload.subarray(at, at + length);
      at += length;
    }
  }
  return files;
}

/** write: u32 n, then n × i32 (0, errno, or NOT_TRIED), then a payload as of read. */
export function parseWritePayload(payload: Uint8Array): Pick<WriteAnswer, 'steps' | 'files'> {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const count = view.getUint32(0, true);
  const steps = Array.from({ length: count }, (_, i) => view.getInt32(4 + 4 * i, true));
  return { steps, files: parseReadPayload(payload.subarray(4 + 4 * count)) };
}
