import { writeSync } from 'node:fs';
import { Descriptors } from './files.ts';
import { type Command, HEADER, KIND, PAGE, type ReadItem, steadyMs, type Work, type WriteItem } from './protocol.ts';
import { accessOf, refuseSteps, takeSteps } from './write.ts';

/**
 * A lane: the only program that opens a card's files. It does what it is told, one item after the other and synchronously,
 * because an access that hangs in the kernel must cost this process and no other.
 */

/** The pipe of answers: the descriptor after stdin, stdout, stderr and IPC. */
const ANSWERS = 4;
const DEFAULT_LIMIT = 600;
/** Longest file that is read whole, and room for a batch of ordinary ones. */
const LONGEST = 1 << 20;
/** After an item that took longer, the lane hears whether the rest of its batch is still wanted. ms */
const SLOW_MS = 50;
/** Only a lane that was started for it writes; every other one refuses, whoever asks. */
const WRITABLE = process.argv.includes('--writable');

Error.stackTraceLimit = 0; // a failing read throws at every pass, and nobody reads where
const descriptors = new Descriptors(Number(process.env.NIGHTSHIFT_LANE_DESCRIPTORS ?? DEFAULT_LIMIT), () =>
  performance.now(),
);
const plans = new Map<string, readonly string[]>();
let buffer = Buffer.allocUnsafe(256 * PAGE);

function room(from: number, bytes: number): void {
  if (from + bytes <= buffer.length) return;
  const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, from + bytes));
  buffer.copy(larger, 0, 0, from);
  buffer = larger;
}

function send(seq: number, index: number, kind: number, end: number, milliseconds: number): void {
  buffer.writeUInt32LE(end - 4, 0);
  buffer.writeUInt32LE(seq, 4);
  buffer.writeUInt32LE(index, 8);
  buffer.writeUInt32LE(kind, 12);
  buffer.writeDoubleLE(milliseconds, 16);
  let at = 0;
  try {
    while (at < end) at += writeSync(ANSWERS, buffer, at, end - at);
  } catch {
    process.exit(0); // the parent has gone while a card kept us
  }
}

/** Suspended, or on the way in or out: any read now would wake the card (Linux up to 6.12) or fail with EPERM. */
function sleeps(gate: string): boolean {
  const length = descriptors.read(gate, buffer, HEADER, true);
  if (length <= 0) return false;
  const status = buffer.toString('latin1', HEADER, HEADER + length);
  return /^(suspended|suspending|resuming)/.test(status);
}

function filesOf(item: ReadItem): readonly string[] {
  if (item.files === undefined) return plans.get(item.plan ?? '') ?? [];
  if (item.plan !== undefined) {
    const before = plans.get(item.plan);
    plans.set(item.plan, item.files);
    if (before !== undefined) closeUnused(before);
  }
  return item.files;
}

function closeUnused(before: readonly string[]): void {
  const used = new Set([...plans.values()].flat());
  for (const path of before) if (!used.has(path)) descriptors.close(path);
}

function read(seq: number, index: number, item: ReadItem): void {
  const start = performance.now();
  descriptors.tick();
  const files = filesOf(item);
  if (item.gate !== undefined && sleeps(item.gate)) {
    buffer.writeUInt32LE(0, HEADER);
    send(seq, index, KIND.asleep, HEADER + 4, performance.now() - start);
    return;
  }
  const end = readAll(files, HEADER, item.op === 'pass');
  send(seq, index, KIND.read, end, performance.now() - start);
}

/** Puts the number of files, their lengths and their bytes at `base`; where that ends. */
function readAll(files: readonly string[], base: number, keep: boolean): number {
  let at = base + 4 + 4 * files.length;
  room(base, at - base);
  buffer.writeUInt32LE(files.length, base);
  for (let i = 0; i < files.length; i++) {
    room(at, LONGEST);
    const length = descriptors.read(files[i] as string, buffer, at, keep);
    buffer.writeInt32LE(length, base + 4 + 4 * i);
    if (length > 0) at += length;
  }
  return at;
}

function write(seq: number, index: number, item: WriteItem): void {
  const start = performance.now();
  descriptors.tick();
  if (item.gate !== undefined && sleeps(item.gate)) {
    send(seq, index, KIND.writeAsleep, HEADER, performance.now() - start);
    return;
  }
  const { steps, until = Number.POSITIVE_INFINITY } = item;
  const results = WRITABLE ? takeSteps(steps, () => steadyMs() < until) : refuseSteps(steps);
  const filesAt = HEADER + 4 + 4 * results.length;
  room(HEADER, filesAt - HEADER);
  buffer.writeUInt32LE(results.length, HEADER);
  for (let i = 0; i < results.length; i++) buffer.writeInt32LE(results[i] as number, HEADER + 4 + 4 * i);
  const end = readAll(item.readBack, filesAt, false);
  send(seq, index, KIND.write, end, performance.now() - start);
}

function sendJson(seq: number, index: number, kind: number, value: unknown): void {
  const text = Buffer.from(JSON.stringify(value));
  room(HEADER, text.length);
  text.copy(buffer, HEADER);
  send(seq, index, kind, HEADER + text.length, 0);
}

function work(seq: number, index: number, item: Work): void {
  if (item.op === 'write') write(seq, index, item);
  else if (item.op === 'access') {
    const files = item.files.map((path) => accessOf(path, WRITABLE));
    sendJson(seq, index, KIND.access, files);
  } else if (item.op === 'list') {
    const dirs = item.dirs.map((dir) => descriptors.list(dir, item.names === true));
    sendJson(seq, index, KIND.list, dirs);
  } else read(seq, index, item);
}

type BatchCommand = Extract<Command, { op: 'batch' }>;
let dropped = 0;

function run(command: BatchCommand, from: number): void {
  const { seq, items } = command;
  for (let index = from; index < items.length && seq > dropped; index++) {
    const start = performance.now();
    work(seq, index, items[index] as Work);
    if (performance.now() - start < SLOW_MS) continue;
    // Twice: what came meanwhile is taken from the channel between the two.
    setImmediate(() => setImmediate(() => run(command, index + 1)));
    return;
  }
}

process.on('message', (command: Command) => {
  if (command.op === 'drop') {
    dropped = command.seq;
    return;
  }
  if (command.op === 'forget') {
    const files = plans.get(command.plan);
    plans.delete(command.plan);
    if (files !== undefined) closeUnused(files);
    return;
  }
  run(command, 0);
});
// Without its parent a lane has no purpose; Ctrl-C on the terminal is the parent's to handle.
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => {});
// Starting takes longer than reading: from this word on, silence is a card's.
// A parent that ended meanwhile is told by `disconnect`, not by an error of the word.
process.send?.('ready', undefined, undefined, () => {});
